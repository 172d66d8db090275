//! The end of a move that has no answer, met by a call that wants to write.

use super::subjects::{Away, AwayV1, Subject as _};
use super::watch::keys;
use crate::embedded::EmbeddedStore;
use crate::error::{ErrorKind, MigrationError};
use crate::eventual::tests::chaos::on_virtual_time;
use crate::migrate::{Migrating, StoredForm};
use crate::model::{ETag, PARCEL_START, TableName};
use crate::store::{Batch, ErrorCode, Middleware, Store, StoreError};
use crate::{Error, Result, Tables};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A store that does not answer landings, as many as its test asks for.
#[derive(Debug)]
struct Silent {
    inner: EmbeddedStore,
    landings: AtomicUsize,
}

impl Middleware for Silent {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let lands = batch.operations.iter().any(|op| op.row_key.starts_with(PARCEL_START));
        let left = |left: usize| left.checked_sub(1);
        if lands && self.landings.fetch_update(Relaxed, Relaxed, left).is_ok() {
            return Err(StoreError::new(ErrorCode::NO_ANSWER, "silent"));
        }
        self.inner.commit(table, batch).await
    }
}

/// A client, and an entity whose parcel nobody has landed.
async fn on_its_way() -> Result<(Arc<Silent>, Migrating<Away>)> {
    let inner = EmbeddedStore::in_memory()?;
    let store = Arc::new(Silent { inner, landings: AtomicUsize::new(1) });
    let tables = Tables::new(store.clone()).on_virtual_time(1);
    let old = tables.repo::<AwayV1>();
    old.create_table().await?;
    let client = tables.migrating::<Away>()?;
    client.create_table_if_not_exists().await?;
    old.insert(&Away::of(1, "a", "-").into()).await?;
    let mut held = client.hold(&keys::<Away>(1).0).await?.expect("it is stored");
    client.save(&mut held).await?;
    Ok((store, client))
}

#[test]
fn a_call_that_meets_a_parcel_waits_for_a_store_that_does_not_answer() -> Result<()> {
    on_virtual_time(async {
        let (store, client) = on_its_way().await?;
        store.landings.store(3, Relaxed);
        let key = Away::partition(1_u64).row().number(1_u64);
        let changed = client.update(&key, |away| away.stamps().0.push('b')).await?;
        assert_eq!((changed.clone().stamps().0.as_str(), store.landings.load(Relaxed)), ("ab", 0));
        let held = client.load(&key).await?.expect("it is stored");
        assert_eq!(held.form(), StoredForm::New);
        Ok(())
    })
}

#[test]
fn a_call_that_cannot_end_another_ones_move_says_that_it_wrote_nothing() -> Result<()> {
    on_virtual_time(async {
        let (store, client) = on_its_way().await?;
        store.landings.store(usize::MAX, Relaxed);
        let key = Away::partition(1_u64).row().number(1_u64);
        let failed = client.update(&key, |away| away.stamps().0.push('b')).await.unwrap_err();
        assert!(matches!(failed, Error::Migration(MigrationError::Unlanded { .. })), "{failed}");
        assert_eq!(failed.kind(), ErrorKind::Unavailable);
        // Whoever only reads needs no landing.
        let mut read = client.get(&key).await?.expect("it is stored");
        assert_eq!(read.stamps().0, "a");
        store.landings.store(0, Relaxed);
        let changed = client.update(&key, |away| away.stamps().0.push('c')).await?;
        assert_eq!(changed.clone().stamps().0, "ac");
        Ok(())
    })
}
