//! What the simulations of registers share: processes that register their writes and end at any time, and the
//! invariant that the register names every partition in which something is left.

use super::chaos::{Dice, Invariants};
use super::mortal::Mortal;
use super::world::text;
use crate::entity::{DynamicEntity, read_row};
use crate::eventual::Registered;
use crate::layer::{FaultStore, Layer as _, Retry};
use crate::model::{ETag, TableName};
use crate::query::RowQuery;
use crate::store::{Middleware, Operation, Page, Store, StoreError};
use crate::{Repo, Result, TableEntity, Tables};
use futures_util::future::join;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often a process that writes starts.
pub(crate) const LIVES: u64 = 3;

/// An entity whose writes leave something for which its partition must be named.
pub(crate) trait Registering: TableEntity + fmt::Debug + 'static {
    /// Its table, and the register.
    const TABLES: [&'static str; 2];
    /// The kind of its pointers.
    const POINTERS: &'static str;
    /// The longest life of a process.
    const LONGEST_LIFE: Duration;
    /// How probable a long pause before a write is, its longest time, and that of another pause.
    const PAUSES: (f64, Duration, Duration);

    /// Whether the row is left by a write, and its partition must be named.
    fn is_left(row_key: &str) -> bool;

    /// One write, drawn by the process.
    async fn write(process: &Process<Self>) -> Result<()>;
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
    const TABLES: [&'static str; 2] = E::TABLES;

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
            return Ok(Some(ETag::new("W/\"datetime'2000-01-01T00%3A00%3A00Z'\"")));
        }
        self.network.write(table, partition_key, operation).await
    }
}

/// A process from its start to its end.
pub(crate) struct Process<E> {
    pub tables: Tables,
    pub repo: Repo<E>,
    pub register: Registered,
    pub dice: Dice,
    network: Arc<Mortal>,
}

impl<E: Registering> Process<E> {
    pub async fn start(dice: Dice, network: &FaultStore, left_out: Option<LeftOut>) -> Self {
        let network: Arc<dyn Store> = Arc::new(network.clone());
        // Some send again by themselves what was not answered.
        let network = if dice.happens(0.3) {
            Retry::interactive().write_id("WriteId").seed(dice.seed()).around(network).unwrap()
        } else {
            network
        };
        let network =
            Mortal::new(Arc::new(Tampering { network, register: E::TABLES[1], left_out }));
        let tables = Tables::new(network.clone()).on_virtual_time(dice.seed());
        let repo = tables.repo::<E>();
        let register = repo.register().existing().await.unwrap();
        Self { tables, repo, register, dice, network }
    }

    pub fn end(&self) {
        self.network.end();
    }

    /// Writes until the end, two at a time.
    async fn write_some(&self) {
        let writer = || async {
            loop {
                let (probability, long, short) = E::PAUSES;
                let pause = if self.dice.happens(probability) { long } else { short };
                sleep(self.dice.time(pause)).await;
                let give_up = if self.dice.happens(0.2) { 1 } else { 30 };
                // What fails left nothing, or what is found.
                let _written =
                    self.dice.mortal(0.2, Duration::from_secs(give_up), E::write(self)).await;
            }
        };
        join(writer(), writer()).await;
    }
}

/// Processes that write, one after the other.
pub(crate) async fn write_all<E: Registering>(
    seed: u64,
    number: u64,
    network: &FaultStore,
    left_out: Option<LeftOut>,
) {
    for life in 0..LIVES {
        let dice = Dice::of(seed, 10 * number + life);
        let time = dice.time(E::LONGEST_LIFE);
        let process = Process::<E>::start(dice, network, left_out).await;
        let _ended = timeout(time, process.write_some()).await;
        process.end();
    }
}
