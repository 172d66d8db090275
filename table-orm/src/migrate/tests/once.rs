//! A parcel's name is sent once, also through a layer that sends again what was not answered.

use super::subjects::{Away, AwayV1, Subject as _};
use crate::embedded::EmbeddedStore;
use crate::eventual::tests::chaos::on_virtual_time;
use crate::layer::{Layer as _, Retry};
use crate::model::{ETag, PARCEL_START, TableName};
use crate::query::ScanPermit;
use crate::store::{Action, Batch, ErrorCode, Middleware, Operation, Store, StoreError};
use crate::{Result, Tables};
use std::sync::{Arc, Mutex};

/// Loses the answer to the first parcel, and to parcels in a transaction.
#[derive(Debug)]
struct Forgetful {
    inner: EmbeddedStore,
    parcels: Mutex<Vec<String>>,
}

impl Middleware for Forgetful {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let row_key = operation.row_key.clone();
        let written = self.inner.write(table, partition_key, operation).await;
        if !row_key.starts_with(PARCEL_START) {
            return written;
        }
        let mut parcels = self.parcels.lock().unwrap();
        parcels.push(row_key);
        if parcels.len() > 1 { written } else { Err(StoreError::new(ErrorCode::NO_ANSWER, "lost")) }
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let inserts = batch.operations.iter().filter(|operation| {
            operation.row_key.starts_with(PARCEL_START)
                && matches!(operation.action, Action::Insert(_))
        });
        let names: Vec<_> = inserts.map(|operation| operation.row_key.clone()).collect();
        let written = self.inner.commit(table, batch).await;
        if names.is_empty() {
            return written;
        }
        self.parcels.lock().unwrap().extend(names);
        Err(StoreError::new(ErrorCode::NO_ANSWER, "lost"))
    }
}

#[test]
fn a_parcel_without_an_answer_is_followed_by_one_of_another_name() -> Result<()> {
    on_virtual_time(async {
        let (inner, parcels) = (EmbeddedStore::in_memory()?, Mutex::default());
        let store = Arc::new(Forgetful { inner, parcels });
        let layered = Retry::interactive().write_id("WriteId").around(store.clone())?;
        let tables = Tables::new(layered).on_virtual_time(1);
        let old = tables.repo::<AwayV1>();
        old.create_table().await?;
        let client = tables.migrating::<Away>()?;
        client.create_table_if_not_exists().await?;
        old.insert(&Away::of(1, "a", "-").into()).await?;
        let permit = ScanPermit::because("test");
        assert_eq!(client.migrate(&permit).await.all()?, 1);
        // Two inserts, of two names, then the delete of the one that was left over.
        let parcels = store.parcels.lock().unwrap().clone();
        let [lost, sent, deleted] = &*parcels else { panic!("{parcels:?}") };
        assert!(lost != sent && lost == deleted, "{parcels:?}");
        let report = client.verify_migrated(&permit).await?;
        assert!(report.is_complete() && report.left_over.is_empty());
        Ok(())
    })
}

#[test]
fn parcels_of_a_transaction_without_an_answer_are_followed_by_others() -> Result<()> {
    on_virtual_time(async {
        let (inner, parcels) = (EmbeddedStore::in_memory()?, Mutex::default());
        let store = Arc::new(Forgetful { inner, parcels });
        let layered = Retry::interactive().write_id("WriteId").around(store.clone())?;
        let tables = Tables::new(layered).on_virtual_time(1);
        let old = tables.repo::<AwayV1>();
        old.create_table().await?;
        let client = tables.migrating::<Away>()?;
        client.create_table_if_not_exists().await?;
        for number in 0..2 {
            old.insert(&Away::of(number, "a", "-").into()).await?;
        }
        let permit = ScanPermit::because("test");
        assert_eq!(client.migrate(&permit).in_bulk().await.all()?, 2);
        // One transaction of two, then two of other names, then the deletes of those that were left over.
        let mut parcels = store.parcels.lock().unwrap().clone();
        assert_eq!(parcels.len(), 6, "{parcels:?}");
        parcels[..2].sort_unstable();
        parcels[4..].sort_unstable();
        assert_eq!(parcels[..2], parcels[4..]);
        parcels.sort_unstable();
        parcels.dedup();
        assert_eq!(parcels.len(), 4, "{parcels:?}");
        let report = client.verify_migrated(&permit).await?;
        assert!(report.is_complete() && report.left_over.is_empty());
        Ok(())
    })
}
