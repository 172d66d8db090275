//! Guards of values that entities have already, made while others write.

use super::{Person, client, memory, person};
use crate::eventual::EventualType;
use crate::eventual::unique::{GUARD_ROW, Guards};
use crate::model::{ETag, TableName};
use crate::store::{Action, IfMatch, Middleware, Operation, Store, StoreError};
use crate::{EntityKeys as _, Repo, ScanPermit};
use std::sync::Arc;

/// Gives the value up as soon as a guard was inserted.
#[derive(Debug)]
struct GivenUp {
    inner: Arc<dyn Store>,
    people: Repo<Person>,
}

impl Middleware for GivenUp {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let is_guard = operation.row_key == GUARD_ROW;
        let written = self.inner.write(table, partition_key, operation).await;
        if is_guard {
            let give_up = self.people.update(person("1", "").key(), |person| person.name = None);
            assert!(give_up.report_settled().await.unwrap().settled.get());
        }
        written
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_given_up_while_its_guard_is_made_leaves_no_guard() {
    let store = memory().await;
    let people = client(store.clone(), 1);
    people.insert(&person("1", "x")).await.unwrap();
    let delete = Operation { row_key: GUARD_ROW.to_owned(), action: Action::Delete(IfMatch::Any) };
    let table = TableName::new("people").unwrap();
    store.write(&table, "UNQ:name:x", delete).await.unwrap();
    let given_up = GivenUp { inner: store, people: people.clone() };
    let other = client(Arc::new(given_up), 2);
    let guards = Guards { home: other.client.clone(), kind: EventualType::of::<Person>() };
    guards.secure(&guards.entity("1", "PERSON"), None).await.unwrap();
    let permit = || ScanPermit::because("test");
    assert!(people.verify_guards(permit()).await.unwrap().findings.is_empty());
    let left = people.settle(permit()).await.all().unwrap();
    assert_eq!((left.settled, left.young), (0, 0));
}
