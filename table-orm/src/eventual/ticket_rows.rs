//! The `eventual` rows that one ticket is for, and what becomes of an attempt to write them.

use super::due_entry::DueEntry;
use super::eventual_rows::{EventualKey, EventualRows};
use super::ticket::Ticket;
use crate::error::Error;
use crate::model::TableName;
use crate::store::{Action, IfMatch, Operation};
use crate::sync::Concurrent;
use std::collections::BTreeMap;

/// The most requests of one step at a time.
const PARALLEL: usize = 16;

/// The `eventual` rows of one entity in one partition: what one ticket is for.
#[derive(Debug)]
pub(super) struct Share {
    /// The RowKey of the entity's canonical row.
    pub canonical: String,
    /// The name of the template of its first row.
    pub row: String,
    pub table: TableName,
    pub partition_key: String,
    /// Those that are still to be written.
    pub row_keys: Vec<String>,
    /// Why they were not written in this round.
    pub stopped: Option<Stop>,
}

/// A share that can be written.
pub(super) struct Ready<'s> {
    pub share: &'s mut Share,
    pub ticket: Ticket,
    /// The rows that its entity should have.
    pub wanted: &'s EventualRows,
}

/// Groups the shares of each partition, as many as one transaction takes, with at most `most_rows` rows beside a
/// ticket.
pub(super) fn groups(ready: Vec<Ready<'_>>, most_rows: usize) -> Vec<Vec<Ready<'_>>> {
    let mut groups: Vec<Vec<Ready<'_>>> = Vec::new();
    // By partition, the place of the group that takes more, and its operations.
    let mut open: BTreeMap<(TableName, String), (usize, usize)> = BTreeMap::new();
    for one in ready {
        let operations = 1 + one.share.row_keys.len().min(most_rows);
        let place = (one.share.table.clone(), one.share.partition_key.clone());
        match open.get_mut(&place) {
            Some((group, count)) if *count + operations <= most_rows + 1 => {
                *count += operations;
                groups[*group].push(one);
            }
            _ => {
                open.insert(place, (groups.len(), operations));
                groups.push(vec![one]);
            }
        }
    }
    groups
}

/// Each share by itself.
pub(super) fn individually(ready: Vec<Ready<'_>>) -> Vec<Vec<Ready<'_>>> {
    ready.into_iter().map(|one| vec![one]).collect()
}

/// Why the rows of a share were not written.
#[derive(Debug)]
pub(super) enum Stop {
    /// Another settler of the entity consumed the ticket.
    Overtaken,
    /// It is unknown whether a request took effect.
    Unanswered(Error),
    /// A request was refused: another round does not help.
    Refused(Error),
}

impl Stop {
    /// Of the error of a request.
    pub fn after(error: Error) -> Self {
        if error.is_unanswered() { Self::Unanswered(error) } else { Self::Refused(error) }
    }
}

pub(super) fn shares<'d>(due: impl IntoIterator<Item = &'d DueEntry>) -> Vec<Share> {
    let mut rows: BTreeMap<_, BTreeMap<String, &str>> = BTreeMap::new();
    for entry in due {
        for (row, EventualKey { table, partition_key, row_key }) in &entry.keys {
            let place = (&entry.canonical, table, partition_key);
            rows.entry(place).or_default().insert(row_key.clone(), row);
        }
    }
    let shares = rows.into_iter().map(|((canonical, table, partition_key), rows)| Share {
        canonical: canonical.clone(),
        row: rows.values().next().copied().unwrap_or_default().to_owned(),
        table: table.clone(),
        partition_key: partition_key.clone(),
        row_keys: rows.into_keys().collect(),
        stopped: None,
    });
    shares.collect()
}

impl Share {
    pub fn key(&self, row_key: &str) -> EventualKey {
        EventualKey {
            table: self.table.clone(),
            partition_key: self.partition_key.clone(),
            row_key: row_key.to_owned(),
        }
    }

    /// The operations that write the first rows of the share, at most that many.
    pub fn operations(&self, wanted: &EventualRows, most: usize) -> Vec<Operation> {
        let operation = |row_key: &String| {
            let body = wanted.body(&self.key(row_key));
            let delete = Action::Delete(IfMatch::Any);
            let action = body.map_or(delete, |body| Action::InsertOrReplace(body.clone()));
            Operation { row_key: row_key.clone(), action }
        };
        self.row_keys.iter().take(most).map(operation).collect()
    }

    /// Whether the partition gets a row of the entity.
    pub fn gains(&self, wanted: &EventualRows) -> bool {
        self.row_keys.iter().any(|row_key| wanted.body(&self.key(row_key)).is_some())
    }
}

/// Awaits steps, some at a time. Returns their results in order.
pub(super) async fn at_once<T: Send + 'static>(
    steps: impl Iterator<Item: Future<Output = T> + Send> + Send,
) -> Vec<T> {
    Concurrent::in_order(steps, PARALLEL).all().await
}
