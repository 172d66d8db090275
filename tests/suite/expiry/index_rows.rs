//! An index row of an expired entity is in nobody's way.

// Rows may have the same mark: https://github.com/rust-lang/rust-clippy/issues/13238.
#![allow(clippy::duplicated_attributes)]

use super::{Clock, on, tables};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use table_orm::embedded::EmbeddedStore;
use table_orm::model::Edm;
use table_orm::store::{Middleware, Operation, Store, StoreError};
use table_orm::{DynamicEntity, ETag, Error, Repo, ScanPermit, TableEntity, TableName, Tables};
use time::{Duration, OffsetDateTime};

/// A desk has one booking: the keys of its index rows do not say whose it is.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "bookings", partition = "{room}", expires = until)]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_desk, key = "DESK:{desk}", allow_key_conflict)]
#[row(by_badge, key = "BADGE:{badge}", include(), allow_key_conflict)]
#[row(by_day, key = "DAY:{day}__{id:05}", partition = "D:{room}", eventual)]
struct Booking {
    room: String,
    id: u32,
    desk: u32,
    badge: u32,
    day: u32,
    until: OffsetDateTime,
}

fn booking(id: u32, desk: u32, badge: u32, until: OffsetDateTime) -> Booking {
    Booking { room: "north".into(), id, desk, badge, day: id, until }
}

async fn bookings() -> (Tables, Repo<Booking>, Clock) {
    let (tables, clock) = tables();
    let bookings = tables.repo::<Booking>();
    bookings.create_table().await.unwrap();
    bookings.insert(&booking(1, 1, 1, clock.after(10))).await.unwrap();
    (tables, bookings, clock)
}

async fn ids(bookings: &Repo<Booking>) -> Vec<u32> {
    let all = bookings.including_expired().list(Booking::partition("north").by_id());
    all.collect().await.unwrap().iter().map(|booking| booking.id).collect()
}

/// No row is left of what was deleted.
async fn is_in_step(bookings: &Repo<Booking>) {
    let report = bookings.verify(Booking::partition("north")).await.unwrap();
    assert!(report.findings.is_empty(), "{report:?}");
}

#[tokio::test]
async fn every_write_takes_the_place_of_an_expired_index_row() {
    // By a full copy, and by a copy that does not store whose it is.
    for (desk, badge) in [(1, 2), (2, 1)] {
        for way in 0..4 {
            let (tables, bookings, clock) = bookings().await;
            let new = booking(2, desk, badge, clock.after(100));
            let taken = bookings.insert(&new).await;
            assert!(matches!(taken, Err(Error::AlreadyExists(_))), "{taken:?}");
            clock.pass(Duration::seconds(10));
            let north = Booking::partition("north");
            match way {
                0 => {
                    bookings.insert(&new).await.unwrap();
                }
                1 => {
                    let written = bookings.insert_many([new.clone()]).await.all().unwrap();
                    assert_eq!(written.entities, 1);
                }
                2 => {
                    tables.transaction(&north).insert(&new).commit().await.unwrap();
                }
                _ => {
                    bookings.insert(&booking(2, 7, 7, clock.after(100))).await.unwrap();
                    let update = bookings.update(north.by_id().id(2), |booking| {
                        (booking.desk, booking.badge) = (desk, badge);
                    });
                    update.await.unwrap();
                }
            }
            assert_eq!(ids(&bookings).await, [2], "{desk} {badge} {way}");
            is_in_step(&bookings).await;
        }
    }
}

#[tokio::test]
async fn an_index_row_of_an_entity_that_is_alive_stays() {
    let (_, bookings, clock) = bookings().await;
    clock.pass(Duration::seconds(9));
    let north = Booking::partition("north");
    let until = clock.after(100);
    bookings.update(north.by_id().id(1), |booking| booking.until = until).await.unwrap();
    clock.pass(Duration::seconds(10));
    for (desk, badge) in [(1, 2), (2, 1)] {
        let taken = bookings.insert(&booking(2, desk, badge, clock.after(100))).await;
        assert!(matches!(taken, Err(Error::AlreadyExists(_))), "{taken:?}");
    }
    assert_eq!(ids(&bookings).await, [1]);
}

#[tokio::test]
async fn an_index_row_without_its_expired_entity_is_reported_as_taken() {
    let (tables, bookings, clock) = bookings().await;
    // Another program deleted the canonical row alone.
    let table = tables.table(TableName::new("bookings").unwrap());
    table.delete(&DynamicEntity::new("north", "ID:00001")).await.unwrap();
    clock.pass(Duration::seconds(10));
    for (desk, badge) in [(1, 2), (2, 1)] {
        let taken = bookings.insert(&booking(2, desk, badge, clock.after(100))).await;
        assert!(matches!(taken, Err(Error::AlreadyExists(_))), "{taken:?}");
    }
}

#[tokio::test]
async fn an_entity_that_cannot_be_read_makes_no_room_and_the_write_says_what_exists() {
    let (tables, bookings, clock) = bookings().await;
    let table = tables.table(TableName::new("bookings").unwrap());
    let permit = ScanPermit::because("test");
    let rows = tables.scan(TableName::new("bookings").unwrap(), permit).collect().await.unwrap();
    // Another program wrote text in place of a number, into each row that has it.
    for mut row in
        rows.into_iter().filter(|row: &DynamicEntity| row.properties.contains_key("Desk"))
    {
        row.properties.insert("Desk".to_owned(), Edm::from("one"));
        table.insert_or_replace(&row).await.unwrap();
    }
    clock.pass(Duration::seconds(10));
    for (id, desk, badge) in [(1, 2, 2), (2, 1, 2), (2, 2, 1)] {
        let taken = bookings.insert(&booking(id, desk, badge, clock.after(100))).await;
        assert!(matches!(taken, Err(Error::AlreadyExists(_))), "{id} {desk} {badge}: {taken:?}");
    }
}

/// A store in which another client extends an entity just before it is deleted.
#[derive(Debug)]
struct ExtendedFirst {
    inner: Arc<EmbeddedStore>,
    extend: Arc<AtomicUsize>,
    until: OffsetDateTime,
}

impl Middleware for ExtendedFirst {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: table_orm::store::Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let deletes =
            |operation: &Operation| matches!(operation.action, table_orm::store::Action::Delete(_));
        let is_eviction = batch.operations.iter().any(deletes);
        if is_eviction && self.extend.fetch_sub(1, Ordering::SeqCst) == 1 {
            let bookings = Tables::new(Arc::clone(&self.inner)).repo::<Booking>();
            let key = Booking::partition("north").by_id().id(1);
            let mut one = bookings.including_expired().load(key).await.unwrap().one().unwrap();
            one.until = self.until;
            bookings.save(one).await.unwrap();
        }
        self.inner.commit(table, batch).await
    }
}

#[tokio::test]
async fn an_entity_that_is_extended_while_room_is_made_keeps_its_index_rows() {
    for (desk, badge) in [(1, 2), (2, 1)] {
        let inner = Arc::new(EmbeddedStore::in_memory().unwrap());
        let extend = Arc::new(AtomicUsize::new(0));
        let until = OffsetDateTime::UNIX_EPOCH + Duration::days(30_000);
        let (tables, clock) =
            on(ExtendedFirst { inner: Arc::clone(&inner), extend: Arc::clone(&extend), until });
        let bookings = tables.repo::<Booking>();
        bookings.create_table().await.unwrap();
        bookings.insert(&booking(1, 1, 1, clock.after(10))).await.unwrap();
        clock.pass(Duration::seconds(10));
        extend.store(1, Ordering::SeqCst);
        let taken = bookings.insert(&booking(2, desk, badge, clock.after(100))).await;
        assert!(matches!(taken, Err(Error::AlreadyExists(_))), "{taken:?}");
        assert_eq!(ids(&bookings).await, [1]);
        is_in_step(&bookings).await;
    }
}
