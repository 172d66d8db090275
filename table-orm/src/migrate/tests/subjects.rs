//! The types whose keys change: one moves to another table, one to other partitions, one stays in its partition, and
//! one gets more shards, so that some entities keep their key.

use super::history::{History, Rows};
use crate as table_orm;
use crate::TableEntity;
use crate::entity::{FromRow, RowOf};
use crate::error::Result;
use crate::migrate::{Migrate, Migrates, Migrating, MigratingPages};
use crate::query::ScanPermit;
use crate::repo::{EntityPatch as _, Patch};
use futures_util::TryStreamExt as _;

/// A type that migrates. Each write stores a stamp of its own, and the stamp of what it replaces.
pub(super) trait Subject: Migrates {
    const TABLES: &'static [&'static str];
    /// The most operations of a transaction.
    const OPERATIONS: usize = 100;
    /// Whether something is stored outside of the rows of an entity.
    const HAS_UPLOADS: bool = false;
    /// The calls of each client.
    const CALLS: u64 = 20;

    /// The entity of that number.
    fn of(number: u64, stamp: &str, base: &str) -> Self;
    fn number(&self) -> u64;
    fn stamps(&mut self) -> (&mut String, &mut String);
    /// Follows a new stamp.
    fn touch(&mut self) {}
    /// Lets the entity expire at once.
    fn expire(&mut self) {}
    fn has_expired(&self) -> bool {
        false
    }
    /// Lets each entity move, where another one may be in its way.
    fn make_room(_client: &Migrating<Self>) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }
    /// Checks the rows beside the canonical ones.
    fn check(_rows: &Rows, _history: &mut History) -> std::result::Result<(), String> {
        Ok(())
    }
    /// Checks the rows in other partitions at the end.
    fn check_settled(_rows: &Rows) -> std::result::Result<(), String> {
        Ok(())
    }
    /// Fails if a unique value that no entity has cannot be taken.
    fn check_free(
        _client: &Migrating<Self>,
        _has_ended: bool,
    ) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }
    /// All entities, in lists by a row in another partition, if the type has one.
    fn followers(
        _client: &Migrating<Self>,
        _paged: bool,
    ) -> impl Future<Output = Result<Vec<Self>>> + Send {
        async { Ok(Vec::new()) }
    }
    /// Uploads what belongs to a write of the entity by a client of that version.
    fn upload(
        &mut self,
        _client: &Migrating<Self>,
        _version: u64,
    ) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }
    /// Reads what is stored outside of the rows of the entity.
    fn read(
        &self,
        _client: &Migrating<Self>,
    ) -> impl Future<Output = std::result::Result<(), String>> + Send {
        async { Ok(()) }
    }
    /// Removes what was uploaded and is not needed.
    fn sweep(_client: &Migrating<Self>) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }
    /// Sets the stamp alone.
    fn patch(stamp: &str) -> Patch<Self>;
    /// All entities, in a list of one partition, or by a scan where they are in several.
    fn all(client: &Migrating<Self>) -> impl Future<Output = Result<Vec<Self>>> + Send;
    /// All entities, page by page; by a scan where they are in several partitions.
    fn paged(client: &Migrating<Self>) -> impl Future<Output = Result<Vec<Self>>> + Send;
    /// A mover of the only old partition, in bulk.
    fn bulk_mover(client: &Migrating<Self>) -> Migrate<'static, Self>;
}

/// Conversions of a type into its old form, and back.
macro_rules! both_ways {
    ($new:ident, $old:ident { $($field:ident),* }) => {
        impl From<$old> for $new {
            fn from($old { $($field),* }: $old) -> Self {
                Self { $($field),* }
            }
        }

        impl From<$new> for $old {
            fn from($new { $($field),* }: $new) -> Self {
                Self { $($field),* }
            }
        }
    };
}

/// The methods of a [`Subject`] that read and set the number and the stamps.
macro_rules! stamps {
    ($patch:ident) => {
        fn number(&self) -> u64 {
            self.number
        }

        fn stamps(&mut self) -> (&mut String, &mut String) {
            (&mut self.stamp, &mut self.base)
        }

        fn patch(stamp: &str) -> Patch<Self> {
            $patch::default().stamp(stamp.to_owned()).into_patch()
        }
    };
}

/// The methods of a [`Subject`] that read and move the entities of one partition, which that query asks for.
macro_rules! in_one_partition {
    ($query:expr) => {
        async fn all(client: &Migrating<Self>) -> Result<Vec<Self>> {
            client.list($query).await
        }

        async fn paged(client: &Migrating<Self>) -> Result<Vec<Self>> {
            by_page(|| client.list($query).pages(1)).await
        }

        fn bulk_mover(client: &Migrating<Self>) -> Migrate<'static, Self> {
            client.migrate(&permit()).in_bulk()
        }
    };
}

pub(super) use {both_ways, in_one_partition, stamps};

/// Defines a type in both forms.
macro_rules! subject {
    ($new:ident, $old:ident, $patch:ident, $tables:expr, [$($old_keys:tt)*], [$($keys:tt)*], $all:expr, $paged:expr, $bulk:expr) => {
        subject!($new, $old, $patch, $tables, [$($old_keys)*] [], [$($keys)*] [], $all, $paged, $bulk);
    };
    (
        $new:ident, $old:ident, $patch:ident, $tables:expr, [$($old_keys:tt)*] [$($old_component:tt)*],
        [$($keys:tt)*] [$($component:tt)*], $all:expr, $paged:expr, $bulk:expr
    ) => {
        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($old_keys)*)]
        $($old_component)*
        pub(super) struct $old {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
        }

        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($keys)*, migrate_from = $old)]
        $($component)*
        pub(super) struct $new {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
        }

        both_ways!($new, $old { room, number, stamp, base });

        impl Subject for $new {
            const TABLES: &'static [&'static str] = &$tables;

            fn of(number: u64, stamp: &str, base: &str) -> Self {
                Self { room: 1, number, stamp: stamp.to_owned(), base: base.to_owned() }
            }

            stamps!($patch);

            async fn all(client: &Migrating<Self>) -> Result<Vec<Self>> {
                let all: fn(&Migrating<Self>) -> _ = $all;
                all(client).await
            }

            async fn paged(client: &Migrating<Self>) -> Result<Vec<Self>> {
                let paged: fn(&Migrating<Self>) -> _ = $paged;
                paged(client).await
            }

            fn bulk_mover(client: &Migrating<Self>) -> Migrate<'static, Self> {
                let mover: fn(&Migrating<Self>) -> Migrate<'static, Self> = $bulk;
                mover(client)
            }
        }
    };
}

pub(super) fn permit() -> ScanPermit {
    ScanPermit::because("simulation")
}

/// All entities of pages, each read by its token alone.
pub(super) async fn by_page<E, R>(pages: impl Fn() -> MigratingPages<E, R>) -> Result<Vec<E>>
where
    R: RowOf<E> + 'static,
    E: Migrates + FromRow<R>,
{
    let (mut all, mut token) = (Vec::new(), None);
    loop {
        let mut pages = token.take().into_iter().fold(pages(), MigratingPages::resume);
        let Some(page) = pages.next().await? else { return Ok(all) };
        all.extend(page.items);
        match page.next {
            Some(next) => token = Some(next),
            None => return Ok(all),
        }
    }
}

subject!(
    Away,
    AwayV1,
    AwayPatch,
    ["rooms", "rooms2"],
    [name = "rooms", partition = "{room}", row = "ROW:{number:04}"],
    [name = "rooms2", partition = "N{room}", row = "ROW:{number:08}"],
    |client| {
        let client = client.clone();
        async move { client.list(Away::partition(1_u64)).await }
    },
    |client| {
        let client = client.clone();
        async move {
            let query = || client.list(Away::partition(1_u64)).filter(|row| row.stamp.ne(""));
            by_page(|| query().pages(1)).await
        }
    },
    |client| client.migrate_partition(AwayV1::partition(1_u64)).in_bulk()
);

subject!(
    Apart,
    ApartV1,
    ApartPatch,
    ["halls"],
    [name = "halls", partition = "{room}", row = "ROW:{number:04}"],
    [name = "halls", partition = "N{room}__{number}", row = "ROW:{number:04}"],
    |client| {
        let client = client.clone();
        async move { client.scan(&permit()).await }
    },
    |client| {
        let client = client.clone();
        async move { client.scan(&permit()).stream().try_collect().await }
    },
    |client| client.migrate_partition(ApartV1::partition(1_u64)).in_bulk()
);

subject!(
    Within,
    WithinV1,
    WithinPatch,
    ["lofts"],
    [name = "lofts", partition = "{room}", row = "ROW:{number:04}"],
    [name = "lofts", partition = "{room}", row = "NEW:{number:04}"],
    |client| {
        let client = client.clone();
        async move { client.list(Within::partition(1_u64)).await }
    },
    |client| {
        let client = client.clone();
        async move {
            let query = || client.list(Within::partition(1_u64)).filter(|row| row.stamp.ne(""));
            by_page(|| query().pages(1)).await
        }
    },
    |client| client.migrate_partition(WithinV1::partition(1_u64)).in_bulk()
);

// Of four shards, eight: entity 0 keeps its key, entity 1 moves.
subject!(
    Spread,
    SpreadV1,
    SpreadPatch,
    ["wards"],
    [name = "wards", partition = "{share}__{room}", row = "ROW:{number:04}"]
    [#[component(share = shard(number, 4))]],
    [name = "wards", partition = "{share}__{room}", row = "ROW:{number:04}"]
    [#[component(share = shard(number, 8))]],
    |client| {
        let client = client.clone();
        async move {
            let mut all = Vec::new();
            for partition in Spread::partitions(1_u64) {
                all.extend(client.list(partition).await?);
            }
            Ok(all)
        }
    },
    |client| {
        let client = client.clone();
        async move {
            let mut all = Vec::new();
            for partition in Spread::partitions(1_u64) {
                all.extend(client.list(partition).take(2).await?);
            }
            Ok(all)
        }
    },
    |client| client.migrate(&permit()).in_bulk()
);
