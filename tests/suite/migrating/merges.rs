//! Merges of a patch, in either form.

use super::types::{Clients, Counter, Order, OrderPatch, clients, order, order_key, permit};
use std::sync::Arc;
use table_orm::embedded::EmbeddedStore;
use table_orm::migrate::{Migrating, MigratingMerge, StoredForm};
use table_orm::{Error, TableEntity, Tables};

#[tokio::test]
async fn a_merge_sets_properties_in_either_form() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    orders.insert(&order(7, 1).into()).await.unwrap();
    orders_1.merge(order_key!(7_u32), OrderPatch::default().cents(2)).await.unwrap();
    let held = orders_2.load(order_key!(7_u32)).await.unwrap().unwrap();
    assert_eq!((held.form(), held.cents, held.state.as_str()), (StoredForm::Old, 2, "new"));
    orders_2.merge(order_key!(7_u32), OrderPatch::default().cents(3)).await.unwrap();
    let held = orders_1.load(order_key!(7_u32)).await.unwrap().unwrap();
    assert_eq!((held.form(), held.cents, held.state.as_str()), (StoredForm::New, 3, "new"));
    for (client, cents) in [(&orders_1, 4), (&orders_2, 5)] {
        client.merge(order_key!(7_u32), OrderPatch::default().cents(cents)).await.unwrap();
        assert_eq!(client.get(order_key!(7_u32)).await.unwrap(), Some(order(7, cents)));
    }
}

#[tokio::test]
async fn a_merge_of_nothing_writes_nothing() {
    let Clients { orders_1, orders_2, .. } = clients().await;
    // One was deleted after its move, the other never was.
    orders_2.insert(&order(7, 1)).await.unwrap();
    let held = orders_2.load(order_key!(7_u32)).await.unwrap().unwrap();
    orders_2.delete(held).await.unwrap();
    for client in [&orders_1, &orders_2] {
        for n in [7_u32, 8] {
            let merged = client.merge(order_key!(n), OrderPatch::default().cents(2)).await;
            assert!(matches!(merged, Err(Error::NotFound(_))), "{merged:?}");
            assert_eq!(client.get(order_key!(n)).await.unwrap(), None);
        }
    }
}

#[tokio::test]
async fn a_merge_costs_what_its_page_says() {
    let Clients { store, orders, orders_1, orders_2, .. } = clients().await;
    orders.insert(&order(1, 1).into()).await.unwrap();
    store.take();
    orders_1.merge(order_key!(1_u32), OrderPatch::default().cents(2)).await.unwrap();
    assert_eq!(store.take(), 4);
    orders_2.merge(order_key!(1_u32), OrderPatch::default().cents(3)).await.unwrap();
    assert_eq!(store.take(), 6);
    // An entity with index rows is read first.
    orders_2.merge(order_key!(1_u32), OrderPatch::default().cents(4)).await.unwrap();
    assert_eq!(store.take(), 2);
}

#[tokio::test]
async fn a_merge_can_ask_for_a_version_in_either_form() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    orders.insert(&order(7, 1).into()).await.unwrap();
    let merge = |client: &Migrating<Order>, etag, cents| {
        client.merge(order_key!(7_u32), OrderPatch::default().cents(cents)).if_match(&etag)
    };
    let version = async || {
        let held = orders_2.load(order_key!(7_u32)).await.unwrap().unwrap();
        (held.etag().unwrap().clone(), held.form())
    };
    for (client, form, cents) in [(&orders_1, StoredForm::Old, 2), (&orders_2, StoredForm::New, 3)]
    {
        let (before, _) = version().await;
        merge(client, before.clone(), cents).await.unwrap();
        assert_eq!(version().await.1, form);
        for client in [&orders_1, &orders_2] {
            let stale = merge(client, before.clone(), 9).or_insert().await;
            assert!(matches!(stale, Err(Error::Conflict(_))), "{stale:?}");
        }
        assert_eq!(client.get(order_key!(7_u32)).await.unwrap(), Some(order(7, cents)));
    }
    // Moved, and not changed otherwise.
    orders.insert(&order(8, 1).into()).await.unwrap();
    let held = orders_1.load(order_key!(8_u32)).await.unwrap().unwrap();
    orders_2.migrate(&permit()).await.all().unwrap();
    let patch = OrderPatch::default().cents(9);
    let stale = orders_1.merge(order_key!(8_u32), patch).if_match(held.etag().unwrap()).await;
    assert!(matches!(stale, Err(Error::Conflict(_))), "{stale:?}");
    // One that is not there has no version.
    let (etag, _) = version().await;
    let patch = OrderPatch::default().cents(9);
    let absent = orders_1.merge(order_key!(9_u32), patch).or_insert().if_match(&etag).await;
    assert!(matches!(absent, Err(Error::NotFound(_))), "{absent:?}");
}

/// A type whose key has all that a patch does not set.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes", partition = "{owner}", row = "N:{n:03}")]
struct NoteV1 {
    #[table(key_only)]
    owner: String,
    #[table(key_only)]
    n: u32,
    text: String,
    mark: Option<String>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes2", partition = "{owner}", row = "NOTE:{n:08}", migrate_from = NoteV1)]
struct Note {
    #[table(key_only)]
    owner: String,
    #[table(key_only)]
    n: u32,
    text: String,
    mark: Option<String>,
}

impl From<NoteV1> for Note {
    fn from(NoteV1 { owner, n, text, mark }: NoteV1) -> Self {
        Self { owner, n, text, mark }
    }
}

impl From<Note> for NoteV1 {
    fn from(Note { owner, n, text, mark }: Note) -> Self {
        Self { owner, n, text, mark }
    }
}

#[tokio::test]
async fn a_merge_inserts_what_is_in_neither_form() {
    let store = Arc::new(Counter::around(Arc::new(EmbeddedStore::in_memory().unwrap())));
    let tables = Tables::new(store.clone());
    let count = async |merge: MigratingMerge<Note>| {
        store.take();
        merge.await.unwrap();
        store.take()
    };
    let old = tables.repo::<NoteV1>();
    old.create_table().await.unwrap();
    let new = tables.migrating::<Note>().unwrap();
    new.create_table_if_not_exists().await.unwrap();
    let before = new.clone().inserting(StoredForm::Old);
    let key = |n: u32| Note::partition("ann").row().n(n);
    let text = |text: &str| NotePatch::default().text(text.to_owned());
    for (client, n, form) in [(&before, 1, StoredForm::Old), (&new, 2, StoredForm::New)] {
        client.merge(key(n), text("a")).or_insert().await.unwrap();
        assert_eq!(client.load(key(n)).await.unwrap().unwrap().form(), form);
        // It is there: the merge keeps what it does not set.
        let mark = NotePatch::default().mark("x".to_owned()).text("b".to_owned());
        client.merge(key(n), mark).or_insert().await.unwrap();
        client.merge(key(n), text("c")).or_insert().await.unwrap();
        let note = client.get(key(n)).await.unwrap().unwrap();
        assert_eq!((&*note.text, note.mark.as_deref()), ("c", Some("x")));
    }
    assert_eq!(count(new.merge(key(8), text("a")).or_insert()).await, 6);
    assert_eq!(count(before.merge(key(9), text("a")).or_insert()).await, 5);
    // One that was moved and deleted can be inserted again.
    let held = new.load(key(2)).await.unwrap().unwrap();
    new.delete(held).await.unwrap();
    before.merge(key(2), text("d")).or_insert().await.unwrap();
    let held = new.load(key(2)).await.unwrap().unwrap();
    assert_eq!((held.form(), &*held.text, held.mark.clone()), (StoredForm::New, "d", None));
    let mark = NotePatch::default().mark("x".to_owned());
    let part = new.merge(key(3), mark).or_insert().await;
    assert!(matches!(part, Err(Error::IncompleteEntity(_))), "{part:?}");
    assert_eq!(new.get(key(3)).await.unwrap(), None);
}
