//! Within a partition: one transaction.

use super::types::{Clients, Item, ItemV1, clients, item, item_key, permit};
use table_orm::Error;
use table_orm::migrate::StoredForm;

#[tokio::test]
async fn an_entity_moves_with_its_unique_value() {
    let Clients { items, items_1, items_2, .. } = clients().await;
    items.insert(&item(7, "a").into()).await.unwrap();
    items_2.update(item_key!(7_u32), |_| ()).await.unwrap();
    assert_eq!(items_1.load(item_key!(7_u32)).await.unwrap().unwrap().form(), StoredForm::New);
    // Nobody else gets the value, in either form.
    for client in [&items_1, &items_2] {
        let taken = client.insert(&item(8, "a")).await;
        assert!(matches!(taken, Err(Error::UniqueViolation { unique: "code", .. })), "{taken:?}");
    }
    // The value changes with the move, and the old one is free.
    items_1.insert(&item(9, "b")).await.unwrap();
    items_2.update(item_key!(9_u32), |item| item.code = "c".into()).await.unwrap();
    items_1.insert(&item(8, "b")).await.unwrap();
    let taken = items_2.update(item_key!(8_u32), |item| item.code = "c".into()).await;
    assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    let report = items_2.migrate(&permit()).await;
    assert_eq!(report.all().unwrap(), 1);
    let all = items_2.list(Item::partition("oslo")).await.unwrap();
    assert_eq!(all, [item(7, "a"), item(8, "b"), item(9, "c")]);
}

#[tokio::test]
async fn an_entity_that_no_old_key_can_hold_needs_no_marker() {
    let Clients { items, items_1, items_2, .. } = clients().await;
    items_2.insert(&item(1000, "a")).await.unwrap();
    assert!(items_1.insert(&item(1001, "b")).await.is_err());
    assert_eq!(items_2.verify_migrated(&permit()).await.unwrap().markers, 0);
    assert_eq!(items_1.get(item_key!(1000_u32)).await.unwrap(), Some(item(1000, "a")));
    assert_eq!(items.list(ItemV1::partition("oslo")).collect().await.unwrap(), []);
}
