//! Two entities that want one index row of the new form: none takes the other's.

use super::types::{Counter, Loses, permit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use table_orm::embedded::EmbeddedStore;
use table_orm::migrate::{Migrating, MigrationError, StoredForm};
use table_orm::query::Complete;
use table_orm::store::Store;
use table_orm::{Error, Repo, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "desks", partition = "{room}")]
#[row(by_number, key = "D:{n:03}")]
#[row(by_guest, key = "G:{guest}__{n:03}")]
struct DeskV1 {
    room: String,
    n: u32,
    guest: String,
    note: String,
}

/// The new index key lacks the number.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "desks2", partition = "{room}", migrate_from = DeskV1)]
#[row(by_number, key = "DESK:{n:08}")]
#[row(by_guest, key = "GUEST:{guest}", allow_key_conflict)]
struct Desk {
    room: String,
    n: u32,
    guest: String,
    note: String,
}

impl From<DeskV1> for Desk {
    fn from(DeskV1 { room, n, guest, note }: DeskV1) -> Self {
        Self { room, n, guest, note }
    }
}

impl From<Desk> for DeskV1 {
    fn from(Desk { room, n, guest, note }: Desk) -> Self {
        Self { room, n, guest, note }
    }
}

fn desk(n: u32, guest: &str) -> Desk {
    Desk { room: "A".into(), n, guest: guest.into(), note: String::new() }
}

async fn desks(store: Arc<dyn Store>) -> (Repo<DeskV1>, Migrating<Desk>) {
    let tables = Tables::new(store);
    let old = tables.repo::<DeskV1>();
    old.create_table().await.unwrap();
    let desks = tables.migrating::<Desk>().unwrap();
    desks.create_table_if_not_exists().await.unwrap();
    for (n, guest) in [(1, "ann"), (2, "ann"), (3, "bob")] {
        old.insert(&desk(n, guest).into()).await.unwrap();
    }
    (old, desks)
}

fn in_memory() -> Arc<Counter> {
    Arc::new(Counter::around(Arc::new(EmbeddedStore::in_memory().unwrap())))
}

/// Whether the error says that another entity has the index row.
fn is_shared(error: &Error) -> bool {
    matches!(error, Error::AlreadyExists(row) if row.index_row == Some("by_guest"))
}

/// Whether the error says that the entity waits in its parcel until another one frees the index row.
fn waits(error: &Error) -> bool {
    matches!(
        error,
        Error::Migration(MigrationError::RowTaken {
            entity: "Desk",
            index_row: Some("by_guest"),
            ..
        })
    )
}

async fn guest(desks: &Migrating<Desk>, guest: &str) -> Vec<u32> {
    let row = Desk::partition("A").by_guest().guest(guest);
    desks.list(row).await.unwrap().into_iter().map(|desk| desk.n).collect()
}

#[tokio::test]
async fn a_mover_leaves_an_entity_where_it_is_whose_index_row_another_has() {
    for in_bulk in [false, true] {
        let store = in_memory();
        let (old, desks) = desks(store.clone()).await;
        let mover = || {
            let mover = desks.migrate(&permit());
            if in_bulk { mover.in_bulk().parallelism(1) } else { mover.parallelism(1) }
        };
        store.take();
        let report = mover().await;
        // Of each: a look at the index row, the parcel, the switch and the landing; of the one that stays, the look.
        assert_eq!(store.take(), 1 + 2 * 4 + 1 + 1);
        assert_eq!((report.progress.moved, report.skipped.len()), (2, 1));
        assert!(is_shared(&report.skipped[0].reason), "{report:?}");
        // It is served and written in its old form, and the other one has its index row.
        assert_eq!(guest(&desks, "bob").await, [3]);
        let key = Desk::partition("A").by_number().n(2_u32);
        let mut two = desks.load(&key).await.unwrap().unwrap();
        assert_eq!(two.form(), StoredForm::Old);
        let refused = desks.save(&mut two).await.unwrap_err();
        assert!(is_shared(&refused), "{refused}");
        assert_eq!(
            old.get(DeskV1::partition("A").by_number().n(2)).await.unwrap(),
            Some(desk(2, "ann").into())
        );
        let verified = desks.verify_migrated(&permit()).await.unwrap();
        assert_eq!(
            (verified.unmoved.len(), verified.in_transit.len(), verified.left_over.len()),
            (1, 0, 0)
        );
        // A dry run names it, and a new guest lets it move.
        let plan = desks.migrate(&permit()).plan().await.unwrap();
        assert!(plan.entities == 0 && is_shared(&plan.unmovable[0].reason), "{plan:?}");
        desks.update(&key, |desk| desk.guest = "cid".into()).await.unwrap();
        assert!(desks.verify_migrated(&permit()).await.unwrap().is_complete());
        assert_eq!((guest(&desks, "ann").await, guest(&desks, "cid").await), (vec![1], vec![2]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_landing_takes_no_index_row_that_another_entity_got_meanwhile() {
    let (inner, landings) = (EmbeddedStore::in_memory().unwrap(), AtomicBool::new(true));
    let store = Arc::new(Loses { inner, landings });
    let (_, desks) = desks(store.clone()).await;
    // Both are on their way with the same guest.
    for n in [1, 2] {
        desks.save(&mut desks.load(key(n)).await.unwrap().unwrap()).await.unwrap();
    }
    store.landings.store(false, Relaxed);
    assert_eq!(desks.load(key(1)).await.unwrap().unwrap().form(), StoredForm::New);
    // Each call that would land it says what is in the way, and how to go on.
    let two = desks.load(key(2)).await.unwrap().unwrap();
    let hall = Desk::partition("A");
    let refused = [
        desks.save(&mut two.clone()).await.unwrap_err(),
        desks.update(key(2), |desk| desk.guest = "ann".into()).await.unwrap_err(),
        desks.upsert(&desk(2, "ann")).await.unwrap_err(),
        desks.merge(key(2), DeskPatch::default().note("late")).await.unwrap_err(),
        desks.transaction(&hall).delete(two).commit().await.unwrap_err(),
        desks
            .transaction_with(&hall, async |tx| {
                tx.delete(tx.load(key(2)).await?.expect("it is stored"));
                Ok::<_, Error>(())
            })
            .await
            .unwrap_err(),
    ];
    for refused in refused {
        assert!(waits(&refused), "{refused}");
        let text = refused.to_string();
        for said in [
            "`Desk` to the new key \"A\" / \"DESK:00000002\"",
            "the key \"GUEST:ann\" of its row `by_guest`",
            "nothing was written: change or delete the other entity, then call again, or run `migrate`",
        ] {
            assert!(text.contains(said), "{text}");
        }
    }
    // The parcel stays, and is read.
    assert_eq!(desks.get(key(2)).await.unwrap(), Some(desk(2, "ann")));
    let report = desks.migrate(&permit()).await;
    assert!(report.skipped.len() == 1 && waits(&report.skipped[0].reason), "{report:?}");
    // Once the other one has another guest, it lands.
    desks.update(key(1), |desk| desk.guest = "dora".into()).await.unwrap();
    assert_eq!(desks.migrate(&permit()).await.all().unwrap(), 0);
    assert_eq!((guest(&desks, "ann").await, guest(&desks, "dora").await), (vec![2], vec![1]));
    assert!(desks.verify_migrated(&permit()).await.unwrap().is_complete());
}

/// The second entity waits in its parcel for an index row that the first one has.
async fn waiting() -> (Arc<Counter>, Migrating<Desk>) {
    let (inner, landings) = (EmbeddedStore::in_memory().unwrap(), AtomicBool::new(true));
    let loses = Arc::new(Loses { inner, landings });
    let store = Arc::new(Counter::around(loses.clone()));
    let (_, desks) = desks(store.clone()).await;
    for n in [1, 2] {
        desks.save(&mut desks.load(key(n)).await.unwrap().unwrap()).await.unwrap();
    }
    loses.landings.store(false, Relaxed);
    desks.load(key(1)).await.unwrap().unwrap();
    (store, desks)
}

fn key(n: u32) -> DeskByNumber<Complete> {
    Desk::partition("A").by_number().n(n)
}

#[tokio::test(start_paused = true)]
async fn an_entity_that_waits_for_an_index_row_is_changed_where_it_is() {
    let eve = || desk(2, "eve");
    for way in 0..4 {
        let (store, desks) = waiting().await;
        let mut two = desks.load(key(2)).await.unwrap().unwrap();
        assert_eq!((&*two, two.form(), two.etag()), (&desk(2, "ann"), StoredForm::New, None));
        store.take();
        match way {
            0 => {
                *two = eve();
                desks.save(&mut two).await.unwrap();
                assert_eq!(store.take(), 1);
                // What it holds can be saved again.
                desks.save(&mut two).await.unwrap();
            }
            1 => {
                let two = desks.update(key(2), |desk| desk.guest = "eve".into()).await.unwrap();
                assert!(*two == eve() && two.etag().is_some());
            }
            2 => desks.upsert(&eve()).await.unwrap(),
            _ => assert_eq!(desks.upsert_many([eve()]).await.written, 1),
        }
        assert_eq!(desks.get(key(2)).await.unwrap(), Some(eve()), "{way}");
        assert_eq!((guest(&desks, "ann").await, guest(&desks, "eve").await), (vec![1], vec![2]));
        assert_eq!(desks.migrate(&permit()).await.all().unwrap(), 1);
        let verified = desks.verify_migrated(&permit()).await.unwrap();
        assert!(verified.is_complete() && verified.left_over.is_empty(), "{verified:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_entity_that_waits_for_an_index_row_is_deleted_for_good() {
    for many in [false, true] {
        let (store, desks) = waiting().await;
        let two = desks.load(key(2)).await.unwrap().unwrap();
        store.take();
        if many {
            assert_eq!(desks.delete_many([two]).await.written, 1);
        } else {
            desks.delete(two).await.unwrap();
        }
        assert_eq!(store.take(), 1);
        assert_eq!(desks.migrate(&permit()).await.all().unwrap(), 1);
        assert_eq!(desks.get(key(2)).await.unwrap(), None);
        desks.insert(&desk(2, "eve")).await.unwrap();
        assert_eq!(desks.get(key(2)).await.unwrap(), Some(desk(2, "eve")));
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_writers_of_an_entity_that_waits_one_conflicts() {
    let (_, desks) = waiting().await;
    let load = async || desks.load(key(2)).await.unwrap().unwrap();
    let (mut first, mut second, third) = (load().await, load().await, load().await);
    first.guest = "eve".into();
    second.guest = "fay".into();
    desks.save(&mut first).await.unwrap();
    let is_conflict = |error| assert!(matches!(error, Error::Conflict(_)), "{error}");
    is_conflict(desks.save(&mut second).await.unwrap_err());
    is_conflict(desks.delete(third).await.unwrap_err());
    assert_eq!(desks.get(key(2)).await.unwrap(), Some(desk(2, "eve")));
}

#[tokio::test(start_paused = true)]
async fn a_writer_of_an_entity_that_landed_meanwhile_conflicts() {
    let (_, desks) = waiting().await;
    let load = async || desks.load(key(2)).await.unwrap().unwrap();
    let (mut one, two, mut three) = (load().await, load().await, load().await);
    desks.update(key(1), |desk| desk.guest = "dora".into()).await.unwrap();
    // A transaction lands it first. The next one finds it.
    let commit = async |held| desks.transaction(Desk::partition("A")).save(held).commit().await;
    let error = commit(&mut three).await.unwrap_err();
    assert!(matches!(error, Error::Conflict(_)), "{error}");
    commit(&mut load().await).await.unwrap();
    one.guest = "eve".into();
    assert!(matches!(desks.save(&mut one).await, Err(Error::Conflict(_))));
    assert!(matches!(desks.delete(two).await, Err(Error::Conflict(_))));
    assert_eq!((guest(&desks, "ann").await, guest(&desks, "eve").await), (vec![2], vec![]));
}

#[tokio::test]
async fn a_list_has_each_of_the_entities_that_share_an_index_key() {
    let (old, desks) = desks(in_memory()).await;
    for n in 4..9 {
        old.insert(&desk(n, "ann").into()).await.unwrap();
    }
    let all: Vec<u32> = vec![1, 2, 4, 5, 6, 7, 8, 3];
    let hall = Desk::partition("A");
    let by_guest = || desks.list(hall.by_guest());
    let numbers = |desks: Vec<Desk>| desks.into_iter().map(|desk| desk.n).collect::<Vec<_>>();
    assert_eq!(numbers(by_guest().await.unwrap()), all);
    assert_eq!(numbers(by_guest().take(3).await.unwrap()), all[..3]);
    for size in 1..9 {
        let (mut pages, mut found) = (by_guest().pages(size), Vec::new());
        while let Some(page) = pages.next().await.unwrap() {
            found.extend(numbers(page.items));
        }
        assert_eq!(found, all, "{size} in each page");
        let mut limited = by_guest().take(3).pages(size);
        let mut found = Vec::new();
        while let Some(page) = limited.next().await.unwrap() {
            found.extend(numbers(page.items));
        }
        assert_eq!(found, all[..3], "3, {size} in each page");
    }
}
