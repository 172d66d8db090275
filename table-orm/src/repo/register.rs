//! Creates the register of a table, and uses it from then on.

use super::Repo;
use super::create_table::create_table_if_not_exists;
use crate::entity::TableEntity;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::eventual::TableRegister;
use crate::model::TableName;
use futures_core::future::BoxFuture;

impl<E: TableEntity> Repo<E> {
    /// Registers the writes to this table from now on. Then [`settle`](Self::settle) finds within minutes what
    /// ended processes left, and [`Outbox::dispatch`](crate::outbox::Outbox::dispatch) finds events, both
    /// without a scan. Call it when the process starts, in each process that writes to the table.
    ///
    /// The register is a table of its own, `ordersDue` for `orders`. Before a write that has something to
    /// settle, the process stores the name of the write's partition there. It removes the name a minute after
    /// the last such write. So a partition costs at most 2 requests a minute, however many writes it takes. A
    /// write that adds events costs at most one more request a minute: the process that hands the events on
    /// removes the name.
    ///
    /// After a write without an answer, or one that could not reserve its values, the next write stores the
    /// name anew. If the name cannot be stored, the write fails with [`Error::Unregistered`] and is not sent.
    /// Types without `eventual` rows, sums over partitions, `unique(.., across)` and `outbox` register nothing.
    ///
    /// It applies to all clones of the [`Tables`](crate::Tables), all types of the table, and
    /// transactions. Awaiting it creates the register's table unless it exists: one request.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
    /// # #[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
    /// # struct Member { user: String, room: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let members = Tables::in_memory()?.repo::<Member>();
    /// # members.create_table().await?;
    /// let register = members.register().await?;
    /// assert_eq!(register.table().as_str(), "membersDue");
    /// members.insert(&Member { user: "ann".into(), room: "kitchen".into() }).await?;
    /// // As a job, every few minutes: 16 queries, and one or two for each partition that an ended process left.
    /// assert_eq!(members.settle(&register).await.all()?.settled, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::TableName`] when the name with `Due` is too long. When the table cannot be created; nothing is
    /// registered then.
    pub fn register(&self) -> Register<E> {
        Register { repo: self.clone(), table: None, exists: false }
    }
}

/// A register to be used: `.await` creates its table and starts.
#[must_use = "nothing is registered until this is awaited"]
#[derive(Debug)]
pub struct Register<E> {
    repo: Repo<E>,
    table: Option<TableName>,
    exists: bool,
}

impl<E: TableEntity> Register<E> {
    /// Uses a table of that name. Several tables can share one.
    pub fn in_table(mut self, table: TableName) -> Self {
        self.table = Some(table);
        self
    }

    /// Sends no request: the table exists. For a process that may not create tables.
    pub const fn existing(mut self) -> Self {
        self.exists = true;
        self
    }

    async fn run(self) -> Result<TableRegister> {
        let Self { repo, table, exists } = self;
        let home = repo.table();
        let table = match table {
            Some(table) => table,
            None => TableName::new(&format!("{home}Due"))?,
        };
        if !exists {
            create_table_if_not_exists(&repo.client.in_table(&table)).await?;
        }
        repo.client.connection.registers.set(home, &table);
        Ok(TableRegister { table })
    }
}

impl<E: TableEntity + 'static> IntoFuture for Register<E> {
    type Output = Result<TableRegister>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
