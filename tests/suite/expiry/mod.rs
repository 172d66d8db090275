//! Entities that expire.

mod index_rows;
mod purge;
mod reads;
mod room;
mod simulation;

use std::fmt;
use std::sync::{Arc, Mutex};
use table_orm::embedded::EmbeddedStore;
use table_orm::model::DateTime;
use table_orm::{TableEntity, Tables};
use time::{Duration, OffsetDateTime};

/// A clock that a test sets, or any other.
#[derive(Clone)]
struct Clock {
    base: Arc<dyn Fn() -> OffsetDateTime + Send + Sync>,
    passed: Arc<Mutex<Duration>>,
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.now().fmt(f)
    }
}

impl Clock {
    fn of(base: impl Fn() -> OffsetDateTime + Send + Sync + 'static) -> Self {
        Self { base: Arc::new(base), passed: Arc::default() }
    }

    fn now(&self) -> OffsetDateTime {
        (self.base)() + *self.passed.lock().unwrap()
    }

    fn pass(&self, time: Duration) {
        *self.passed.lock().unwrap() += time;
    }

    fn after(&self, seconds: i64) -> OffsetDateTime {
        self.now() + Duration::seconds(seconds)
    }
}

/// A store in memory, without layers, on a clock that the test sets.
fn tables() -> (Tables, Clock) {
    on(EmbeddedStore::in_memory().unwrap())
}

fn on(store: impl table_orm::store::Store + 'static) -> (Tables, Clock) {
    let start = OffsetDateTime::UNIX_EPOCH + Duration::days(20_000);
    let clock = Clock::of(move || start);
    let now = clock.clone();
    let now = move || DateTime::try_from(now.now()).unwrap();
    (Tables::builder(store).bare().clock(now).build().unwrap(), clock)
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "sessions", partition = "{user}", unique(token), expires = until)]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_device, key = "DEV:{device}__{id:05}", include(place))]
#[row(by_place, key = "PLACE:{place}__{id:05}")]
struct Session {
    user: String,
    id: u32,
    token: Option<String>,
    device: String,
    place: String,
    until: Option<OffsetDateTime>,
}

fn session(id: u32, until: impl Into<Option<OffsetDateTime>>) -> Session {
    Session {
        user: "ann".into(),
        id,
        token: None,
        device: "phone".into(),
        place: "home".into(),
        until: until.into(),
    }
}
