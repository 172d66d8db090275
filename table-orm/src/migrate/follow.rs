//! Rows in other partitions of entities whose keys change.
//!
//! The rows of each form follow its own canonical row, as those of a type that does not migrate: a move deletes the
//! entity in its old form, and inserts it in its new one.
//!
//! Invariants:
//! - No row of one form has the key of a row of the other.
//! - The transaction that replaces an old row has an intent for the rows of the old form, and the one that inserts the
//!   new rows has one for those of the new form.
//! - A row of the old form goes for a move only after the entity has landed, and no intent of it in its new form is
//!   left. So whoever reads the rows of the old form before those of the new one misses no entity that moves.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_key::old_key;
use super::old_place::{OldEntity, known, unknown};
use crate::entity::{
    EntityRows, Loaded, Marker, MovedRow, TableEntity, has_across, has_large, read_row, split_page,
};
use crate::error::{Error, Result, SettleFailure};
use crate::eventual::{EventualType, Intents, Pending, Settled, Settling, Sweep, settle};
use crate::model::{ETag, TableName};
use crate::plan::{AfterMove, CanonicalKey, TableClient};
use crate::query::Span;
use crate::store::Batch;
use futures_core::future::BoxFuture;

/// Whether entities of the type have rows in other partitions.
pub(super) const fn has_followers<T: TableEntity>() -> bool {
    !T::EVENTUAL.is_empty()
}

/// How many intents a transaction has that writes entities of the type.
pub(super) const fn intents<T: TableEntity>() -> usize {
    has_followers::<T>() as usize
}

/// Whether a write of an entity has work outside its partition.
const fn reaches_out<T: TableEntity>() -> bool {
    has_followers::<T>() || has_across::<T>()
}

/// What the insert of an entity with these rows makes due.
pub(super) fn inserted<T: TableEntity>(client: &TableClient, rows: &EntityRows) -> Result<Intents> {
    let mut intents = Intents::default();
    if reaches_out::<T>() {
        intents.add::<T>(client, &rows.partition_key, None, rows.canonical())?;
    }
    Ok(intents)
}

/// What the delete of a loaded entity makes due.
pub(super) fn deleted<T: TableEntity>(client: &TableClient, loaded: &Loaded<T>) -> Result<Intents> {
    let mut intents = Intents::default();
    if reaches_out::<T>() {
        intents.add_loaded(client, loaded, None)?;
    }
    Ok(intents)
}

/// Sends a transaction with what it makes due, and settles that. Returns the versions of its operations in order.
pub(super) async fn send_and_settle(
    client: &TableClient,
    batch: Batch,
    canonical: Option<&str>,
    mut intents: Intents,
) -> Result<Vec<Option<ETag>>> {
    let settling = Settling::default();
    let etags = intents.send(client, batch, canonical, &settling).await?;
    intents.settle(client, &etags, &settling).await;
    Ok(etags)
}

/// Settles what a transaction made due. Returns whether all of it is settled.
pub(super) async fn settled(
    client: &TableClient,
    intents: Intents,
    etags: &[Option<ETag>],
) -> bool {
    let report = Settled::default();
    let settling = Settling { report: Some(report.clone()), ..Settling::default() };
    intents.settle(client, etags, &settling).await;
    report.get()
}

/// A transaction that took effect, by which entities left their old form, with what is to be settled.
pub(super) struct Switched {
    pub intents: Intents,
    /// The versions of its operations, if it was answered.
    pub etags: Option<Vec<Option<ETag>>>,
}

impl Switched {
    /// Settles it. What fails is left to a sweep. `follows` says that the rows of the new form are there.
    pub async fn settle(self, client: &TableClient, follows: bool) {
        let Self { intents, etags } = self;
        let after_move: Option<AfterMove> =
            if follows { Some(|_, _| Box::pin(async { Ok(()) })) } else { client.after_move };
        let client = TableClient { after_move, ..client.clone() };
        match etags {
            Some(etags) => intents.settle(&client, &etags, &Settling::default()).await,
            None => intents.settle_unanswered(&client, &Settling::default()).await,
        }
    }
}

impl<E: Migrates> Migrating<E> {
    /// What it makes due that an entity leaves its old form. Its large values of the old key go with it.
    pub(super) fn left(&self, old: &OldEntity<E>) -> Result<Intents> {
        let (client, mut intents) = (&self.old.client, Intents::default());
        if has_followers::<E::Old>() || has_large::<E::Old>() {
            intents.add_loaded(client, &old.loaded(client)?, None)?;
        }
        Ok(intents.keeping_values())
    }

    /// What it makes due that an entity comes to these new rows.
    pub(super) fn entered(&self, rows: &EntityRows) -> Result<Intents> {
        let mut intents = Intents::default();
        if has_followers::<E>() {
            intents.add::<E>(&self.new.client, &rows.partition_key, None, rows.canonical())?;
        }
        Ok(intents.keeping_values())
    }

    /// Sends a transaction in which entities leave their old form and get new rows. It settles these first.
    pub(super) async fn send_within(
        &self,
        client: &TableClient,
        batch: Batch,
        canonical: Option<&str>,
        (mut intents, left): (Intents, Intents),
    ) -> Result<Vec<Option<ETag>>> {
        intents.join(left);
        let sent = intents.send(client, batch, canonical, &Settling::default()).await?;
        let [(entered, versions), (left, etags)] = intents.split(&sent, E::NAME);
        let follows = settled(client, entered, &versions).await;
        Switched { intents: left, etags: Some(etags) }.settle(client, follows).await;
        Ok(sent)
    }

    /// The intents of an entity in its new form, which left that old key under the marker: one query. Once its parcel
    /// is gone, either its rows in other partitions were written, or one of these is left.
    pub(super) async fn pending(
        &self,
        marker: &Marker,
        old: &CanonicalKey,
    ) -> Result<Vec<Pending>> {
        let (home, kind) = (&self.new.client, EventualType::of::<E>());
        let sweep = Sweep { home: home.clone(), kind, grace: std::time::Duration::ZERO };
        let query = sweep.query(Span::Exact(marker.partition_key.clone()), Sweep::rows());
        let mut pages = home.pages(query);
        let mut found = Vec::new();
        while let Some(page) = pages.next().await? {
            for row in split_page(&page)? {
                let row = read_row(0, row.get().as_bytes())?;
                // What this version cannot read, a sweep reports.
                let Ok(Some(pending)) = Pending::read(row, &home.table, kind) else { continue };
                let mut keys = pending.intent.due.iter().map(|entry| CanonicalKey {
                    partition_key: marker.partition_key.clone(),
                    row_key: entry.canonical.clone(),
                });
                if keys.any(|new| old_key::<E>(&new).as_ref() == Some(old)) {
                    found.push(pending);
                }
            }
        }
        Ok(found)
    }

    /// Sees to it that the rows in other partitions of an entity that left its old key are there.
    async fn follow(&self, marker: &Marker, old: &CanonicalKey) -> Result<()> {
        if let Some(parcel) = self.parcel(marker, old).await? {
            self.finish(&parcel).await?;
        }
        for pending in self.pending(marker, old).await? {
            let (partition_key, row_key) =
                (pending.intent.partition_key.clone(), pending.intent.row_key.clone());
            settle(&self.new.client, EventualType::of::<E>(), &pending)
                .await
                .map_err(|error| Error::from(SettleFailure::new(partition_key, row_key, error)))?;
        }
        Ok(())
    }
}

/// As [`AfterMove`](crate::plan::AfterMove) says.
pub(super) fn after_move<'c, E: Migrates>(
    client: &'c TableClient,
    moved: &'c MovedRow,
) -> BoxFuture<'c, Result<()>> {
    Box::pin(async move {
        let marker = known(moved)?;
        let MovedRow { partition_key, row_key, .. } = moved.clone();
        let old = CanonicalKey { partition_key, row_key };
        let new = TableName::new(&marker.table).map_err(|_| unknown(moved))?;
        let migrating = Migrating::<E>::new(&client.connection, client.table.clone(), new)?;
        migrating.follow(&marker, &old).await
    })
}
