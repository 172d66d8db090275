//! A plan as text.

use super::call_plan::Plan;
use super::step::{Step, WhenAbsent};
use crate::figures::counted;
use crate::model::{Printable, TableName};
use crate::query::{QueryClass, RowQuery, Span};
use crate::store::{Batch, IfMatch, Operation};
use std::fmt;
use std::time::Duration;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str("nothing to send");
        }
        for (index, step) in self.steps.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{step}")?;
        }
        if f.alternate() { write!(f, "\ncosts {}", self.cost()) } else { Ok(()) }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { query, limit, reason } => read(f, query, *limit, reason.as_deref()),
            Self::ReadCanonical { table } => {
                write!(f, "{} on `{table}` for each of them: its canonical row", QueryClass::Point)
            }
            Self::WriteFound { table, of_each } => write!(
                f,
                "entity group transactions on `{table}` with what follows from the entities found: for \
                 each, {}",
                of_each.all()
            ),
            Self::Write { table, partition_key, operation } => {
                write!(
                    f,
                    "{} on `{table}`\n  PartitionKey  {partition_key:?}",
                    operation.action.name()
                )?;
                write!(f, "\n  RowKey        {:?}", operation.row_key)?;
                if let Some(condition) = operation.action.if_match() {
                    write!(f, "\n  If-Match      {}", Printable(condition_text(condition)))?;
                }
                Ok(())
            }
            Self::Commit { table, batch } => {
                write!(f, "entity group transaction on `{table}`")?;
                operations(f, batch)
            }
            Self::CommitChanges { table, absent, attempts, retry_for, .. } => {
                write!(
                    f,
                    "entity group transaction on `{table}`: the differences to the stored rows, \
                     under the ETag that was read; "
                )?;
                attempts_text(f, *attempts, *retry_for)?;
                match absent {
                    WhenAbsent::Insert(batch) => {
                        f.write_str("\n  if nothing is stored:")?;
                        operations(f, batch)
                    }
                    WhenAbsent::InsertMade => {
                        f.write_str("\n  if nothing is stored: inserts of the rows of a new entity")
                    }
                    WhenAbsent::Fail => f.write_str("\n  if nothing is stored: an error"),
                }
            }
            Self::Register { table } => {
                write!(
                    f,
                    "the partition named in the register `{table}`, if it is not yet: one request, and \
                     later one that removes the name"
                )
            }
            Self::ReadFirst { table, totals, events, .. } => {
                let what = match (totals, events) {
                    (true, true) => "totals that change, and the number of the next event",
                    (true, false) => "totals that change",
                    _ => "number of the next event",
                };
                write!(
                    f,
                    "point queries on `{table}`, of the {what}; the transaction has operations for them"
                )
            }
            Self::DeleteValues { table, rows, cost } => match rows {
                Some(rows) => write!(
                    f,
                    "deletes on `{table}` of the other {} of the large values that it replaces, in {}",
                    counted(*rows, "row"),
                    counted(cost.transactions.least, "request")
                ),
                None => write!(
                    f,
                    "if large values are replaced: the delete of the first row of each in the transaction, \
                     then deletes of their other rows on `{table}`"
                ),
            },
            Self::Reserve { guards } => {
                write!(
                    f,
                    "{} requests that reserve values: a ticket, and a guard row for each",
                    guards.len() + 1
                )?;
                places(f, guards)
            }
            Self::MakeTickets { partitions, .. } => {
                let requests = (partitions.len(), "make", "tickets for");
                let if_any =
                    "a ticket in each of these partitions, and an intent in the transaction";
                other_partitions(f, partitions, requests, if_any)
            }
            Self::SettleWithTickets { partitions, .. } => {
                let requests = (partitions.len() + 1, "write", "the");
                let if_any =
                    "a transaction in each of these partitions, and the delete of the intent";
                other_partitions(f, partitions, requests, if_any)
            }
            Self::Settle { partitions, .. } => {
                let requests = (2 * partitions.len() + 2, "write", "the");
                let if_any = "an intent in the transaction, then a ticket and a transaction in each of \
                              these partitions, a point query, and the delete of the intent";
                other_partitions(f, partitions, requests, if_any)
            }
            Self::Release { guards } => {
                write!(
                    f,
                    "{} requests that release values, and the delete of the intent",
                    4 * guards.len()
                )?;
                places(f, guards)
            }
            Self::CommitReads { table, partition_key, attempts, retry_for } => {
                write!(
                    f,
                    "entity group transaction on `{table}`: the writes of the function, under the \
                     ETags of what it read; "
                )?;
                attempts_text(f, *attempts, *retry_for)?;
                write!(f, "\n  PartitionKey  {partition_key:?}")
            }
        }
    }
}

/// Requests for rows in other partitions. `if_any` says what they are where the answer to a read decides.
fn other_partitions(
    f: &mut fmt::Formatter<'_>,
    partitions: &[(TableName, String)],
    (requests, verb, what): (usize, &str, &str),
    if_any: &str,
) -> fmt::Result {
    if partitions.is_empty() {
        return write!(f, "if rows in other partitions change: {if_any}");
    }
    let (number, s) = (counted(requests as u64, "request"), if requests == 1 { "s" } else { "" });
    write!(f, "{number} that {verb}{s} {what} rows in other partitions")?;
    places(f, partitions)
}

fn places(f: &mut fmt::Formatter<'_>, places: &[(TableName, String)]) -> fmt::Result {
    for (table, partition_key) in places {
        write!(f, "\n  on `{table}`  {partition_key:?}")?;
    }
    Ok(())
}

fn attempts_text(
    f: &mut fmt::Formatter<'_>,
    attempts: Option<usize>,
    retry_for: Duration,
) -> fmt::Result {
    if attempts == Some(1) || retry_for.is_zero() {
        return f.write_str("once");
    }
    write!(f, "again after a conflict for up to {retry_for:?}")?;
    match attempts {
        Some(attempts) => write!(f, ", in at most {attempts} attempts"),
        None => Ok(()),
    }
}

fn read(
    f: &mut fmt::Formatter<'_>,
    query: &RowQuery,
    limit: Option<usize>,
    reason: Option<&str>,
) -> fmt::Result {
    write!(f, "{} on `{}`", query.keys.class(), query.table)?;
    match (&query.keys.partition, &query.keys.row, &query.filter) {
        (Span::Exact(partition_key), Span::Exact(row_key), None) => {
            write!(f, "\n  PartitionKey  {partition_key:?}\n  RowKey        {row_key:?}")?;
        }
        _ => {
            if let Some(filter) = query.filter_text() {
                write!(f, "\n  $filter       {}", Printable(filter))?;
            }
        }
    }
    if let Some(select) = &query.select {
        write!(f, "\n  $select       {}", Printable(select.join(",")))?;
    }
    if let Some(top) = query.top {
        write!(f, "\n  $top          {top}")?;
    }
    if let Some(limit) = limit {
        write!(f, "\n  at most       {limit} rows in all")?;
    }
    if let Some(reason) = reason {
        write!(f, "\n  permitted     because {}", Printable(reason))?;
    }
    Ok(())
}

fn operations(f: &mut fmt::Formatter<'_>, batch: &Batch) -> fmt::Result {
    write!(f, "\n  PartitionKey  {:?}", batch.partition_key)?;
    for (index, Operation { row_key, action }) in batch.operations.iter().enumerate() {
        write!(f, "\n  {index:>2} {:17} {row_key:?}", action.name())?;
        if let Some(condition) = action.if_match() {
            write!(f, "  If-Match {}", Printable(condition_text(condition)))?;
        }
    }
    Ok(())
}

fn condition_text(condition: &IfMatch) -> &str {
    match condition {
        IfMatch::Any => "*",
        IfMatch::ETag(etag) => etag.as_str(),
    }
}
