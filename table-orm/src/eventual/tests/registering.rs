//! What the simulations of registers share: the invariant that the register names every partition in which
//! something is left, and a network that leaves out a part of that.

use super::chaos::{Invariants, version_of_nothing};
use super::process::Written;
use super::world::text;
use crate::entity::{DynamicEntity, read_row};
use crate::layer::FaultStore;
use crate::model::{ETag, TableName};
use crate::query::RowQuery;
use crate::store::{Middleware, Operation, Page, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// An entity whose writes leave something for which its partition must be named.
pub(crate) trait Registering: Written {
    /// Its table, and the register.
    const TABLES: [&'static str; 2];
    /// The kind of its pointers.
    const POINTERS: &'static str;

    /// Whether the row is left by a write, and its partition must be named.
    fn is_left(row_key: &str) -> bool;
}

/// A part of the protocol that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// A pointer is written before the transaction.
    Pointer,
    /// A pointer that is younger than the grace stays.
    Grace,
    /// A row of the table is written before pointers are deleted.
    Refusal {
        /// Its RowKey.
        row_key: &'static str,
    },
}

/// All partitions with something left are named.
pub(crate) struct AllNamed<E>(PhantomData<fn() -> E>);

impl<E> Default for AllNamed<E> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<E: Registering> fmt::Debug for AllNamed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AllNamed({})", E::POINTERS)
    }
}

/// A row, by its keys.
type Key = (String, String);

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    /// What writes left.
    pub left: BTreeSet<Key>,
    /// The pointers, with the partitions that they name.
    pub named: BTreeMap<Key, String>,
}

impl<E: Registering> Invariants for AllNamed<E> {
    const TABLES: &'static [&'static str] = &E::TABLES;

    type Snapshot = Snapshot;

    fn put(snapshot: &mut Snapshot, table: &TableName, json: &str) {
        let row: DynamicEntity = read_row(0, json.as_bytes()).unwrap();
        let (kind, named) = (text(&row, "Kind"), text(&row, "Partition"));
        let key = (row.partition_key, row.row_key);
        let [entities, register] = E::TABLES;
        if table.as_str() == register && kind == E::POINTERS {
            snapshot.named.insert(key, named);
        } else if table.as_str() == entities && E::is_left(&key.1) {
            snapshot.left.insert(key);
        }
    }

    fn remove(snapshot: &mut Snapshot, table: &TableName, partition_key: &str, row_key: &str) {
        let key = (partition_key.to_owned(), row_key.to_owned());
        if table.as_str() == E::TABLES[1] {
            snapshot.named.remove(&key);
        } else {
            snapshot.left.remove(&key);
        }
    }

    fn check(&mut self, now: &Snapshot) -> Result<(), String> {
        let is_named = |(partition_key, _): &&Key| now.named.values().any(|it| it == partition_key);
        match now.left.iter().find(|key| !is_named(key)) {
            Some(key) => Err(format!("the partition of {key:?} is not named")),
            None => Ok(()),
        }
    }
}

/// The network of a process that leaves out a part.
#[derive(Debug)]
struct Tampering {
    network: Arc<dyn Store>,
    register: &'static str,
    left_out: Option<LeftOut>,
}

/// The network as one process of that type reaches it.
pub(crate) fn tampering<E: Registering>(
    network: &FaultStore,
    left_out: Option<LeftOut>,
) -> Arc<dyn Store> {
    let network = Arc::new(network.clone());
    Arc::new(Tampering { network, register: E::TABLES[1], left_out })
}

impl Middleware for Tampering {
    fn inner(&self) -> &dyn Store {
        &*self.network
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let mut page = self.network.query(query).await?;
        if self.left_out == Some(LeftOut::Grace) && query.table.as_str() == self.register {
            let body = String::from_utf8(page.body.to_vec()).unwrap();
            page.body = body.replace("\"2026-11-23T", "\"2025-11-23T").into();
        }
        Ok(page)
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let is_left_out = match self.left_out {
            Some(LeftOut::Pointer) => table.as_str() == self.register,
            Some(LeftOut::Refusal { row_key }) => operation.row_key == row_key,
            _ => false,
        };
        if is_left_out {
            return Ok(Some(version_of_nothing()));
        }
        self.network.write(table, partition_key, operation).await
    }
}
