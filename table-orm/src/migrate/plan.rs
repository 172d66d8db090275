//! The dry run of a mover.

use super::group::Unmoved;
use super::large_values::to_copy;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::mover::{Migrate, Unmovable};
use super::old_place::{AtOld, OldEntity};
use crate::entity::{Loaded, is_alive};
use crate::error::Result;
use crate::plan::CanonicalKey;
use crate::repo::CanonicalPages;
use crate::sync::{Concurrent, Pace};
use std::fmt;

/// What a mover would do, found by a dry run. It can be printed.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MigrationPlan {
    /// Entities in their old form that can move.
    pub entities: u64,
    /// Old rows that will be replaced or deleted, and new rows that will be inserted.
    pub rows: u64,
    /// Requests that write: one for each entity whose partition stays, else three; in bulk for each transaction. Each is
    /// one billed transaction. Those that settle `eventual` rows are not counted.
    pub requests: u64,
    /// Parcels that will be made.
    pub parcels: u64,
    /// Large values that will be copied. `requests` does not count them.
    pub values: u64,
    /// The bytes of these values.
    pub value_bytes: u64,
    /// Entities that could not move. Correct them before clients insert the new form: a save of them fails then.
    pub unmovable: Vec<Unmovable>,
}

impl fmt::Display for MigrationPlan {
    /// What moves and what it costs, and a line for each entity that could not move.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entities, rows, requests, parcels, values, value_bytes, unmovable } = self;
        write!(f, "entities {entities}, rows {rows}, requests {requests}, parcels {parcels}")?;
        if *values > 0 {
            write!(f, ", large values {values}, their bytes {value_bytes}")?;
        }
        for Unmovable { partition_key, row_key, reason } in unmovable {
            write!(f, "\ncannot move {partition_key:?}, {row_key:?}: {reason}")?;
        }
        Ok(())
    }
}

impl<E: Migrates> Migrate<'_, E> {
    /// Reads all old rows, and looks with a point query for each entity whether its new key is free. It measures the
    /// transactions of each entity, so it names those that are too large to move. Writes nothing. It keeps to
    /// [`parallelism`](Self::parallelism) and [`per_second`](Self::per_second).
    ///
    /// # Errors
    /// When the store rejects a request.
    pub fn plan(&self) -> impl Future<Output = Result<MigrationPlan>> + Send + use<E> {
        // What is called for progress cannot be shared with another thread.
        plan(
            self.client.clone(),
            self.pages.clone(),
            self.in_bulk,
            self.parallelism,
            self.per_second,
        )
    }
}

async fn plan<E: Migrates>(
    client: Migrating<E>,
    mut pages: CanonicalPages,
    in_bulk: bool,
    parallelism: usize,
    per_second: Option<u32>,
) -> Result<MigrationPlan> {
    let mut plan = MigrationPlan::default();
    let mut pace = Pace::begin(client.old.client.connection.timer, per_second);
    loop {
        let (page, next) = pages.read().await?;
        let (mut unmoved, mut checks) = (Vec::new(), Vec::new());
        for row in client.old_rows(&page.body)? {
            let read = match row.is {
                Ok(AtOld::Entity(stored)) => OldEntity::of(&stored).map(|old| (stored, old)),
                Ok(_) => continue,
                Err(error) => Err(error),
            };
            let (due, client) = (pace.due(1), &client);
            checks.push(async move {
                due.await;
                check(client, row.key, read).await
            });
        }
        let mut checks = Concurrent::in_order(checks, parallelism);
        while let Some(checked) = checks.next().await {
            match checked? {
                Movable::Yes(one) => unmoved.push(*one),
                Movable::No(unmovable) => plan.unmovable.push(unmovable),
                Movable::Moved => {}
            }
        }
        for group in client.groups(unmoved, in_bulk) {
            let entities = group.entities.len() as u64;
            let rows = group.entities.iter();
            plan.rows += rows
                .map(|Unmoved { old, .. }| (old.old_rows.rows.len() + old.rows.rows.len()) as u64)
                .sum::<u64>();
            for Unmoved { old, .. } in &group.entities {
                let (values, bytes) = to_copy::<E>(&old.rows);
                plan.values += values;
                plan.value_bytes += bytes;
            }
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

/// Whether an entity that was read in its old form can move.
enum Movable<E: Migrates> {
    Yes(Box<Unmoved<E>>),
    No(Unmovable),
    /// Somebody has moved or changed it since.
    Moved,
}

/// Whether its transactions are small enough, and no other row has the new key.
async fn check<E: Migrates>(
    client: &Migrating<E>,
    key: CanonicalKey,
    read: Result<(Loaded<E::Old>, OldEntity<E>)>,
) -> Result<Movable<E>> {
    let (stored, old) = match read {
        Ok(read) => read,
        Err(error) => return Ok(Movable::No(Unmovable::new(key, error))),
    };
    match client.check_move(&old) {
        Err(error) if error.is_of_one_entity() => {
            return Ok(Movable::No(Unmovable::new(key, error)));
        }
        checked => checked?,
    }
    let new_client = &client.new.client;
    let (new, now) = (old.new_key(), Some(new_client.connection.clock.now()));
    let row = new_client.row(&new_client.point(&new)).await?;
    // One that has expired makes room.
    if row.is_none_or(|row| !is_alive::<E>(&row.body, now)) {
        return match client.check_index_rows(&old.rows).await {
            Ok(()) => Ok(Movable::Yes(Box::new(Unmoved { stored, old }))),
            Err(error) if error.is_of_one_entity() => {
                let is_there = AtOld::<E::Old>::read(&client.old.client, &key)
                    .await?
                    .is_version(old.etag.as_str());
                Ok(if is_there { Movable::No(Unmovable::new(key, error)) } else { Movable::Moved })
            }
            Err(error) => Err(error),
        };
    }
    if !AtOld::<E::Old>::read(&client.old.client, &key).await?.is_version(old.etag.as_str()) {
        return Ok(Movable::Moved);
    }
    let taken = new_client.already_exists(&new.partition_key, &new.row_key);
    Ok(Movable::No(Unmovable::new(key, taken)))
}
