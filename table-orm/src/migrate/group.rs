//! Many entities of one old and one new partition, moved in the same transactions.
//!
//! Invariant: each entity moves as it does alone, under its own version, with a parcel of its own. If a transaction
//! is rejected or not answered, its entities go on singly, with the parcels that they have.

use super::canonical::canonical_key;
use super::follow::{Switched, intents, settled};
use super::index_rows::may_share_index_rows;
use super::large_values::{as_if_copied, has_values};
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::OldEntity;
use super::parcel::{self, Parcel};
use crate::entity::{EntityRows, Loaded, TableEntity as _};
use crate::error::{Error, Result};
use crate::eventual::{Intents, Settling};
use crate::plan::CanonicalKey;
use crate::store::Batch;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// An entity to move, as it was read.
pub(super) struct Unmoved<E: Migrates> {
    pub stored: Loaded<E::Old>,
    pub old: OldEntity<E>,
}

/// Entities that can move in the same transactions.
pub(super) struct Group<E: Migrates> {
    pub entities: Vec<Unmoved<E>>,
    /// Whether they stay in their partition, and move in one transaction.
    pub together: bool,
    /// Operations on old rows, and on new ones.
    operations: [usize; 2],
    bytes: usize,
}

/// What happened to an entity: whether this call moved it.
pub(super) type Outcome = (CanonicalKey, Result<bool>);

impl<E: Migrates> Group<E> {
    /// Requests that write.
    pub fn requests(&self) -> u64 {
        if self.together { 1 } else { 3 }
    }

    fn fits(&self, operations: [usize; 2], bytes: usize, most: usize, room: usize) -> bool {
        let [old, new] = [0, 1].map(|side| self.operations[side] + operations[side]);
        let is_few = if self.together { old + new <= most } else { old.max(new) <= most };
        is_few && self.bytes + bytes <= room
    }
}

impl<E: Migrates> Migrating<E> {
    /// The entities in groups, or each in one of its own. Within a pair of partitions they keep their order.
    pub(super) fn groups(&self, entities: Vec<Unmoved<E>>, in_bulk: bool) -> Vec<Group<E>> {
        let client = &self.new.client;
        let most = client.store().transaction_operations();
        let most = most.saturating_sub(intents::<E>() + intents::<E::Old>());
        let (mut full, mut open) = (Vec::new(), BTreeMap::<_, Group<E>>::new());
        for unmoved in entities {
            let OldEntity { key, rows, old_rows, .. } = &unmoved.old;
            // One that fails here fails again where it moves alone, and says why.
            let rows = as_if_copied::<E>(rows).unwrap_or(Cow::Borrowed(rows));
            let together = self.moves_within(&unmoved.old, &rows).unwrap_or(true);
            let landing = client.measure(Parcel::<E>::landing(&canonical_key(&rows), &rows));
            let consumed = usize::from(!together);
            // A total for each sum.
            let totals = [E::Old::SUM_NAMES.len(), E::SUM_NAMES.len()];
            let operations =
                [old_rows.rows.len() + totals[0], rows.rows.len() + consumed + totals[1]];
            // A parcel and a marker are smaller than the rows that follow.
            let (bytes, room) = (landing.bytes, landing.room / 2);
            let place = (key.partition_key.clone(), rows.partition_key.clone(), together);
            // Its large values are copied where it moves alone.
            if has_values::<E>(old_rows) {
                full.extend(open.remove(&place));
                full.push(Group { entities: vec![unmoved], together, operations, bytes });
                continue;
            }
            let new = || Group { entities: Vec::new(), together, operations: [0; 2], bytes: 0 };
            let group = open.entry(place).or_insert_with(new);
            // What shares an index key is found where an entity moves alone.
            let may_meet = !together && const { may_share_index_rows::<E>() };
            let fits = in_bulk && !may_meet && group.fits(operations, bytes, most, room);
            if !group.entities.is_empty() && !fits {
                full.push(std::mem::replace(group, new()));
            }
            for (sum, operations) in group.operations.iter_mut().zip(operations) {
                *sum += operations;
            }
            group.bytes += bytes;
            group.entities.push(unmoved);
        }
        full.extend(open.into_values());
        full
    }

    /// Moves a group.
    pub(super) async fn move_group(&self, group: Group<E>) -> Vec<Outcome> {
        let Group { entities, together, .. } = group;
        let mut parcels = None;
        if entities.len() > 1 {
            if together && self.send_all_within(&entities).await.is_ok() {
                return entities.into_iter().map(|unmoved| (unmoved.old.key, Ok(true))).collect();
            }
            if !together {
                parcels = self.send_parcels(&entities).await.ok();
            }
        }
        match parcels {
            Some(places) => self.switch_all(entities, places).await,
            None => self.move_singly(entities).await,
        }
    }

    async fn move_singly(&self, entities: Vec<Unmoved<E>>) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(entities.len());
        for Unmoved { stored, old } in entities {
            let moved = self.move_one(&old.key, stored).await;
            outcomes.push((old.key, moved));
        }
        outcomes
    }

    async fn send_all_within(&self, entities: &[Unmoved<E>]) -> Result<()> {
        let batches = entities.iter().map(|unmoved| {
            self.batch_within(&unmoved.old, &unmoved.old.rows).map(|(batch, _)| batch)
        });
        let Some(batch) = joined(batches)? else { return Ok(()) };
        let moves = || entities.iter().map(|unmoved| (&unmoved.old, &unmoved.old.rows));
        let client = self.within(moves())?.unreported();
        let due = (
            all_due(moves().map(|(_, rows)| self.entered(rows)))?,
            all_due(moves().map(|(old, _)| self.left(old)))?,
        );
        self.send_within(&client, batch, None, due).await.map(drop)
    }

    /// Inserts a parcel for each entity. Where that has no answer they may be there, and others have other names.
    async fn send_parcels(&self, entities: &[Unmoved<E>]) -> Result<Vec<CanonicalKey>> {
        let client = &self.new.client;
        let mut places = Vec::with_capacity(entities.len());
        let batches = entities.iter().map(|Unmoved { old, .. }| {
            self.check_fits(old, &old.rows)?;
            let operation = parcel::insert(client, old, &old.rows, self.old.table().as_str())?;
            let partition_key = old.rows.partition_key.clone();
            let row_key = operation.row_key.clone();
            places.push(CanonicalKey { partition_key: partition_key.clone(), row_key });
            Ok(Batch { partition_key, operations: vec![operation] })
        });
        if let Some(batch) = joined(batches)? {
            client.send(batch).await?;
        }
        Ok(places)
    }

    /// Switches each entity to its parcel, and lands them.
    async fn switch_all(
        &self,
        entities: Vec<Unmoved<E>>,
        places: Vec<CanonicalKey>,
    ) -> Vec<Outcome> {
        let switches = entities.iter().zip(&places).map(|(Unmoved { old, .. }, place)| {
            self.switch_of(old, &old.rows, Some(&place.row_key))
        });
        let due = all_due(entities.iter().map(|Unmoved { old, .. }| self.left(old)));
        let mut switched = Vec::new();
        if let (Ok(Some(batch)), Ok(mut intents)) = (joined(switches), due) {
            let (client, settling) = (self.old.client.unreported(), Settling::default());
            let sent = intents.send(&client, batch, None, &settling).await;
            switched.extend(sent.ok().map(|etags| Switched { intents, etags: Some(etags) }));
        }
        let are_switched = !switched.is_empty();
        let (mut outcomes, mut on_their_way) = (Vec::with_capacity(entities.len()), Vec::new());
        for (Unmoved { old, .. }, place) in entities.into_iter().zip(places) {
            let moved = if are_switched {
                Ok(true)
            } else {
                match self.switch_or_drop(&old, &old.rows, &place).await {
                    Ok(one) => {
                        switched.push(one);
                        Ok(true)
                    }
                    Err(Error::Conflict(_)) => {
                        let moved = self.move_again(&old.key).await;
                        outcomes.push((old.key, moved));
                        continue;
                    }
                    Err(error) => Err(error),
                }
            };
            if moved.is_ok() {
                on_their_way.push((place, old.rows));
            }
            outcomes.push((old.key, moved));
        }
        // The entities have moved. Who meets a parcel that is left lands it.
        let landings =
            on_their_way.iter().map(|(place, rows)| Ok(Parcel::<E>::landing(place, rows)));
        let mut follows = false;
        if let Ok(Some(batch)) = joined(landings) {
            let landed = self.land_all(batch, &on_their_way).await;
            follows = matches!(landed, Ok(true));
            if landed.is_err() {
                for (place, rows) in &on_their_way {
                    let _landed = self.land(place, rows).await;
                }
            }
        }
        for switched in switched {
            switched.settle(&self.old.client, follows).await;
        }
        outcomes
    }

    /// Sends the landings of these parcels together. Returns whether the rows in other partitions are there.
    async fn land_all(&self, batch: Batch, parcels: &[(CanonicalKey, EntityRows)]) -> Result<bool> {
        let client = self.new.client.unreported();
        let mut due = all_due(parcels.iter().map(|(_, rows)| self.entered(rows)))?;
        let etags = due.send_deleting_all(&client, batch).await?;
        Ok(settled(&client, due, &etags).await)
    }
}

/// What several transactions make due, as one.
fn all_due(each: impl IntoIterator<Item = Result<Intents>>) -> Result<Intents> {
    let mut all = Intents::default();
    for due in each {
        all.join(due?);
    }
    Ok(all)
}

/// Transactions of one partition as one.
fn joined(batches: impl IntoIterator<Item = Result<Batch>>) -> Result<Option<Batch>> {
    let mut all: Option<Batch> = None;
    for batch in batches {
        let batch = batch?;
        match &mut all {
            Some(all) => all.operations.extend(batch.operations),
            None => all = Some(batch),
        }
    }
    Ok(all)
}
