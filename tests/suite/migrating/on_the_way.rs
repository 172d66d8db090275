//! Entities on their way, which a client left there that ended, and answers that are lost.

use super::types::{Clients, Loses, Order, clients_over, order, order_key};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use table_orm::Error;
use table_orm::TableName;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Layer as _, Retry};
use table_orm::migrate::MigrationError;
use table_orm::model::ETag;
use table_orm::store::{Action, Batch, ErrorCode, Middleware, Store, StoreError};
use table_orm::store::{StoreAnswer, StoreRequest};

#[tokio::test]
async fn an_entity_on_its_way_keeps_its_old_key_from_no_other() {
    for write in 0..4 {
        let inner = EmbeddedStore::in_memory().unwrap();
        let loses = Arc::new(Loses { inner, landings: AtomicBool::new(false) });
        let Clients { orders, orders_1, orders_2, .. } = clients_over(loses.clone()).await;
        orders.insert(&order(1, 10).into()).await.unwrap();
        let mut held = orders_2.load(order_key!(1_u32)).await.unwrap().unwrap();
        held.cents = 11;
        loses.landings.store(true, Relaxed);
        orders_2.save(&mut held).await.unwrap();
        loses.landings.store(false, Relaxed);
        let later = Order { year: 2007, ..order(1, 20) };
        let seven = Order::partition("oslo", 2007_u32);
        // The old form does not hold it.
        let lossy = orders_1.upsert(&later).await.unwrap_err();
        assert!(matches!(lossy, Error::Migration(MigrationError::Lossy { .. })), "{lossy}");
        match write {
            0 => orders_2.insert(&later).await.unwrap(),
            1 => orders_2.upsert(&later).await.unwrap(),
            2 => orders_2.transaction(&seven).insert(&later).commit().await.unwrap(),
            _ => assert_eq!(orders_2.insert_many([later.clone()]).await.all().unwrap(), 1),
        }
        let all = orders_2.scan(&super::types::permit()).await.unwrap();
        assert_eq!(all, [Order { cents: 11, ..order(1, 0) }, later]);
        // The same entity is there, on its way or not.
        assert!(matches!(orders_2.insert(&order(1, 0)).await, Err(Error::AlreadyExists(_))));
    }
}

/// A store that writes the marker of a move without an answer, and refuses what follows.
#[derive(Debug)]
struct Doubtful {
    inner: EmbeddedStore,
    /// 0: as it is; 1: the next switch has no answer; 2: it had none.
    state: AtomicU32,
}

impl Middleware for Doubtful {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if self.state.load(Relaxed) == 2 {
            return Err(StoreError::new(ErrorCode::new("AuthorizationFailure"), "revoked"));
        }
        next.await
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let replaces = |action: &Action| matches!(action, Action::Replace(..));
        let switches = batch.operations.iter().any(|row| replaces(&row.action));
        let answer = self.inner.commit(table, batch).await;
        if switches && self.state.swap(2, Relaxed) == 1 {
            return Err(StoreError::new(ErrorCode::NO_ANSWER, "lost"));
        }
        answer
    }
}

#[tokio::test(start_paused = true)]
async fn a_save_whose_move_has_no_answer_is_never_said_to_have_failed() {
    let inner = EmbeddedStore::in_memory().unwrap();
    let store = Arc::new(Doubtful { inner, state: AtomicU32::new(0) });
    let retried = Retry::interactive().around(store.clone()).unwrap();
    let Clients { orders, orders_2, .. } = clients_over(retried).await;
    orders.insert(&order(1, 10).into()).await.unwrap();
    let mut held = orders_2.load(order_key!(1_u32)).await.unwrap().unwrap();
    held.cents = 11;
    store.state.store(1, Relaxed);
    let saved = orders_2.save(&mut held).await;
    assert!(matches!(saved, Err(Error::Ambiguous(_))), "{saved:?}");
    store.state.store(0, Relaxed);
    assert_eq!(orders_2.get(order_key!(1_u32)).await.unwrap().unwrap().cents, 11);
}
