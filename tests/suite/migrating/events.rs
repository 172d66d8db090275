//! Types with an outbox.

use super::types::{Counter, permit};
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use table_orm::embedded::EmbeddedStore;
use table_orm::migrate::StoredForm;
use table_orm::outbox::Event;
use table_orm::{Result, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "O:{n:03}", outbox(after))]
struct OrderV1 {
    shop: String,
    n: u32,
    cents: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders2", partition = "S{shop}", row = "O:{n:08}", outbox(after), migrate_from = OrderV1)]
struct Order {
    shop: String,
    n: u32,
    cents: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "items", partition = "{shop}", row = "I:{n:03}", outbox)]
struct ItemV1 {
    shop: String,
    n: u32,
    cents: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "items", partition = "{shop}", row = "ITEM:{n:08}", outbox, migrate_from = ItemV1)]
struct Item {
    shop: String,
    n: u32,
    cents: i64,
}

macro_rules! both_ways {
    ($new:ident, $old:ident) => {
        impl From<$old> for $new {
            fn from($old { shop, n, cents }: $old) -> Self {
                Self { shop, n, cents }
            }
        }

        impl From<$new> for $old {
            fn from($new { shop, n, cents }: $new) -> Self {
                Self { shop, n, cents }
            }
        }
    };
}

both_ways!(Order, OrderV1);
both_ways!(Item, ItemV1);

type Seen = Mutex<Vec<(String, String, String)>>;

fn see(seen: &Seen, event: &Event) {
    let said = (event.entity.clone(), event.change.to_string(), event.row_key.clone());
    seen.lock().unwrap().push(said);
}

/// A handler that only sees events.
fn sees(seen: &Arc<Seen>) -> impl Fn(Event) -> Ready<Result<()>> + Send + Sync + 'static {
    let seen = Arc::clone(seen);
    move |event| {
        see(&seen, &event);
        ready(Ok(()))
    }
}

fn said(entity: &str, change: &str, row_key: &str) -> (String, String, String) {
    (entity.into(), change.into(), row_key.into())
}

#[tokio::test]
async fn each_write_adds_an_event_in_the_form_that_it_finds_and_a_move_adds_none() -> Result<()> {
    let store = Arc::new(Counter::around(Arc::new(EmbeddedStore::in_memory()?)));
    let tables = Tables::new(store.clone());
    let old = tables.repo::<OrderV1>();
    old.create_table().await?;
    let orders = tables.migrating::<Order>()?;
    orders.create_table_if_not_exists().await?;
    // Each table has a register, so events are found without a scan.
    let (of_old, of_new) = (old.register().await?, orders.register().await?);
    let order = |n| Order { shop: "a".into(), n, cents: 1 };
    old.insert(&order(1).into()).await?;
    orders.clone().inserting(StoredForm::Old).insert(&order(2)).await?;
    orders.insert(&order(3)).await?;
    let key = |n: u32| Order::partition("a").row().n(n);
    let mut held = orders.load(key(1)).await?.expect("it is stored");
    held.cents = 7;
    // Besides the three requests: the number of the next event.
    store.take();
    orders.save(&mut held).await?;
    assert_eq!((held.form(), store.take()), (StoredForm::New, 4));
    held.cents = 8;
    orders.save(&mut held).await?;
    assert_eq!(orders.migrate(&permit()).in_bulk().await.all()?, 1);
    let two = orders.load(key(2)).await?.expect("it is stored");
    orders.delete_many([two]).await.all()?;
    let (seen, cents) = (Arc::new(Seen::default()), Arc::new(Mutex::new(Vec::new())));
    let handler = || {
        let (seen, cents) = (Arc::clone(&seen), Arc::clone(&cents));
        move |event: Event| {
            see(&seen, &event);
            if event.entity == "OrderV1" {
                cents.lock().unwrap().extend(event.after::<OrderV1>().unwrap().map(|o| o.cents));
            }
            async { Ok::<(), table_orm::Error>(()) }
        }
    };
    old.outbox().dispatch(&of_old, handler()).await.all()?;
    orders.outbox().dispatch(&of_new, handler()).await.all()?;
    let expected = [
        said("OrderV1", "inserted", "O:001"),
        said("OrderV1", "inserted", "O:002"),
        said("OrderV1", "updated", "O:001"),
        said("Order", "inserted", "O:00000003"),
        said("Order", "updated", "O:00000001"),
        said("Order", "deleted", "O:00000002"),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
    assert_eq!(*cents.lock().unwrap(), [1, 1, 7]);
    Ok(())
}

#[tokio::test]
async fn many_writes_share_transactions_that_their_events_fit_into() -> Result<()> {
    let store = Arc::new(Counter::around(Arc::new(EmbeddedStore::in_memory()?)));
    let tables = Tables::new(store.clone());
    let old = tables.repo::<OrderV1>();
    old.create_table().await?;
    let orders = tables.migrating::<Order>()?;
    orders.create_table_if_not_exists().await?;
    store.take();
    orders.insert_many((0..150).map(|n| Order { shop: "a".into(), n, cents: 1 })).await.all()?;
    // A transaction takes 49 rows with their events, beside the number of the next event, which is read first. The
    // markers of these rows are a transaction of their own.
    assert_eq!(store.take(), 4 * 3);
    let mut held = Vec::new();
    for n in 0..150_u32 {
        held.extend(orders.load(Order::partition("a").row().n(n)).await?);
    }
    store.take();
    assert_eq!(orders.delete_many(held).await.all()?, 150);
    assert_eq!(store.take(), 4 * 2);
    let seen = Arc::new(Seen::default());
    orders.outbox().dispatch(permit(), sees(&seen)).await.all()?;
    assert_eq!(seen.lock().unwrap().len(), 300);
    Ok(())
}

#[tokio::test]
async fn within_a_partition_the_events_of_both_forms_have_one_order() -> Result<()> {
    let tables = Tables::in_memory()?;
    let old = tables.repo::<ItemV1>();
    old.create_table().await?;
    let items = tables.migrating::<Item>()?;
    let item = |n| Item { shop: "a".into(), n, cents: 1 };
    for n in [1, 2] {
        old.insert(&item(n).into()).await?;
    }
    let key = |n: u32| Item::partition("a").row().n(n);
    items.update(key(1), |item| item.cents = 5).await?;
    items.update(key(1), |item| item.cents = 6).await?;
    // Nothing changes, but the key.
    items.update(key(2), |_| ()).await?;
    items.insert(&item(3)).await?;
    let seen = Arc::new(Seen::default());
    items.outbox().dispatch(permit(), sees(&seen)).await.all()?;
    let expected = [
        said("ItemV1", "inserted", "I:001"),
        said("ItemV1", "inserted", "I:002"),
        said("ItemV1", "updated", "I:001"),
        said("Item", "updated", "ITEM:00000001"),
        said("Item", "inserted", "ITEM:00000003"),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
    Ok(())
}
