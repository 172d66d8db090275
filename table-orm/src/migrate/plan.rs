//! The dry run of a mover.

use super::migrates::Migrates;
use super::mover::{Migrate, Unmovable};
use super::old_place::{AtOld, OldEntity};
use crate::error::Result;
use crate::query::Span;

/// What a mover would do, found by a dry run.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MigrationPlan {
    /// Entities in their old form that can move.
    pub entities: u64,
    /// Old rows that will be replaced or deleted, and new rows that will be inserted.
    pub rows: u64,
    /// Requests that write: one for each entity whose partition stays, else three. Each is one billed transaction.
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
        let mut entities = Vec::new();
        self.client
            .old_pass(Span::All, |row| {
                match row.is {
                    Ok(AtOld::Entity(stored)) => match OldEntity::<E>::of(&stored) {
                        Ok(old) => entities.push((row.key, old)),
                        Err(error) => plan.unmovable.push(Unmovable::new(row.key, error)),
                    },
                    Ok(_) => {}
                    Err(error) => plan.unmovable.push(Unmovable::new(row.key, error)),
                }
                Ok(())
            })
            .await?;
        for (key, old) in entities {
            let new = old.new_key();
            let client = &self.client.new.client;
            if client.row(&client.point(&new)).await?.is_some() {
                let taken = client.already_exists(&new.partition_key, &new.row_key);
                plan.unmovable.push(Unmovable::new(key, taken));
                continue;
            }
            let across = !self.client.is_together(&old.key, &new.partition_key);
            plan.entities += 1;
            plan.rows += (old.old_rows.rows.len() + old.rows.rows.len()) as u64;
            plan.requests += if across { 3 } else { 1 };
            plan.parcels += u64::from(across);
        }
        Ok(plan)
    }
}
