//! Parcels: an entity with all that reaches beyond one row. What it leaves is checked here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::clock::with_clock;
use table_orm::embedded::EmbeddedStore;
use table_orm::entity::EntityKey;
use table_orm::layer::{Layer as _, Retry};
use table_orm::outbox::{Event, HandlerError};
use table_orm::{
    DynamicEntity, EntityKeys as _, Repo, Result, ScanPermit, Sum, TableEntity, TableName, Tables,
};

/// A parcel in a depot, also found by its day, its carrier, its stops and its weight, with a label that no other
/// parcel of any depot has.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(
    name = "parcels",
    partition = "{depot}",
    unique(label, across, table = "labels"),
    outbox(after),
    sums = Parcel::SUMS
)]
#[row(by_number, key = "P:{number:02}")]
#[row(by_route, key = "ROUTE:{route}__{number:02}", include())]
#[row(by_day, partition = "day {day}", key = "DAY:{number:02}__{depot}", eventual)]
#[row(
    by_carrier,
    table = "carriers",
    partition = "{carrier}",
    key = "P:{number:02}__{depot}",
    include(),
    eventual
)]
#[row(by_stop, partition = "stop {stop}", key = "STOP:{number:02}__{depot}", each(stop in stops), include(grams), eventual)]
#[row(heavy, partition = "heavy", key = "HEAVY:{number:02}__{depot}", when = Parcel::is_heavy, include(grams), eventual)]
pub struct Parcel {
    pub depot: String,
    pub number: u32,
    pub route: String,
    pub day: u32,
    pub carrier: Option<String>,
    #[table(json)]
    pub stops: Vec<String>,
    pub grams: u32,
    pub label: Option<String>,
}

impl Parcel {
    const COUNT: Sum<Self> = Sum::count("parcels");
    const GRAMS: Sum<Self> = Sum::of("grams", |parcel: &Self| i64::from(parcel.grams)).shards(2);
    const SUMS: &'static [Sum<Self>] = &[Self::COUNT, Self::GRAMS];

    fn is_heavy(&self) -> bool {
        self.grams > 1000
    }
}

pub fn parcel(number: u32) -> Parcel {
    Parcel {
        depot: "d".into(),
        number,
        route: "north".into(),
        day: 1,
        carrier: Some("Ann".into()),
        stops: vec!["a".into(), "b".into()],
        grams: 500,
        label: Some(format!("L{number}")),
    }
}

/// The same parcel: all its rows but the canonical one are under other keys, and it has another label.
pub fn moved(number: u32) -> Parcel {
    Parcel {
        route: "south".into(),
        day: 2,
        carrier: None,
        stops: vec!["b".into(), "c".into()],
        grams: 2000,
        label: Some(format!("M{number}")),
        ..parcel(number)
    }
}

pub fn key(number: u32) -> EntityKey<<Parcel as TableEntity>::Canonical> {
    parcel(number).key()
}

pub fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

const TABLES: [&str; 3] = ["parcels", "carriers", "labels"];

/// Table, PartitionKey and RowKey.
type Key = (&'static str, String, String);

/// A client of the parcels.
#[derive(Clone)]
pub struct Client {
    pub tables: Tables,
    pub parcels: Repo<Parcel>,
    /// The events that handlers took, of all clients.
    taken: Arc<Mutex<Vec<Event>>>,
}

impl Client {
    /// Hands on the events of all depots.
    pub async fn dispatch(&self) -> Result<()> {
        let handler = async |event: Event| {
            self.taken.lock().unwrap().push(event);
            Ok::<_, HandlerError>(())
        };
        let report = self.parcels.outbox().dispatch(permit(), handler).await;
        assert!(report.failures.is_empty(), "{report:?}");
        report.all().map(drop)
    }

    pub async fn settle(&self) -> Result<()> {
        let report = self.parcels.settle(permit()).grace(Duration::ZERO).await;
        assert!(report.failures.is_empty(), "{report:?}");
        report.all().map(drop)
    }
}

/// An embedded store with the parcels 1 and 2, below any fault.
pub struct Depot {
    store: Arc<EmbeddedStore>,
    taken: Arc<Mutex<Vec<Event>>>,
    /// How many clients it had. They draw names by their numbers, so the same calls leave the same rows.
    clients: AtomicU64,
}

/// What is left: all rows without their versions, and the events that handlers took.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Left {
    rows: BTreeMap<Key, String>,
    taken: String,
}

impl Left {
    /// Whether an intent or a ticket is among it.
    pub fn is_unsettled(&self) -> bool {
        self.rows.keys().any(is_helper)
    }
}

impl Depot {
    pub async fn open() -> Self {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let depot = Self { store, taken: Arc::default(), clients: AtomicU64::new(0) };
        let client = depot.client(Tables::new(Arc::clone(&depot.store)));
        for table in TABLES {
            client.tables.create(&TableName::new(table).unwrap()).await.unwrap();
        }
        for number in [1, 2] {
            client.parcels.insert(&parcel(number)).await.unwrap();
        }
        depot
    }

    pub fn store(&self) -> Arc<EmbeddedStore> {
        Arc::clone(&self.store)
    }

    pub fn client(&self, tables: Tables) -> Client {
        let tables = tables.on_virtual_time(self.clients.fetch_add(1, Relaxed));
        let parcels = tables.repo();
        Client { tables, parcels, taken: Arc::clone(&self.taken) }
    }

    /// Loses a row in another partition and a row at home, makes another stale, and leaves one over.
    pub async fn damage(&self) {
        let tables = Tables::new(self.store());
        let rows = tables.table(TableName::new("parcels").unwrap());
        for (partition_key, row_key) in [("stop a", "STOP:01__d"), ("d", "ROUTE:north__02")] {
            let row = rows.get(partition_key, row_key).await.unwrap().unwrap();
            rows.delete(&row).await.unwrap();
        }
        let row = rows.get("day 1", "DAY:02__d").await.unwrap().unwrap();
        let (stale, left) = (row.clone().with("Grams", 1_i64), row.with("Number", 9_i64));
        rows.replace(&stale).await.unwrap();
        rows.insert(&DynamicEntity { row_key: "DAY:09__d".to_owned(), ..left }).await.unwrap();
    }

    pub async fn left(&self) -> Left {
        Left { rows: self.rows().await, taken: format!("{:?}", self.taken.lock().unwrap()) }
    }

    async fn rows(&self) -> BTreeMap<Key, String> {
        let tables = Tables::new(self.store());
        let mut rows = BTreeMap::new();
        for name in TABLES {
            let table = tables.table(TableName::new(name).unwrap());
            for row in table.scan(permit()).collect().await.unwrap() {
                let content = format!("{:?}", row.properties);
                rows.insert((name, row.partition_key, row.row_key), content);
            }
        }
        rows
    }

    /// A client that comes when everything that was begun is old. Its retries know their mark in a row.
    pub fn later(&self) -> Client {
        let (store, clock) = with_clock(self.store());
        clock.forward(3600);
        let store = Retry::interactive().write_id("WriteId").around(Arc::new(store)).unwrap();
        self.client(Tables::new(store))
    }

    /// Sweeps once, and checks that everything is right then.
    pub async fn check(&self, after: &str) {
        let client = self.later();
        client.settle().await.unwrap();
        client.dispatch().await.unwrap();
        check_rows(&client, &self.rows().await.into_keys().collect(), after).await;
        self.check_events(&client, after).await;
        check_values(&client, after).await;
    }

    /// The events came at least once each, and tell of every change.
    async fn check_events(&self, client: &Client, after: &str) {
        let mut events: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for event in self.taken.lock().unwrap().iter().cloned() {
            events.entry(event.partition_key.clone()).or_default().insert(event.number, event);
        }
        let mut told = BTreeMap::new();
        for events in events.values() {
            let numbers: Vec<_> = events.keys().copied().collect();
            let expected: Vec<_> = (1..=numbers.len() as u64).collect();
            assert_eq!(numbers, expected, "{after}");
            for event in events.values() {
                told.remove(&(event.partition_key.clone(), event.row_key.clone()));
                if let Some(from) = &event.moved_from {
                    told.remove(&(event.partition_key.clone(), from.clone()));
                }
                if let Some(parcel) = event.after::<Parcel>().unwrap() {
                    told.insert((event.partition_key.clone(), event.row_key.clone()), parcel);
                }
            }
        }
        let stored = client.parcels.scan(permit()).collect().await.unwrap();
        let key = |parcel: &Parcel| parcel.key().into_texts().unwrap();
        let stored: BTreeMap<_, _> =
            stored.into_iter().map(|parcel| (key(&parcel), parcel)).collect();
        assert_eq!(told, stored, "{after}");
    }
}

/// Whether a row is an intent or a ticket.
fn is_helper((_, _, row_key): &Key) -> bool {
    row_key.starts_with("DUE:") || row_key.starts_with("TKT:")
}

/// The rows of the parcels are in step everywhere, their sums are exact, and no helper row is left.
async fn check_rows(Client { parcels, .. }: &Client, rows: &BTreeSet<Key>, after: &str) {
    assert_eq!(rows.iter().find(|key| is_helper(key)), None, "{after}");
    let mut findings = parcels.verify_table(permit()).await.unwrap().findings;
    findings.extend(parcels.verify_table(permit()).join(permit()).await.unwrap().findings);
    let by_day = parcels.verify_eventual_table::<ParcelByDay>(permit());
    findings.extend(by_day.await.unwrap().findings);
    let by_carrier = parcels.verify_eventual_table::<ParcelByCarrier>(permit());
    findings.extend(by_carrier.await.unwrap().findings);
    let by_stop = parcels.verify_eventual_table::<ParcelByStop>(permit());
    findings.extend(by_stop.await.unwrap().findings);
    let heavy = parcels.verify_eventual_table::<ParcelHeavy>(permit());
    findings.extend(heavy.await.unwrap().findings);
    assert_eq!(findings, [], "{after}");
    for depot in ["d", "e"] {
        let wrong = parcels.verify_sums(Parcel::partition(depot)).await.unwrap();
        assert_eq!(wrong, [], "{after}");
    }
}

/// A value is taken if and only if a parcel has it.
async fn check_values(Client { parcels, .. }: &Client, after: &str) {
    let stored = parcels.scan(permit()).collect().await.unwrap();
    let taken: Vec<_> = stored.into_iter().filter_map(|parcel| parcel.label).collect();
    for parcel in (1..=3).flat_map(|number| [parcel(number), moved(number)]) {
        let is_taken = taken.contains(parcel.label.as_ref().unwrap());
        let (depot, route) = ("new".to_owned(), parcel.label.clone().unwrap());
        let new = Parcel { depot, route, carrier: None, stops: Vec::new(), grams: 1, ..parcel };
        let number = new.number + if new.day == 1 { 0 } else { 10 };
        let inserted = parcels.insert(&Parcel { number, ..new }).await;
        assert_eq!(inserted.is_err(), is_taken, "{after}: {inserted:?}");
    }
}
