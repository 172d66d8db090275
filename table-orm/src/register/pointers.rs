//! What others find in a register.

use super::row;
use crate::entity::{DynamicEntity, read_row, split_page};
use crate::error::{Error, Result};
use crate::model::{ETag, Metadata, TableName};
use crate::plan::TableClient;
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Action, Batch, IfMatch, Operation};
use std::collections::BTreeMap;
use std::time::Duration;

/// A pointer that was found.
#[derive(Debug)]
pub(crate) struct Found {
    partition_key: String,
    name: String,
    etag: ETag,
    /// Since when it was not written, by the service's clock.
    pub age: Duration,
}

/// The queries for all pointers of a register.
pub(crate) fn queries(register: &TableName) -> impl Iterator<Item = RowQuery> + use<> {
    let register = register.clone();
    (0..row::PARTITIONS).map(move |number| {
        let partition = Span::Exact(row::numbered(number));
        let query = RowQuery::new(register.clone(), KeyRange { partition, row: Span::All });
        RowQuery { metadata: Metadata::Minimal, ..query }
    })
}

/// Reads the pointers of one kind to partitions of the client's table, by their PartitionKeys: one request for
/// each of the [`queries`], and one more for each further 1,000 pointers.
pub(crate) async fn pointers(
    client: &TableClient,
    register: &TableName,
    kind: &str,
) -> Result<BTreeMap<String, Vec<Found>>> {
    let mut partitions: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    for query in queries(register) {
        let mut pages = client.pages(query);
        while let Some(page) = pages.next().await? {
            for row in split_page(&page)? {
                let row: DynamicEntity = read_row(0, row.get().as_bytes())?;
                let place = row::place(&row, &client.table).filter(|place| place.kind == kind);
                // Every store returns the version and the time of a row.
                let version = row.etag.zip(row.timestamp);
                if let Some((place, (etag, written))) = place.zip(version) {
                    let age = client.age(written);
                    let DynamicEntity { partition_key, row_key: name, .. } = row;
                    let found = Found { partition_key, name, etag, age };
                    partitions.entry(place.partition_key).or_default().push(found);
                }
            }
        }
    }
    Ok(partitions)
}

/// Deletes a pointer in the version that was found. It may be gone, or written again.
pub(crate) async fn remove(client: &TableClient, register: &TableName, found: Found) -> Result<()> {
    let Found { partition_key, name: row_key, etag, .. } = found;
    let operations = vec![Operation { row_key, action: Action::Delete(IfMatch::ETag(etag)) }];
    match client.in_other_table(register).send(Batch { partition_key, operations }).await {
        Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
