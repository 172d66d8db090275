//! The rows of an untyped stress test, and the calls that read and write them.

use super::calls::Call;
use super::mix::{Kind, Mix};
use crate::codec::{write_keys, write_string};
use crate::error::{Error, rejected};
use crate::model::{Metadata, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Action, Batch, Operation, Store, StoreError};
use crate::sync::SplitMix64;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// What a row in a page has beside what was written: its timestamp, and its part of the page.
pub(super) const READ_FRAME: usize = 64;
/// The characters of one property; the service takes 32,768.
const PROPERTY_CHARS: usize = 30_000;

/// The rows of a test, and the store they are in.
pub(super) struct Rows {
    pub store: Arc<dyn Store>,
    pub table: TableName,
    pub mix: Mix,
    /// How many rows each partition has from the start.
    pub loaded: u32,
    pub entity_bytes: usize,
}

/// The PartitionKey of a partition: in no order, as neighbouring ones may share a server.
fn partition_key(partition: u32) -> String {
    format!("{:016x}", SplitMix64::new(partition.into()).next())
}

fn loaded_key(row: u32) -> String {
    format!("L{row:08}")
}

impl Rows {
    pub async fn call(self: Arc<Self>, call: Call) -> Result<(), Error> {
        self.call_of(self.mix.kind(call.number), call).await
    }

    /// Makes a call of a kind.
    pub async fn call_of(&self, kind: Kind, call: Call) -> Result<(), Error> {
        let rows = u32::from(self.mix.rows(kind)).min(self.loaded);
        let first =
            (SplitMix64::new(call.number).unit() * f64::from(self.loaded - rows + 1)) as u32;
        let partition = partition_key(call.partition);
        let answer = match kind {
            Kind::PointRead => {
                let key = loaded_key(first);
                let row = self.store.get(&self.table, &partition, &key, None, Metadata::None);
                row.await.map(drop)
            }
            Kind::RangeRead => {
                let row = Span::Between(
                    Bound::Included(loaded_key(first)),
                    Bound::Excluded(loaded_key(first + rows)),
                );
                let keys = KeyRange { partition: Span::Exact(partition), row };
                let mut query = RowQuery::new(self.table.clone(), keys);
                query.top = Some(self.mix.rows(kind));
                self.store.query(&query).await.map(drop)
            }
            Kind::Insert => {
                let key = format!("N{:012}", call.number);
                let body = self.body(&partition, &key).into();
                self.write(&partition, Operation { row_key: key, action: Action::Insert(body) })
                    .await
            }
            Kind::Upsert => {
                let operation = self.over(&partition, first);
                self.write(&partition, operation).await
            }
            Kind::Transaction => self.commit(&*self.store, partition, first..first + rows).await,
        };
        answer.map_err(|error| self.error(error))
    }

    /// Loads some rows of a partition.
    pub async fn load(
        &self,
        store: &dyn Store,
        partition: u32,
        rows: Range<u32>,
    ) -> Result<(), Error> {
        let commit = self.commit(store, partition_key(partition), rows);
        commit.await.map_err(|error| self.error(error))
    }

    async fn write(&self, partition: &str, operation: Operation) -> Result<(), StoreError> {
        self.store.write(&self.table, partition, operation).await.map(drop)
    }

    async fn commit(
        &self,
        store: &dyn Store,
        partition_key: String,
        rows: Range<u32>,
    ) -> Result<(), StoreError> {
        let operations = rows.map(|row| self.over(&partition_key, row)).collect();
        store.commit(&self.table, Batch { partition_key, operations }).await.map(drop)
    }

    /// A write over a loaded row.
    fn over(&self, partition: &str, row: u32) -> Operation {
        let row_key = loaded_key(row);
        let body = self.body(partition, &row_key).into();
        Operation { row_key, action: Action::InsertOrReplace(body) }
    }

    /// A row that takes `entity_bytes` in a page.
    fn body(&self, partition: &str, row_key: &str) -> Vec<u8> {
        let size = self.entity_bytes - READ_FRAME;
        let mut body = Vec::with_capacity(self.entity_bytes);
        write_keys(&mut body, partition, row_key);
        for number in 0.. {
            let start = format!(",\"P{number}\":");
            // The quotes, and the end of the object.
            let Some(left @ 1..) = size.checked_sub(body.len() + start.len() + 3) else { break };
            body.extend_from_slice(start.as_bytes());
            write_string(&mut body, &"x".repeat(left.min(PROPERTY_CHARS)));
        }
        body.push(b'}');
        body
    }

    fn error(&self, error: StoreError) -> Error {
        rejected(self.table.as_str(), error)
    }
}
