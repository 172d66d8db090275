//! The dry run of a mover.

use super::group::Unmoved;
use super::migrates::Migrates;
use super::mover::{Migrate, Unmovable};
use super::old_place::{AtOld, OldEntity};
use super::passes::old_rows;
use crate::error::Result;

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
    /// Reads all old rows, and the new key of each entity, and writes nothing. It measures no rows, so only the mover
    /// reports an entity that is too large.
    ///
    /// # Errors
    /// When the store rejects a request.
    pub async fn plan(&self) -> Result<MigrationPlan> {
        let mut plan = MigrationPlan::default();
        let mut pages = self.pages.clone();
        loop {
            let (page, next) = pages.read().await?;
            let mut unmoved = Vec::new();
            for row in old_rows::<E>(&page.body)? {
                let read = match row.is {
                    Ok(AtOld::Entity(stored)) => OldEntity::of(&stored).map(|old| (stored, old)),
                    Ok(_) => continue,
                    Err(error) => Err(error),
                };
                match read {
                    Ok((stored, old)) if self.is_free(&old, &mut plan).await? => {
                        unmoved.push(Unmoved { stored, old });
                    }
                    Ok(_) => {}
                    Err(error) => plan.unmovable.push(Unmovable::new(row.key, error)),
                }
            }
            for group in self.client.groups(unmoved, self.in_bulk) {
                let entities = group.entities.len() as u64;
                let rows = group.entities.iter();
                plan.rows += rows
                    .map(|Unmoved { old, .. }| {
                        (old.old_rows.rows.len() + old.rows.rows.len()) as u64
                    })
                    .sum::<u64>();
                plan.entities += entities;
                plan.requests += group.requests();
                plan.parcels += if group.together { 0 } else { entities };
            }
            pages.token.clone_from(&next);
            if next.is_none() {
                break;
            }
        }
        Ok(plan)
    }

    /// Whether no row has the new key.
    async fn is_free(&self, old: &OldEntity<E>, plan: &mut MigrationPlan) -> Result<bool> {
        let (new, client) = (old.new_key(), &self.client.new.client);
        if client.row(&client.point(&new)).await?.is_none() {
            return Ok(true);
        }
        let taken = client.already_exists(&new.partition_key, &new.row_key);
        plan.unmovable.push(Unmovable::new(old.key.clone(), taken));
        Ok(false)
    }
}
