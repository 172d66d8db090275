//! Numbers that are given once: from blocks that a process takes ahead, or without gaps.
//!
//! Invariants:
//! - A write of the row asks for the version that its numbers follow from. So two writes never give the
//!   same number, whatever is lost or comes late.
//! - A number of a block is given only after the answer to the write that took the block.

mod blocks;
mod numbered;
mod row;
#[cfg(all(test, feature = "embedded"))]
mod tests;

use crate::entity::{Row, RowOf, TableEntity, WholePartition};
use crate::error::{Error, Result, SequenceError};
use crate::key::{Escape, KeyError, KeyText};
use crate::plan::{CanonicalKey, Connection, EntityContext, RetryLimits, TableClient};
use crate::query::KeyRange;
use crate::repo::{Repo, Table};
use blocks::Blocks;
use row::{Taking, Version, Writer};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use blocks::MAX_BLOCK;

/// What the RowKey of a sequence's row begins with.
const START: &str = "SEQ:";

/// Numbers that are given once, from 1 on. Cheap to clone; clones share their numbers.
///
/// The row `SEQ:<name>` in a partition of a table holds the next number, as `Int64` in the property `Next`.
/// Never delete it: the numbers would start again.
///
/// Choose by what the numbers are for:
///
/// | Call | Numbers | Requests |
/// |---|---|---|
/// | [`next`](Self::next) | unique; with gaps, and in order only within this value and its clones | 1 for each block, 2 where other processes take blocks too |
/// | [`insert_numbered`](Self::insert_numbered) | unique, without gaps, in order | 1 for each call; 2 or more where other processes insert too |
///
/// Keep one value for each sequence and clone it: another value takes blocks of its own.
///
/// ```
/// # use table_orm::{TableName, Tables};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// let tables = Tables::in_memory()?;
/// let numbers = TableName::new("numbers")?;
/// tables.create(&numbers).await?;
/// let orders = tables.table(numbers).sequence("shop", "orders");
/// assert_eq!((orders.next().await?, orders.next().await?), (1, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Sequence {
    client: TableClient,
    /// The table that the derive of the partition's type names.
    table: Option<&'static str>,
    name: String,
    key: Result<CanonicalKey, KeyError>,
    first: u64,
    limits: RetryLimits,
    shared: Arc<Mutex<Shared>>,
    writer: Arc<Writer>,
}

/// What clones share.
#[derive(Debug, Default)]
struct Shared {
    blocks: Blocks,
    /// The row as it was after the last write that was answered.
    known: Option<Version>,
}

impl<E: TableEntity> Repo<E> {
    /// Returns the sequence of that name in a partition. Sends nothing.
    ///
    /// The partition is that of the entities for [`insert_numbered`](Sequence::insert_numbered), and any
    /// for [`next`](Sequence::next).
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
    /// # struct Invoice { customer: String, number: u32, cents: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let invoices = Tables::in_memory()?.repo::<Invoice>();
    /// # invoices.create_table().await?;
    /// let numbers = invoices.sequence(Invoice::partition("acme"), "invoices");
    /// assert_eq!(numbers.next().await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn sequence<Q>(&self, partition: Q, name: impl Into<String>) -> Sequence
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        Sequence::of_partition(&self.client, partition, name.into())
    }
}

impl Table {
    /// Returns the sequence of that name in a partition. Sends nothing.
    ///
    /// ```
    /// # use table_orm::{TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let numbers = TableName::new("numbers")?;
    /// # tables.create(&numbers).await?;
    /// let users = tables.table(numbers).sequence("all", "users").starting_at(1000);
    /// assert_eq!(users.next().await?, 1000);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn sequence(&self, partition_key: &str, name: impl Into<String>) -> Sequence {
        Sequence::new(&self.client, None, text_key(partition_key, "partition"), name.into())
    }
}

impl Sequence {
    /// The sequence of a partition of the table that the derive of the query's type names.
    pub(crate) fn of_partition<Q: WholePartition>(
        client: &TableClient,
        partition: Q,
        name: String,
    ) -> Self {
        let key = partition.into_keys().map(|keys: KeyRange| CanonicalKey::of(keys).partition_key);
        Self::new(client, Some(<Q::Row as Row>::Entity::TABLE), key, name)
    }

    fn new(
        client: &TableClient,
        table: Option<&'static str>,
        partition_key: Result<String, KeyError>,
        name: String,
    ) -> Self {
        let row_key = text_key(&name, "name").and_then(|name| {
            let mut key = KeyText::new("Sequence", Escape::Reject);
            key.literal(START);
            key.literal(&name);
            key.finish()
        });
        let key = partition_key
            .and_then(|partition_key| Ok(CanonicalKey { partition_key, row_key: row_key? }));
        let context = EntityContext::untyped("Sequence");
        Self {
            client: TableClient { context, ..client.clone() },
            table,
            name,
            key,
            first: 1,
            limits: RetryLimits::default(),
            shared: Arc::default(),
            writer: Arc::default(),
        }
    }

    /// Sets the first number that is ever given, instead of 1. A row that exists goes on where it is.
    #[must_use]
    pub const fn starting_at(mut self, first: u64) -> Self {
        self.first = first;
        self
    }

    /// Sets how long a call tries again when other processes take numbers in between, instead of
    /// [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME).
    #[must_use]
    pub const fn retry_for(mut self, time: Duration) -> Self {
        self.limits.time = time;
        self
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self) -> &Connection {
        &self.client.connection
    }

    /// The row as it is stored.
    async fn read(&self, key: &CanonicalKey) -> Result<Version> {
        Ok(match self.client.row(&self.client.point(key)).await? {
            Some(row) => Version::read(&row)?,
            None => Version::absent(self.first),
        })
    }

    /// Whether another write came between the read of the row and the write.
    fn is_lost_race(error: &Error, key: &CanonicalKey) -> bool {
        let (Error::Conflict(rejection)
        | Error::NotFound(rejection)
        | Error::AlreadyExists(rejection)) = error
        else {
            return false;
        };
        rejection.row_key == key.row_key
    }

    fn take(&self, version: Version, count: u64) -> Result<Taking> {
        let exhausted = || SequenceError::Exhausted { name: self.name.clone(), count };
        version.take(count, &self.writer).ok_or_else(|| exhausted().into())
    }
}

/// Text that is a key, or the end of one.
fn text_key(text: &str, component: &'static str) -> Result<String, KeyError> {
    let mut key = KeyText::new("Sequence", Escape::Reject);
    let pushed = key.push_text(text);
    let value = text.to_owned();
    pushed.map_err(|fault| KeyError { entity: "Sequence", component, value, fault })?;
    key.finish()
}
