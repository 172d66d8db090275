//! Brings the foreign rows that an intent lists in step with their entities.
//!
//! The order is what makes it safe:
//! 1. make or share the tickets of all partitions;
//! 2. after all of them are answered, read the canonical rows;
//! 3. in each partition, one transaction that deletes the ticket in its version and writes every listed
//!    key, even one that looks right: leaving it alone would leave an older settler's ticket valid;
//! 4. delete the intent in its version.
//!
//! A partition whose ticket is gone starts again at 1. Partitions that gain a row come before those that
//! only lose one: a reader sees a moving entity rather twice than not at all.

use super::error::SettleError;
use super::foreign_rows::{ForeignKey, ForeignRows};
use super::foreign_type::ForeignType;
use super::intent::{DueEntry, Pending};
use super::ticket::Ticket;
use crate::error::{Error, Result};
use crate::model::{MAX_TRANSACTION_OPERATIONS, TableName};
use crate::plan::{CanonicalKey, TableClient};
use crate::query::RowQuery;
use crate::store::{Action, Batch, IfMatch, Operation};
use crate::sync::Backoff;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The most requests of one step at a time.
const PARALLEL: usize = 16;
/// How often partitions start again before the intent is left to a later settler.
const MAX_ROUNDS: u32 = 8;
/// The waits between rounds.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// The most rows of one transaction, beside the ticket.
const MAX_ROWS: usize = MAX_TRANSACTION_OPERATIONS - 1;

/// Settles an intent that stands in `home`.
///
/// # Errors
/// The intent stays, and settling it again is safe.
pub(crate) async fn settle(
    home: &TableClient,
    kind: ForeignType,
    pending: &Pending,
) -> Result<(), SettleError> {
    let Pending { intent, etag, .. } = pending;
    let settler = Settler { home, kind, partition_key: &intent.partition_key };
    settler.write_rows(shares(&intent.due)).await?;
    let action = Action::Delete(IfMatch::ETag(etag.clone()));
    let operations = vec![Operation { row_key: intent.row_key.clone(), action }];
    let clear = Batch { partition_key: intent.partition_key.clone(), operations };
    match home.send(clear).await {
        // Another settler was faster.
        Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The foreign rows of one entity in one partition: what one ticket is for.
#[derive(Debug)]
pub(super) struct Share {
    /// The RowKey of the entity's canonical row.
    canonical: String,
    table: TableName,
    partition_key: String,
    /// Those that are still to be written.
    row_keys: Vec<String>,
}

/// Why a partition starts again.
#[derive(Debug)]
enum Again {
    /// Another settler of the entity consumed the ticket.
    Overtaken,
    /// It is unknown whether a request took effect.
    Unanswered(Error),
}

impl Again {
    /// Of an error after which a new attempt may succeed. Any other one ends the settling.
    fn after(error: Error) -> Result<Self> {
        let transient = error.is_unavailable() || matches!(error, Error::Ambiguous(_));
        if transient { Ok(Self::Unanswered(error)) } else { Err(error) }
    }
}

/// The result of a step of one share: an error ends the settling.
type Step<T> = Result<Result<T, Again>>;

pub(super) fn shares(due: &[DueEntry]) -> Vec<Share> {
    let mut row_keys: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for entry in due {
        for (_, ForeignKey { table, partition_key, row_key }) in &entry.keys {
            let place = (&entry.canonical, table, partition_key);
            row_keys.entry(place).or_default().insert(row_key.clone());
        }
    }
    let shares = row_keys.into_iter().map(|((canonical, table, partition_key), row_keys)| Share {
        canonical: canonical.clone(),
        table: table.clone(),
        partition_key: partition_key.clone(),
        row_keys: row_keys.into_iter().collect(),
    });
    shares.collect()
}

impl Share {
    fn key(&self, row_key: &str) -> ForeignKey {
        ForeignKey {
            table: self.table.clone(),
            partition_key: self.partition_key.clone(),
            row_key: row_key.to_owned(),
        }
    }

    /// Whether the partition gets a row of the entity.
    fn gains(&self, wanted: &ForeignRows) -> bool {
        self.row_keys.iter().any(|row_key| wanted.body(&self.key(row_key)).is_some())
    }
}

pub(super) struct Settler<'c> {
    pub home: &'c TableClient,
    pub kind: ForeignType,
    /// The partition of the entities.
    pub partition_key: &'c str,
}

impl Settler<'_> {
    /// Writes all rows, in rounds.
    pub async fn write_rows(&self, mut open: Vec<Share>) -> Result<(), SettleError> {
        let connection = &self.home.connection;
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        while !open.is_empty() {
            if let Err(again) = self.round(&mut open).await? {
                let rounds = backoff.waits() + 1;
                if rounds == MAX_ROUNDS {
                    return Err(match again {
                        Again::Overtaken => SettleError::Contended { rounds },
                        Again::Unanswered(error) => error.into(),
                    });
                }
                connection.timer.sleep(backoff.next(&connection.random)).await;
            }
            open.retain(|share| !share.row_keys.is_empty());
        }
        Ok(())
    }

    /// One round over the open shares. Removes what it wrote from them. Returns why some of them start again.
    async fn round(&self, open: &mut [Share]) -> Step<()> {
        let mut again = Ok(());
        let tickets = at_once(open.iter().map(|share| self.ticket(share))).await?;
        let mut ready = Vec::with_capacity(open.len());
        for (share, ticket) in open.iter_mut().zip(tickets) {
            match ticket {
                Ok(ticket) => ready.push((share, ticket)),
                Err(reason) => again = Err(reason),
            }
        }
        // Now that all tickets are answered, and not before.
        let mut canonical: Vec<_> =
            ready.iter().map(|(share, _)| share.canonical.clone()).collect();
        canonical.dedup();
        let rows = at_once(canonical.iter().map(|row_key| self.wanted(row_key))).await?;
        let rows: Result<BTreeMap<_, _>, Again> =
            canonical.iter().cloned().zip(rows).map(|(key, rows)| Ok((key, rows?))).collect();
        let rows = match rows {
            Ok(rows) => rows,
            Err(reason) => return Ok(Err(reason)),
        };
        let none = ForeignRows::default();
        let wanted = |share: &Share| rows.get(&share.canonical).unwrap_or(&none);
        let (gaining, losing): (Vec<_>, Vec<_>) =
            ready.into_iter().partition(|(share, _)| share.gains(wanted(share)));
        for shares in [gaining, losing] {
            let writes = shares.into_iter().map(|(share, ticket)| {
                let wanted = wanted(share);
                self.write(share, ticket, wanted)
            });
            for written in at_once(writes).await? {
                if let Err(reason) = written {
                    again = Err(reason);
                }
            }
            if again.is_err() {
                break;
            }
        }
        Ok(again)
    }

    fn entity(&self, row_key: &str) -> CanonicalKey {
        let (partition_key, row_key) = (self.partition_key.to_owned(), row_key.to_owned());
        CanonicalKey { partition_key, row_key }
    }

    async fn ticket(&self, share: &Share) -> Step<Ticket> {
        let (client, entity) = (self.home.in_table(&share.table), self.entity(&share.canonical));
        match Ticket::obtain(&client, &share.partition_key, self.home, &entity).await {
            Ok(ticket) => Ok(ticket.ok_or(Again::Overtaken)),
            Err(error) => Again::after(error).map(Err),
        }
    }

    /// Reads a canonical row. Returns the foreign rows that it tells of.
    async fn wanted(&self, row_key: &str) -> Step<ForeignRows> {
        let point = self.home.point(&self.entity(row_key));
        let query = RowQuery { metadata: self.kind.metadata, ..point };
        match self.home.row(&query).await {
            Ok(Some(row)) => (self.kind.rows)(&self.home.table, row).map(Ok),
            Ok(None) => Ok(Ok(ForeignRows::default())),
            Err(error) => Again::after(error).map(Err),
        }
    }

    /// Writes the rows of a share, as many as one transaction takes.
    async fn write(&self, share: &mut Share, ticket: Ticket, wanted: &ForeignRows) -> Step<()> {
        let client = self.home.in_table(&share.table);
        let mut count = share.row_keys.len().min(MAX_ROWS);
        let operation = |row_key: &String| {
            let body = wanted.body(&share.key(row_key));
            let delete = Action::Delete(IfMatch::Any);
            let action = body.map_or(delete, |body| Action::InsertOrReplace(body.clone()));
            Operation { row_key: row_key.clone(), action }
        };
        let mut operations = vec![ticket.consume()];
        operations.extend(share.row_keys[..count].iter().map(operation));
        loop {
            let partition_key = share.partition_key.clone();
            let batch = Batch { partition_key, operations: operations.clone() };
            match client.send(batch).await {
                Ok(_) => {
                    share.row_keys.drain(..count);
                    return Ok(Ok(()));
                }
                Err(Error::NotFound(rejection)) => match rejection.operation {
                    // A row to delete is not there. The others must still be written.
                    Some((index, _)) if index > 0 && index < operations.len() => {
                        operations.remove(index);
                    }
                    _ => return Ok(Err(Again::Overtaken)),
                },
                Err(Error::Conflict(_)) => return Ok(Err(Again::Overtaken)),
                Err(Error::TooLarge(_)) if count > 1 => {
                    count = count.div_ceil(2);
                    operations.truncate(1);
                    operations.extend(share.row_keys[..count].iter().map(operation));
                }
                Err(error) => return Again::after(error).map(Err),
            }
        }
    }
}

/// Awaits steps, some at a time. Returns their results in order.
async fn at_once<T>(
    steps: impl Iterator<Item = impl Future<Output = Result<T>>>,
) -> Result<Vec<T>> {
    // Collected first: a lazy iterator that borrows is too narrow for a future that is sent.
    let steps: Vec<_> = steps.collect();
    stream::iter(steps).buffered(PARALLEL).try_collect().await
}
