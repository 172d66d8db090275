//! A model: a cached client beside one that writes. Every answer was true a short time ago, and own writes
//! are always seen.

use super::{Price, price};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use support::distant::Distant;
use support::{dose, on_virtual_time};
use table_orm::embedded::EmbeddedStore;
use table_orm::model::Metadata;
use table_orm::store::{Batch, Middleware, Operation, Store, StoreError, StoredRow};
use table_orm::{ETag, Error, TableName, Tables};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

const TIME: Duration = Duration::from_secs(30);

/// What happens at a time, in milliseconds after the step before.
#[derive(Debug, Clone)]
struct Step {
    after: u64,
    sku: u32,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Read,
    /// A write through the cached connection.
    Own,
    OwnDelete,
    /// A write of another process.
    Other,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let what = prop_oneof![
        6 => Just(What::Read),
        1 => Just(What::Own),
        1 => Just(What::OwnDelete),
        1 => Just(What::Other),
    ];
    let step = (prop_oneof![0..50u64, 0..20_000u64], 0..2u32, what);
    prop::collection::vec(step.prop_map(|(after, sku, what)| Step { after, sku, what }), 1..60)
}

/// What a key held from a time on. Cents are never used again.
#[derive(Debug, Default)]
struct Held(Vec<(Instant, Option<u32>)>);

impl Held {
    /// Whether the value was there at some time from `from` to `to`.
    fn held(&self, value: Option<u32>, from: Instant, to: Instant) -> bool {
        let is_before = value.is_none() && self.0.first().is_none_or(|(began, _)| *began >= from);
        let ends = self.0.iter().skip(1).map(|(began, _)| Some(*began)).chain([None]);
        is_before
            || self.0.iter().zip(ends).any(|((began, held), end)| {
                *held == value && *began <= to && end.is_none_or(|end| end >= from)
            })
    }
}

/// What each of the two keys held, as the store did it: one request at a time.
#[derive(Debug, Default)]
struct History([Held; 2]);

impl History {
    fn record(&mut self, operations: &[Operation]) {
        for Operation { row_key, action } in operations {
            let Some(sku) = row_key.strip_prefix("SKU:") else { continue };
            let cents = action.body().map(|body| {
                let row: serde_json::Value = serde_json::from_slice(body).unwrap();
                let cents = &row["Cents"];
                let cents = cents.as_u64().or_else(|| cents.as_str()?.parse().ok()).unwrap();
                u32::try_from(cents).unwrap()
            });
            self.0[sku.parse::<usize>().unwrap()].0.push((Instant::now(), cents));
        }
    }
}

/// The store of both clients.
#[derive(Debug, Clone)]
struct Shared {
    inner: Arc<EmbeddedStore>,
    history: Arc<Mutex<History>>,
}

impl Middleware for Shared {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        let _alone = self.history.lock().await;
        self.inner.get(table, partition_key, row_key, select, metadata).await
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let mut history = self.history.lock().await;
        let written = self.inner.write(table, partition_key, operation.clone()).await?;
        history.record(&[operation]);
        Ok(written)
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let mut history = self.history.lock().await;
        let written = self.inner.commit(table, transaction.clone()).await?;
        history.record(&transaction.operations);
        Ok(written)
    }
}

/// Whether others wrote or deleted the entity for as long as the call tried. It has written nothing then.
const fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Conflict(_) | Error::AlreadyExists(_) | Error::NotFound(_))
}

async fn run(steps: Vec<Step>, waits: Vec<u64>) {
    let inner = Arc::new(EmbeddedStore::in_memory().unwrap());
    let shared = Shared { inner, history: Arc::default() };
    let below = Tables::new(shared.clone()).on_virtual_time(2).repo::<Price>().uncached();
    below.create_table().await.unwrap();
    let history = Arc::clone(&shared.history);
    let distant = Distant::new(Arc::new(shared), move |request, way| {
        let number = 2 * request + usize::from(way == "back");
        Duration::from_millis(waits[number % waits.len()])
    });
    let tables = Tables::new(distant).on_virtual_time(1);
    // The time at which the last own write of each was answered.
    let own: Arc<[std::sync::Mutex<Option<Instant>>; 2]> = Arc::default();
    let mut tasks = Vec::new();
    for (number, Step { after, sku, what }) in steps.into_iter().enumerate() {
        sleep(Duration::from_millis(after)).await;
        let (history, own) = (Arc::clone(&history), Arc::clone(&own));
        let (cached, other) = (tables.repo::<Price>(), below.clone());
        let price = price(sku, number as u32 + 1);
        tasks.push(tokio::spawn(async move {
            let own = &own[sku as usize];
            let answered = || *own.lock().unwrap() = Some(Instant::now());
            match what {
                What::Read => {
                    let (began, own) = (Instant::now(), *own.lock().unwrap());
                    let found = cached.get(Price::partition("north").by_sku().sku(sku)).await;
                    let (found, to) = (found.unwrap().map(|price| price.cents), Instant::now());
                    // No older than the last own write that was answered before.
                    let from =
                        began.checked_sub(TIME).into_iter().chain(own).max().unwrap_or(began);
                    let history = history.lock().await;
                    let held = &history.0[sku as usize];
                    assert!(held.held(found, from, to), "{found:?} in {from:?}..{to:?}: {held:?}");
                }
                What::Own => match cached.upsert(&price).await {
                    Ok(_) => answered(),
                    Err(error) => assert!(is_lost(&error), "{error}"),
                },
                What::OwnDelete => match cached.force_delete(&price).await {
                    Ok(()) => answered(),
                    Err(error) => assert!(is_lost(&error), "{error}"),
                },
                What::Other => {
                    let written = other.upsert(&price).await;
                    assert!(written.as_ref().err().is_none_or(is_lost), "{written:?}");
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(60, 3000)))]

    #[test]
    fn each_answer_was_true_within_the_time_and_own_writes_are_seen(
        steps in steps(),
        waits in prop::collection::vec(0..3_000u64, 1..8),
    ) {
        on_virtual_time(run(steps, waits));
    }
}
