//! The outbox: each write of an entity adds an event to its own transaction, and
//! [`Repo::outbox`](crate::Repo::outbox) hands the events on.
//!
//! The events of a partition are rows of the partition: `OUT:` and a number of 19 digits. The row
//! `OUT:-NEXT` has the number of the next event, and `OUT:-LEASE` says which process hands them on.
//!
//! Invariants:
//! - An event is stored if and only if its write took effect.
//! - The numbers of a partition are the order in which its transactions took effect.
//! - An event is handed on only when each event before it was handed on. This needs no clock and no
//!   lease: whoever removed the events before had handed them on, and numbers have no gaps.
//! - An event is removed only after a handler took it, by the process that has the lease.
//! - Where the table has a register, it names each partition with events (`named`).

mod backlog;
mod dispatch;
mod event;
mod handler;
mod lease;
mod message;
mod named;
mod partition;
mod queries;
mod report;
#[cfg(feature = "distributed")]
mod send_to;
mod settings;
#[cfg(all(test, feature = "embedded"))]
mod tests;

pub use crate::entity::{Change, EventValues};
pub use crate::error::{DispatchError, DispatchFailure, HandlerError};
pub use backlog::Backlog;
pub use dispatch::Dispatch;
pub use event::Event;
pub use handler::Handler;
pub use lease::{FIRST_WAIT, LONGEST_WAIT};
pub use message::MESSAGE_VERSION;
pub use report::{DispatchProgress, DispatchReport};
#[cfg(feature = "distributed")]
pub use send_to::SendTo;
pub use settings::{OUTBOX_LEASE, OUTBOX_PARALLELISM, REMOVED_AT_ONCE};

use crate::entity::TableEntity;
use crate::migrate::{Migrates, Migrating};
use crate::plan::TableClient;
use crate::repo::Repo;
use std::marker::PhantomData;
use std::sync::Arc;

/// The name of the outbox in errors.
const NAME: &str = "Outbox";

impl<E: TableEntity> Repo<E> {
    /// The outbox of the table: what was written to entities whose type has `#[table(outbox)]`.
    ///
    /// ```
    /// use table_orm::outbox::{Change, Event};
    /// use table_orm::{ScanPermit, TableEntity, Tables};
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "orders", partition = "{customer}", row = "{number:05}", outbox(after))]
    /// struct Order { customer: String, number: u32, cents: u32 }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let orders = Tables::in_memory()?.repo::<Order>();
    /// orders.create_table().await?;
    /// orders.insert(&Order { customer: "acme".into(), number: 1, cents: 900 }).await?;
    /// let handler = |event: Event| async move {
    ///     assert_eq!((event.change, &*event.row_key), (Change::Inserted, "00001"));
    ///     assert_eq!(event.after::<Order>()?.map(|order| order.cents), Some(900));
    ///     Ok::<_, table_orm::Error>(())
    /// };
    /// let report = orders.outbox().dispatch(ScanPermit::because("events"), handler).await;
    /// assert_eq!(report.all()?.handed_on, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn outbox(&self) -> Outbox<E> {
        let connection = Arc::clone(&self.client.connection);
        let client = TableClient::untyped(connection, self.table().clone(), NAME);
        Outbox { client, entity: PhantomData }
    }
}

impl<E: Migrates> Migrating<E> {
    /// Returns the outbox of the new form's table. Events of the old form stay in its partitions: hand on those of a
    /// `Repo` of the old type, too, until there are none.
    ///
    /// ```
    /// # use table_orm::outbox::Event;
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "orders", partition = "{shop}", row = "O:{n:03}", outbox)]
    /// # struct OrderV1 { shop: String, n: u32 }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "orders2", partition = "{shop}", row = "ORD:{n:08}", outbox, migrate_from = OrderV1)]
    /// # struct Order { shop: String, n: u32 }
    /// # impl From<OrderV1> for Order { fn from(OrderV1 { shop, n }: OrderV1) -> Self { Self { shop, n } } }
    /// # impl From<Order> for OrderV1 { fn from(Order { shop, n }: Order) -> Self { Self { shop, n } } }
    /// # async fn send_mails(_: Event) -> table_orm::Result<()> { Ok(()) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// let old = tables.repo::<OrderV1>();
    /// # old.create_table().await?;
    /// let orders = tables.migrating::<Order>()?;
    /// # orders.create_table_if_not_exists().await?;
    /// # old.insert(&OrderV1 { shop: "a".into(), n: 1 }).await?;
    /// orders.insert(&Order { shop: "a".into(), n: 2 }).await?;
    /// let permit = || ScanPermit::because("mails about orders");
    /// let of_old = old.outbox().dispatch(permit(), send_mails).await.all()?;
    /// let of_new = orders.outbox().dispatch(permit(), send_mails).await.all()?;
    /// assert_eq!((of_old.handed_on, of_new.handed_on), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn outbox(&self) -> Outbox<E> {
        self.new.outbox()
    }
}

/// The events of a table. Cheap to clone.
///
/// It holds the events of all types of the table, in one order for each partition.
#[derive(Debug)]
pub struct Outbox<E> {
    client: TableClient,
    entity: PhantomData<fn() -> E>,
}

impl<E> Clone for Outbox<E> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), entity: PhantomData }
    }
}
