//! How entities share transactions.

use crate::entity::{
    EntityRows, InvalidEntity, PeriodMismatch, TableEntity, check_period, has_across,
    has_eventual_rows, reaches_across, writes_blind,
};
use crate::error::Result;
use crate::eventual::{Intents, Settling};
use crate::model::TableName;
use crate::plan::{MeasuredBatch, Plan, TableClient, insert_all, upsert_all};
use crate::repo::over_stored::{plan_upsert, send_upsert};
use crate::store::Batch;
use futures_core::future::BoxFuture;

/// How entities share transactions.
pub(in crate::repo) struct BatchPolicy<E> {
    /// The operations that write an entity. For an entity that is sent individually, they only name
    /// its rows.
    pub operations: fn(&E) -> Result<Batch>,
    /// Whether an entity belongs in the table.
    place: fn(&E, &TableName) -> Result<(), PeriodMismatch>,
    /// For types with rows or values in other partitions.
    pub due: Option<OtherPartitions<E>>,
    /// How each entity is sent by itself, when its operations depend on what is stored.
    pub individually: Option<Individually<E>>,
}

/// What the writes of a type need for other partitions.
pub(in crate::repo) struct OtherPartitions<E> {
    /// Adds what the write of an entity makes due.
    add: Due<E>,
    /// The operations that a transaction has for it at most.
    operations: usize,
}

/// Adds what the write of an entity makes due.
type Due<E> = fn(&TableClient, &E, &mut Intents) -> Result<(), InvalidEntity>;

/// A write that reads first, as one of many.
pub(in crate::repo) struct Individually<E> {
    /// Returns what it will send.
    pub plan: fn(&TableClient, &E) -> Result<Plan>,
    /// Sends it.
    pub send: fn(TableClient, &E, Settling) -> BoxFuture<'static, Result<()>>,
}

impl<E> BatchPolicy<E> {
    /// Entities of one partition share a transaction.
    pub fn shared(operations: fn(&E) -> Result<Batch>) -> Self {
        Self { operations, place: |_, _| Ok(()), due: None, individually: None }
    }

    /// The same for entities that belong in the table of their period.
    fn placed(self, place: fn(&E, &TableName) -> Result<(), PeriodMismatch>) -> Self {
        Self { place, ..self }
    }

    /// The same, where the writes of entities of type `T` make rows in other partitions due.
    pub fn due<T: TableEntity>(self, due: Due<E>) -> Self {
        // An intent for rows, and a ticket, or the same intent, for values.
        let operations = usize::from(has_eventual_rows::<T>()) + usize::from(has_across::<T>());
        let others = OtherPartitions { add: due, operations };
        Self { due: (reaches_across::<T>() || !T::OVERFLOW.is_empty()).then_some(others), ..self }
    }

    /// The transaction that writes an entity, measured together with what it adds to an intent.
    pub fn measured(&self, client: &TableClient, entity: &E) -> Result<MeasuredBatch> {
        (self.place)(entity, &client.table).map_err(InvalidEntity::from)?;
        let operations = (self.operations)(entity)?;
        let Some(others) = &self.due else { return Ok(client.measure(operations)) };
        let mut intents = Intents::default();
        (others.add)(client, entity, &mut intents)?;
        let measured = intents.sender(client).measure(operations);
        let mut intent = Batch { operations: Vec::new(), ..measured.batch.clone() };
        intents.append_to(client, &mut intent)?;
        // The intent is shared: its frame counts for each entity, which leaves room to spare.
        let bytes = measured.bytes + client.measure(intent).bytes;
        let most = measured.most - others.operations;
        let (units, units_room) = (intents.units(), intents.units_room());
        Ok(MeasuredBatch { bytes, most, units, units_room, ..measured })
    }

    /// The intents of a transaction that writes these entities.
    fn intents(&self, client: &TableClient, entities: &[&E]) -> Result<Intents, InvalidEntity> {
        let mut intents = Intents::default();
        if let Some(OtherPartitions { add, .. }) = &self.due {
            for entity in entities {
                add(client, entity, &mut intents)?;
            }
        }
        Ok(intents)
    }

    /// What [`send`](Self::send) would send.
    pub fn plan(&self, client: &TableClient, entities: &[&E], batch: Batch) -> Result<Plan> {
        match (&self.individually, entities) {
            (Some(Individually { plan, .. }), [entity, ..]) => plan(client, entity),
            _ => self.intents(client, entities)?.plan(client, batch, &Settling::default()),
        }
    }

    /// Sends the transaction that writes these entities.
    pub fn send(
        &self,
        client: TableClient,
        entities: &[&E],
        batch: Batch,
        settling: Settling,
    ) -> BoxFuture<'static, Result<()>> {
        match (&self.individually, entities) {
            (Some(Individually { send, .. }), [entity, ..]) => send(client, entity, settling),
            _ => {
                let intents = self.intents(&client, entities);
                Box::pin(send_batch(client, batch, intents, settling))
            }
        }
    }
}

async fn send_batch(
    client: TableClient,
    batch: Batch,
    intents: Result<Intents, InvalidEntity>,
    settling: Settling,
) -> Result<()> {
    let mut intents = intents?;
    // Canonical rows are written under a condition that no index row's deletion has.
    let etags = intents.send(&client, batch, None, &settling).await?;
    intents.settle(&client, &etags, &settling).await;
    Ok(())
}

impl<E: TableEntity> BatchPolicy<E> {
    /// How entities are inserted.
    pub fn insert() -> Self {
        let operations = |entity: &E| Ok(insert_all(EntityRows::of(entity)?));
        Self::shared(operations).placed(check_period).due::<E>(|client, entity, intents| {
            let rows = EntityRows::of(entity)?;
            intents.add::<E>(client, &rows.partition_key, None, rows.canonical())
        })
    }

    /// How entities are inserted or replaced.
    pub fn upsert() -> Self
    where
        E: 'static,
    {
        if writes_blind::<E>() {
            let operations = |entity: &E| Ok(upsert_all(EntityRows::of(entity)?));
            return Self::shared(operations).placed(check_period);
        }
        let operations = |entity: &E| Ok(insert_all(EntityRows::of(entity)?));
        let individually = Individually { plan: plan_upsert, send: send_upsert };
        let shared = Self::shared(operations).placed(check_period);
        Self { individually: Some(individually), ..shared }
    }
}
