//! The dry run of a mover.

use super::group::Unmoved;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::mover::{Migrate, Unmovable};
use super::old_place::{AtOld, OldEntity};
use super::passes::old_rows;
use crate::error::Result;
use crate::repo::CanonicalPages;

/// What a mover would do, found by a dry run.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MigrationPlan {
    /// Entities in their old form that can move.
    pub entities: u64,
    /// Old rows that will be replaced or deleted, and new rows that will be inserted.
    pub rows: u64,
    /// Requests that write: one for each entity whose partition stays, else three; in bulk for each transaction. Each is
    /// one billed transaction.
    pub requests: u64,
    /// Parcels that will be made.
    pub parcels: u64,
    /// Entities that could not move. Correct them before clients insert the new form: a save of them fails then.
    pub unmovable: Vec<Unmovable>,
}

impl<E: Migrates> Migrate<'_, E> {
    /// Reads all old rows, and the new key of each entity, and writes nothing. It measures the transactions of each
    /// entity, so it names those that are too large to move.
    ///
    /// # Errors
    /// When the store rejects a request.
    pub fn plan(&self) -> impl Future<Output = Result<MigrationPlan>> + Send + use<E> {
        // What is called for progress cannot be shared with another thread.
        plan(self.client.clone(), self.pages.clone(), self.in_bulk)
    }
}

async fn plan<E: Migrates>(
    client: Migrating<E>,
    mut pages: CanonicalPages,
    in_bulk: bool,
) -> Result<MigrationPlan> {
    let mut plan = MigrationPlan::default();
    loop {
        let (page, next) = pages.read().await?;
        let mut unmoved = Vec::new();
        for row in old_rows::<E>(&page.body)? {
            let read = match row.is {
                Ok(AtOld::Entity(stored)) => OldEntity::of(&stored).map(|old| (stored, old)),
                Ok(_) => continue,
                Err(error) => Err(error),
            };
            let movable = match read {
                Ok((stored, old)) => {
                    check(&client, &old).await?.map(|()| unmoved.push(Unmoved { stored, old }))
                }
                Err(error) => Err(error),
            };
            if let Err(reason) = movable {
                plan.unmovable.push(Unmovable::new(row.key, reason));
            }
        }
        for group in client.groups(unmoved, in_bulk) {
            let entities = group.entities.len() as u64;
            let rows = group.entities.iter();
            plan.rows += rows
                .map(|Unmoved { old, .. }| (old.old_rows.rows.len() + old.rows.rows.len()) as u64)
                .sum::<u64>();
            plan.entities += entities;
            plan.requests += group.requests();
            plan.parcels += if group.together { 0 } else { entities };
        }
        pages.token.clone_from(&next);
        if next.is_none() {
            return Ok(plan);
        }
    }
}

/// Whether its transactions are small enough, and no row has the new key: within, why it cannot move.
async fn check<E: Migrates>(client: &Migrating<E>, old: &OldEntity<E>) -> Result<Result<()>> {
    match client.check_move(old) {
        Err(error) if error.is_of_one_entity() => return Ok(Err(error)),
        checked => checked?,
    }
    let (new, client) = (old.new_key(), &client.new.client);
    if client.row(&client.point(&new)).await?.is_some() {
        return Ok(Err(client.already_exists(&new.partition_key, &new.row_key)));
    }
    Ok(Ok(()))
}
