//! Writes the rows of a request to a table of redb.
//!
//! Invariant: afterwards the table holds what the request says of each row, in whatever order it says it.
//!
//! redb stores a run of new rows, with ascending keys and no stored row between them, for a fraction of what an
//! insert of each costs.

use super::layout::{Key, Value};
use super::row_change::RowChange;
use super::stored;
use redb::{CursorError, Table};
use std::ops::Bound;

/// Fewer rows cost less one by one than the start and the end of a run.
const SHORTEST_RUN: usize = 8;

type FileRows<'t> = Table<'t, Key, Value>;

/// Makes the changes, all of different keys.
pub(crate) fn write(
    table: &mut FileRows<'_>,
    mut changes: &[RowChange<'_>],
) -> Result<(), redb::Error> {
    let mut row = Vec::new();
    let mut runs = true;
    while !changes.is_empty() {
        if runs && changes.len() >= SHORTEST_RUN {
            let run = append_run(table, changes, &mut row)?;
            changes = &changes[run..];
            // Where stored rows lie between them, the next run would be short, too.
            runs = run >= SHORTEST_RUN;
        }
        let Some((change, rest)) = changes.split_first() else { break };
        write_one(table, change, &mut row)?;
        changes = rest;
    }
    Ok(())
}

/// Stores the first rows as far as they are a run. Returns how many these are.
fn append_run(
    table: &mut FileRows<'_>,
    changes: &[RowChange<'_>],
    row: &mut Vec<u8>,
) -> Result<usize, redb::Error> {
    let Some(first) = changes.first() else { return Ok(0) };
    let mut cursor = table.lower_bound_mut(Bound::Included(first.key))?;
    let mut run = 0;
    for change in changes {
        let Some((timestamp, body)) = &change.row else { break };
        stored::compose(row, timestamp, body);
        match cursor.insert_before(change.key, &**row) {
            Ok(()) => run += 1,
            Err(CursorError::UnorderedKey) => break,
            Err(error) => return Err(error.into()),
        }
    }
    cursor.close()?;
    Ok(run)
}

fn write_one(
    table: &mut FileRows<'_>,
    change: &RowChange<'_>,
    row: &mut Vec<u8>,
) -> Result<(), redb::Error> {
    match &change.row {
        Some((timestamp, body)) => {
            stored::compose(row, timestamp, body);
            table.insert(change.key, &**row)?;
        }
        None => drop(table.remove(change.key)?),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::layout;
    use bytes::Bytes;
    use proptest::prelude::*;
    use redb::backends::InMemoryBackend;
    use redb::{Database, ReadableDatabase, ReadableTable};
    use std::borrow::Cow;
    use std::collections::BTreeMap;

    const STAMP: &stored::TimestampText = b"2011-11-06T09:10:00.0000000Z";

    /// Keys, each with the length of its row's body, or with `None` for a row to delete.
    type Changes = BTreeMap<u8, Option<usize>>;

    fn changes(keys: std::ops::Range<u8>) -> impl Strategy<Value = Changes> {
        let length = prop_oneof![5 => 2..300_usize, 1 => 3000..9000_usize];
        let length = prop_oneof![5 => length.prop_map(Some), 1 => Just(None)];
        prop::collection::btree_map(keys, length, 0..40)
    }

    fn body(length: usize) -> Bytes {
        let mut body = vec![b'x'; length];
        body[0] = b'{';
        body.into()
    }

    fn write_all(database: &Database, changes: &[(u8, Option<usize>)]) {
        let keys: Vec<_> = changes.iter().map(|(key, _)| [*key]).collect();
        let rows =
            changes.iter().map(|(_, length)| length.map(|it| (*STAMP, Cow::Owned(body(it)))));
        let changes = keys.iter().zip(rows).map(|(key, row)| RowChange { key, row });
        let transaction = database.begin_write().unwrap();
        let mut table = transaction.open_table(layout::rows("t")).unwrap();
        write(&mut table, &changes.collect::<Vec<_>>()).unwrap();
        drop(table);
        transaction.commit().unwrap();
    }

    fn rows(database: &Database) -> Vec<(u8, Vec<u8>)> {
        let table = database.begin_read().unwrap().open_table(layout::rows("t")).unwrap();
        let rows = table.iter().unwrap().map(|entry| entry.unwrap());
        rows.map(|(key, row)| (key.value()[0], row.value().to_vec())).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_table_holds_what_the_requests_say_in_whatever_order_they_say_it(
            first in changes(0..200),
            dense in changes(60..90),
            shuffled in changes(0..200).prop_map(Vec::from_iter).prop_shuffle(),
        ) {
            let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
            let mut expected = BTreeMap::new();
            for changes in [Vec::from_iter(first), Vec::from_iter(dense), shuffled] {
                write_all(&database, &changes);
                for (key, length) in changes {
                    match length {
                        Some(length) => {
                            let mut row = Vec::new();
                            stored::compose(&mut row, STAMP, &body(length));
                            expected.insert(key, row);
                        }
                        None => drop(expected.remove(&key)),
                    }
                }
                prop_assert_eq!(rows(&database), Vec::from_iter(expected.clone()));
            }
        }
    }
}
