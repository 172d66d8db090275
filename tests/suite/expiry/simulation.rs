//! Writers, writers that extend, and purges, over a network that loses answers and delays writes.
//!
//! The store checks each write that takes effect: no two entities have one value, and an entity goes away only
//! after it has expired. In the end all expires, and a purge leaves nothing.

use super::Clock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{dose, draw, on_virtual_time};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Faults, Retry};
use table_orm::model::{DateTime, Edm, Metadata};
use table_orm::query::{KeyRange, RowQuery, Span};
use table_orm::store::{Batch, Middleware, Operation, Store, StoreError};
use table_orm::{DynamicEntity, ETag, Error, Repo, ScanPermit, TableEntity, TableName, Tables};
use time::OffsetDateTime;
use tokio::time::{sleep, timeout};

const LATEST: Duration = Duration::from_secs(8);

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "claims", partition = "{room}", unique(seat), unique(badge, across))]
#[table(expires = until, purge_index)]
#[row(by_id, key = "ID:{id:02}")]
#[row(by_owner, key = "OWNER:{owner}__{id:02}")]
struct Claim {
    room: String,
    id: u8,
    owner: String,
    seat: Option<String>,
    badge: Option<String>,
    until: OffsetDateTime,
}

/// A store that looks at all entities before and after each write.
#[derive(Debug)]
struct Observer {
    inner: EmbeddedStore,
    clock: Clock,
    /// What the last write left.
    last: tokio::sync::Mutex<Claims>,
    violations: Arc<Mutex<Vec<String>>>,
}

type Claims = BTreeMap<(String, String), DynamicEntity>;

impl Observer {
    async fn claims(&self) -> Claims {
        let table = TableName::new("claims").unwrap();
        let keys = KeyRange { partition: Span::All, row: Span::prefix("ID:") };
        let query = RowQuery { metadata: Metadata::Minimal, ..RowQuery::new(table, keys) };
        let tables = Tables::builder(self.inner.clone()).bare().build().unwrap();
        let rows = tables.scan(query.table, ScanPermit::because("test")).collect().await.unwrap();
        let claims = rows.into_iter().filter(|row| row.row_key.starts_with("ID:"));
        claims.map(|row| ((row.partition_key.clone(), row.row_key.clone()), row)).collect()
    }

    fn check(&self, before: &Claims, after: &Claims) {
        let now = DateTime::try_from(self.clock.now()).unwrap();
        let mut violations = self.violations.lock().unwrap();
        for (key, row) in before {
            let stays = after
                .get(key)
                .is_some_and(|new| new.properties["Owner"] == row.properties["Owner"]);
            let Edm::DateTime(until) = row.properties["Until"] else { panic!("{row:?}") };
            if !stays && until > now {
                violations.push(format!("{key:?} was alive until {until} and went away at {now}"));
            }
        }
        let mut holders = BTreeMap::new();
        for (key, row) in after {
            let seat = row.properties.get("Seat").map(|seat| format!("{} {seat:?}", key.0));
            let badge = row.properties.get("Badge").map(|badge| format!("{badge:?}"));
            for value in seat.into_iter().chain(badge) {
                if let Some(other) = holders.insert(value.clone(), key) {
                    violations.push(format!("{key:?} and {other:?} have {value}"));
                }
            }
        }
    }
}

impl Middleware for Observer {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let mut last = self.last.lock().await;
        let answer = self.inner.write(table, partition_key, operation).await;
        let claims = self.claims().await;
        self.check(&last, &claims);
        *last = claims;
        answer
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let mut last = self.last.lock().await;
        let answer = self.inner.commit(table, batch).await;
        let claims = self.claims().await;
        self.check(&last, &claims);
        *last = claims;
        answer
    }
}

/// Ends with an error that a faulty network, or another client, may cause.
fn expected(error: &Error, seed: u64) {
    let fine = matches!(
        error,
        Error::AlreadyExists(_)
            | Error::UniqueViolation { .. }
            | Error::Conflict(_)
            | Error::NotFound(_)
            | Error::Unavailable(_)
            | Error::Throttled(_)
            | Error::Ambiguous(_)
    );
    assert!(fine, "seed {seed}: {error:?}");
}

/// One client. Returns how many of its writes were answered well.
async fn client(claims: Repo<Claim>, clock: Clock, seed: u64, number: u64) -> [u64; 3] {
    let mut done = [0; 3];
    for step in 0..dose(12, 30) {
        let dice = |what: &str, sides: u64| draw((seed, number, step, what), 0..sides);
        let (room, id) = (format!("room{}", dice("room", 2)), dice("id", 3) as u8);
        let until = clock.after(1 + dice("until", 6) as i64);
        let some = |what: &str| (dice(what, 3) > 0).then(|| format!("{what}{}", dice(what, 2)));
        let call = dice("call", 6);
        let answer = match call {
            0..3 => {
                let owner = format!("{number}x{step}");
                let (seat, badge) = (some("seat"), some("badge"));
                let claim = Claim { room, id, owner, seat, badge, until };
                claims.insert(&claim).await.map(drop)
            }
            // It may have expired, and others may be taking its place.
            3 | 4 => {
                let pause = Duration::from_millis(dice("save", 400));
                extend(&claims.including_expired(), (room, id), until, pause).await
            }
            _ => claims.purge().await.all().map(drop),
        };
        match answer {
            Ok(()) => done[[0, 0, 0, 1, 1, 2][call as usize]] += 1,
            Err(error) => expected(&error, seed),
        }
        sleep(Duration::from_millis(dice("pause", 1500))).await;
    }
    done
}

async fn extend(
    claims: &Repo<Claim>,
    (room, id): (String, u8),
    until: OffsetDateTime,
    pause: Duration,
) -> Result<(), Error> {
    let loaded = claims.load(Claim::partition(room).by_id().id(id)).await?.optional()?;
    let Some(mut loaded) = loaded else { return Ok(()) };
    sleep(pause).await;
    loaded.until = until;
    claims.save(loaded).await.map(drop)
}

async fn run(seed: u64) -> [u64; 3] {
    let start = tokio::time::Instant::now();
    let date = OffsetDateTime::UNIX_EPOCH + time::Duration::days(20_000);
    let clock = Clock::of(move || date + start.elapsed());
    let violations = Arc::default();
    let (inner, last) = (EmbeddedStore::in_memory().unwrap(), tokio::sync::Mutex::default());
    let observer =
        Observer { inner, clock: clock.clone(), last, violations: Arc::clone(&violations) };
    let network = Faults::seeded(seed)
        .late(0.02)
        .latest(LATEST)
        .lost_replies(0.02)
        .lost_requests(0.02)
        .throttled(0.02)
        .slow(0.5)
        .slowest(Duration::from_millis(300))
        .store(Arc::new(observer))
        .unwrap();
    network.disable();
    let connect = |number: u64| {
        let now = clock.clone();
        let now = move || DateTime::try_from(now.now()).unwrap();
        let tables = Tables::builder(network.clone()).bare().clock(now).build().unwrap();
        let tables = tables.layer(Retry::interactive().write_id("WriteId")).unwrap();
        tables.on_virtual_time(seed * 100 + number).repo::<Claim>()
    };
    let last = connect(99);
    last.create_table().await.unwrap();
    network.enable();
    let clients = (0..4).map(|number| client(connect(number), clock.clone(), seed, number));
    let clients = clients.map(|client| timeout(Duration::from_secs(600), client));
    let done = futures_util::future::join_all(clients).await;
    network.disable();
    // What is late arrives, and everything expires.
    sleep(LATEST + Duration::from_secs(200)).await;
    let permit = || ScanPermit::because("test");
    assert_eq!(last.scan(permit()).count().await.unwrap().rows, 0);
    for _ in 0..2 {
        last.settle(permit()).grace(Duration::ZERO).await.all().unwrap();
    }
    // Each value is free, whether its entity was purged or not.
    for (id, name) in [(10, "0"), (11, "1")] {
        for room in ["room0", "room1"] {
            let badge = (room == "room0").then(|| format!("badge{name}"));
            let (seat, owner) = (Some(format!("seat{name}")), "last".to_owned());
            let until = clock.after(5);
            let claim = Claim { room: room.into(), id, owner, seat, badge, until };
            last.insert(&claim).await.unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        }
    }
    sleep(Duration::from_secs(5)).await;
    let report = last.purge().await.all().unwrap();
    assert!(report.changed == 0, "seed {seed}: {report:?}");
    let left: Vec<_> = last.including_expired().scan(permit()).collect().await.unwrap();
    assert!(left.is_empty(), "seed {seed}: {left:?}");
    let broken = violations.lock().unwrap().clone();
    assert!(broken.is_empty(), "seed {seed}: {broken:#?}");
    let left = last.verify_eventual_table::<ClaimExpiry>(permit()).await.unwrap();
    let wrong = left.findings.iter().filter(|finding| !finding.to_string().contains("ticket"));
    assert_eq!(wrong.count(), 0, "seed {seed}: {left:?}");
    done.into_iter().fold([0; 3], |sum, done| {
        let done = done.unwrap();
        [0, 1, 2].map(|at| sum[at] + done[at])
    })
}

#[test]
fn no_value_has_two_holders_and_nothing_goes_away_before_it_expires() {
    let mut sum = [0; 3];
    for seed in 0..dose(2, 50) {
        let done = on_virtual_time(run(seed));
        sum = [0, 1, 2].map(|at| sum[at] + done[at]);
    }
    println!("{sum:?}");
    // Each kind of call did something.
    assert!(sum.iter().all(|done| *done > 5), "{sum:?}");
}
