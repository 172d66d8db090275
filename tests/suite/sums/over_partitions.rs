//! Sums over all partitions: copies of the totals, which follow every write.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use support::clock::with_clock;
use support::recorder::{recorded, recorded_around};
use support::stops::restless;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Fault, Faults};
use table_orm::plan::Step;
use table_orm::query::Span;
use table_orm::repo::{Problem, SkipReason, SumError, SumProblem};
use table_orm::store::ErrorCode;
use table_orm::{
    DynamicEntity, Error, Projection, Repo, ScanPermit, Sum, TableEntity, TableUnion, Tables,
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "ORD:{number:05}", sums = Order::SUMS)]
struct Order {
    #[table(key_only)]
    customer: String,
    #[table(key_only)]
    number: u32,
    cents: i64,
    state: String,
    note: Option<String>,
}

impl Order {
    const COUNT: Sum<Self> = Sum::count("orders");
    const CENTS: Sum<Self> =
        Sum::of("cents", |order: &Self| order.cents).shards(3).over_partitions();
    const BY_STATE: Sum<Self> =
        Sum::by_group("state", |order: &Self| (order.state.clone(), 1)).over_partitions();
    const SUMS: &'static [Sum<Self>] = &[Self::COUNT, Self::CENTS, Self::BY_STATE];
}

/// The same orders, of a version of the app whose sums are of one partition each.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "ORD:{number:05}", sums = Before::SUMS)]
struct Before {
    #[table(key_only)]
    customer: String,
    #[table(key_only)]
    number: u32,
    cents: i64,
    state: String,
    note: Option<String>,
}

impl Before {
    const CENTS: Sum<Self> = Sum::of("cents", |order: &Self| order.cents).shards(3);
    const BY_STATE: Sum<Self> = Sum::by_group("state", |order: &Self| (order.state.clone(), 1));
    const SUMS: &'static [Sum<Self>] = &[Sum::count("orders"), Self::CENTS, Self::BY_STATE];
}

/// A note in the partition of a customer.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "NOTE:{number:05}")]
struct Note {
    customer: String,
    number: u32,
}

#[derive(Debug, PartialEq, TableUnion)]
enum Row {
    Order(Order),
    Note(Note),
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Order)]
struct Price {
    number: u32,
    cents: i64,
}

fn order(customer: &str, number: u32, cents: i64) -> Order {
    let (customer, state) = (customer.into(), "open".into());
    Order { customer, number, cents, state, note: None }
}

async fn orders_in(tables: &Tables) -> Repo<Order> {
    let orders = tables.repo::<Order>();
    orders.create_table().await.unwrap();
    orders
}

/// Checks the sums over partitions against the stored entities. Returns the cents.
async fn check(orders: &Repo<Order>, customers: &[&str], text: &str) -> i64 {
    let (mut cents, mut by_state) = (0, BTreeMap::<String, i64>::new());
    for customer in customers {
        let partition = Order::partition(*customer);
        for order in orders.list(&partition).collect().await.unwrap() {
            cents += order.cents;
            *by_state.entry(order.state).or_default() += 1;
        }
        assert_eq!(orders.verify_sums(&partition).await.unwrap(), [], "{text}");
    }
    assert_eq!(orders.sum_over_partitions(&Order::CENTS).await.unwrap(), cents, "{text}");
    let count = by_state.values().sum::<i64>();
    assert_eq!(orders.sum_over_partitions(&Order::BY_STATE).await.unwrap(), count, "{text}");
    let mut groups = orders.sum_over_partitions_by_group(&Order::BY_STATE).await.unwrap();
    groups.retain(|_, total| *total != 0);
    assert_eq!(groups, by_state, "{text}");
    cents
}

#[tokio::test]
async fn the_sum_over_partitions_follows_every_write() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let check = async |text: &str| check(&orders, &["acme", "bolt"], text).await;
    let (acme, bolt) = (Order::partition("acme"), Order::partition("bolt"));
    let key = |number: u32| acme.row().number(number);
    assert_eq!(check("nothing").await, 0);

    orders.insert(&order("acme", 1, 100)).await.unwrap();
    orders.insert(&order("bolt", 1, 20)).await.unwrap();
    assert_eq!(check("insert").await, 120);
    let again = orders.insert(&order("acme", 1, 7)).await;
    assert!(matches!(again, Err(Error::AlreadyExists(_))));
    assert_eq!(check("refused").await, 120);
    let etag = orders.upsert(&order("acme", 1, 50)).await.unwrap();
    orders.replace(&order("acme", 1, 60), &etag).await.unwrap();
    orders.force_replace(&order("acme", 1, 61)).await.unwrap();
    orders.upsert(&order("acme", 2, 1)).await.unwrap();
    assert_eq!(check("upsert, replace").await, 82);
    orders.merge(key(2), OrderPatch::default().cents(5)).await.unwrap();
    orders.insert_or_merge(&order("acme", 3, 4)).await.unwrap();
    orders.insert_or_merge(&order("acme", 3, 3)).await.unwrap();
    assert_eq!(check("merge").await, 89);
    orders.update(key(3), |order| order.state = "paid".into()).await.unwrap();
    assert_eq!(check("another group").await, 89);
    let mut loaded = orders.load(key(3)).await.unwrap().one().unwrap();
    loaded.number = 4;
    orders.save(&mut loaded).await.unwrap();
    assert_eq!(check("another key").await, 89);
    let etag = loaded.etag().clone();
    orders.delete_if(key(4), &etag).await.unwrap();
    orders.force_delete(&order("acme", 2, 0)).await.unwrap();
    assert_eq!(check("delete").await, 81);

    let many = |cents| (0..250).map(move |n| order(["acme", "bolt"][n % 2], 100 + n as u32, cents));
    orders.insert_many(many(1)).await.all().unwrap();
    assert_eq!(check("insert_many").await, 331);
    orders.upsert_many(many(2)).await.all().unwrap();
    assert_eq!(check("upsert_many").await, 581);
    let old = orders.load(bolt.row().number_in(100..120)).await.unwrap();
    orders.delete_many(old).await.all().unwrap();
    assert_eq!(check("delete_many").await, 561);

    let mut one = orders.load(key(1)).await.unwrap().one().unwrap();
    one.cents = 1;
    let tx = orders.transaction(&acme).save(&mut one).insert(&order("acme", 6, 10));
    tx.commit().await.unwrap();
    assert_eq!(check("transaction").await, 511);
    let blind = orders.transaction(&acme).upsert(&order("acme", 6, 11)).commit().await;
    assert!(blind.is_err(), "it does not read what it replaces");
    orders.delete_partition(&acme).await.unwrap();
    assert_eq!(check("delete_partition").await, 250);
}

#[tokio::test]
async fn a_copy_costs_four_requests_for_each_sum_that_changes() {
    let (tables, record) = recorded();
    let orders = orders_in(&tables).await;
    record.take();
    orders.insert(&order("acme", 1, 5)).await.unwrap();
    let sent = record.take();
    // Three totals are read first. Two copies: two tickets, two totals, two writes, and the intent.
    assert_eq!((sent.gets, sent.writes.len()), (3 + 2, 1 + 2 + 2 + 1));
    let noted = Order { note: Some("x".into()), ..order("acme", 1, 5) };
    orders.upsert(&noted).await.unwrap();
    let sent = record.take();
    // Which total changes follows from the stored entity; it is read again under the version.
    assert_eq!((sent.gets, sent.writes), (2, vec![1]), "no total changes");
    let step = orders.insert(&order("acme", 2, 5)).plan().unwrap().steps.pop();
    let Some(Step::Settle { partitions, .. }) = step else { panic!("{step:?}") };
    let partitions: Vec<_> = partitions.into_iter().map(|(_, partition)| partition).collect();
    assert_eq!(partitions, ["SUM:cents", "SUM:state"]);
}

#[tokio::test]
async fn more_partitions_than_a_page_has_rows_add_up() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let customers = (0..1_010).map(|customer| order(&format!("c{customer:04}"), 1, 2));
    orders.insert_many(customers).await.all().unwrap();
    assert_eq!(orders.sum_over_partitions(&Order::CENTS).await.unwrap(), 2_020);
    let states = orders.sum_over_partitions_by_group(&Order::BY_STATE).await.unwrap();
    assert_eq!(states, BTreeMap::from([("open".to_owned(), 1_010)]));
}

#[tokio::test]
async fn lists_unions_projections_and_pages_leave_copies_out() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    // A customer whose partition is the one with the copies, and whose totals have copies there, too.
    let own = order("SUM:cents", 1, 3);
    let note = Note { customer: "SUM:cents".into(), number: 1 };
    orders.insert(&own).await.unwrap();
    orders.insert(&order("acme", 1, 4)).await.unwrap();
    tables.repo::<Note>().insert(&note).await.unwrap();
    assert_eq!(check(&orders, &["SUM:cents", "acme"], "a customer of that name").await, 7);

    let partition = Order::partition("SUM:cents");
    assert_eq!(orders.list(&partition).collect().await.unwrap(), std::slice::from_ref(&own));
    let prices = orders.list(&partition).project::<Price>().collect().await.unwrap();
    assert_eq!(prices, [Price { number: 1, cents: 3 }]);
    let all = tables.union::<Row>(&partition).collect().await.unwrap();
    assert_eq!(all, [Row::Note(note.clone()), Row::Order(own.clone())]);
    let mut pages = tables.union::<Row>(&partition).pages(1);
    let mut rows = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        rows.extend(page.items);
    }
    assert_eq!(rows, [Row::Note(note), Row::Order(own)]);
    orders.delete_partition(&partition).await.unwrap();
    assert_eq!(check(&orders, &["SUM:cents", "acme"], "the copies stay").await, 4);
}

#[tokio::test]
async fn what_an_ended_process_left_out_of_the_sum_follows_when_it_is_settled() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let orders = orders_in(&Tables::new(Arc::clone(&store))).await;
    // No ticket is made, together or for each total.
    let refused = || Fault::Rejected(ErrorCode::OUT_OF_RANGE_INPUT);
    let lost = (1..=4).fold(Faults::seeded(1), |lost, nth| lost.on("insert", nth, refused()));
    let broken = Tables::new(lost.store(store).unwrap()).repo::<Order>();
    broken.insert(&order("acme", 1, 9)).await.unwrap();
    let acme = Order::partition("acme");
    assert_eq!(orders.sum(&acme, &Order::CENTS).await.unwrap(), 9);
    assert_eq!(orders.sum_over_partitions(&Order::CENTS).await.unwrap(), 0);
    let found = orders.verify_sums(&acme).await.unwrap();
    assert_eq!(found.iter().map(|wrong| wrong.name).collect::<Vec<_>>(), ["cents", "state"]);
    assert!(found.iter().all(|wrong| wrong.problem == SumProblem::CopyPending), "{found:?}");
    let report = orders.settle(&acme).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!(report.settled, 1);
    assert_eq!(check(&orders, &["acme"], "settled").await, 9);
}

#[tokio::test]
async fn copies_that_other_programs_change_are_named_and_repaired() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    orders.insert(&order("acme", 1, 9)).await.unwrap();
    let rows = tables.table(orders.table().clone());
    let copy = DynamicEntity::new("SUM:state", "SUM::open:00:acme").with("Total", 5_i64);
    rows.insert_or_replace(&copy).await.unwrap();
    // Of a total whose row is gone.
    let left = DynamicEntity::new("SUM:cents", "SUM::02:gone").with("Total", 7_i64);
    rows.insert_or_replace(&left).await.unwrap();
    assert_eq!(orders.sum_over_partitions(&Order::CENTS).await.unwrap(), 16);
    for (customer, name, stored, counted) in [("acme", "state", 5, 1), ("gone", "cents", 7, 0)] {
        let partition = Order::partition(customer);
        let found = orders.verify_sums(&partition).await.unwrap();
        let [wrong] = &*found else { panic!("{found:?}") };
        assert_eq!((wrong.name, wrong.stored, wrong.counted), (name, stored, counted));
        assert_eq!(wrong.problem, SumProblem::CopyDiffers);
        assert_eq!(orders.repair_sums(&partition).await.unwrap(), found);
    }
    assert_eq!(check(&orders, &["acme", "gone"], "repaired").await, 9);
    assert_eq!(rows.get("SUM:cents", "SUM::02:gone").await.unwrap(), None);
}

#[tokio::test]
async fn a_sum_that_is_over_partitions_now_is_counted_from_stored_entities() {
    let (tables, record) = recorded_around(EmbeddedStore::in_memory().unwrap());
    let orders = orders_in(&tables).await;
    let before = tables.repo::<Before>();
    for (customer, cents) in [("acme", 9), ("bolt", 4)] {
        let Order { number, state, note, .. } = order(customer, 1, cents);
        let old = Before { customer: customer.into(), number, cents, state, note };
        before.insert(&old).await.unwrap();
    }
    let refused = before.sum_over_partitions(&Before::CENTS).await.unwrap_err();
    assert!(matches!(refused, Error::Sum(SumError::OfOnePartition { name: "cents" })));
    assert!(refused.to_string().contains("over_partitions()"), "{refused}");
    record.take();
    for customer in ["acme", "bolt"] {
        let wrong = orders.repair_sums(Order::partition(customer)).await.unwrap();
        assert!(wrong.iter().all(|wrong| wrong.problem == SumProblem::CopyDiffers), "{wrong:?}");
        assert_eq!(wrong.len(), 2);
    }
    assert_eq!(check(&orders, &["acme", "bolt"], "repaired").await, 13);

    // Other programs wrote an entity: the total and its copy are corrected together.
    let row = DynamicEntity::new("bolt", "ORD:00002").with("Cents", 6_i64).with("State", "paid");
    tables.table(orders.table().clone()).insert(&row).await.unwrap();
    let wrong = orders.repair_sums(Order::partition("bolt")).await.unwrap();
    assert!(wrong.iter().all(|wrong| wrong.problem == SumProblem::Differs), "{wrong:?}");
    assert_eq!(check(&orders, &["acme", "bolt"], "counted again").await, 19);
}

/// A client of a store in which an order changes whenever rows are queried.
fn restless_orders(store: Arc<EmbeddedStore>, orders: &Repo<Order>) -> Repo<Order> {
    let orders = orders.clone();
    let restless = restless(store, move || {
        let orders = orders.clone();
        async move {
            let key = Order::partition("acme").row().number(1);
            orders.update(key, |order| order.cents += 1).await.unwrap();
        }
    });
    Tables::new(restless).on_virtual_time(1).repo()
}

#[tokio::test(start_paused = true)]
async fn a_backfill_names_the_totals_that_never_rest() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let orders = orders_in(&Tables::new(Arc::clone(&store))).await;
    orders.insert(&order("acme", 1, 10)).await.unwrap();
    let busy = restless_orders(store, &orders);
    let report = busy.backfill(Order::partition("acme")).await;
    let skipped: Vec<_> =
        report.skipped.iter().map(|left| (&*left.finding.row_key, left.reason)).collect();
    assert_eq!(skipped, [("SUM:cents:00", SkipReason::Changed)]);
    assert!(report.ended.is_none(), "{report:?}");
}

#[tokio::test]
async fn a_backfill_of_the_table_counts_every_partition_once() {
    let (tables, record) = recorded();
    let orders = orders_in(&tables).await;
    let before = tables.repo::<Before>();
    let old = |n: u32| {
        let Order { number, state, note, .. } = order("", n, 1);
        Before { customer: format!("c{}", n % 3), number, cents: 1, state, note }
    };
    before.insert_many((0..1_200).map(old)).await.all().unwrap();
    record.take();
    let permit = || ScanPermit::because("sums over partitions");
    let done = orders.backfill_table(permit()).await.all().unwrap();
    // The copies of two sums in three partitions.
    assert_eq!((done.entities, done.rows), (1_200, 6));
    let counts = record.take().queries.into_iter().filter(|query| {
        let is_of_orders = format!("{:?}", query.keys.row).contains("ORD:");
        is_of_orders && matches!(query.keys.partition, Span::Exact(_))
    });
    assert_eq!(counts.count(), 3);
    assert_eq!(check(&orders, &["c0", "c1", "c2"], "backfilled").await, 1_200);
    assert_eq!(orders.backfill_table(permit()).await.all().unwrap().rows, 0);
}

/// Totals that have more rows than a transaction takes beside an intent.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "hits", partition = "{page}", row = "{number:05}", sums = Hit::SUMS)]
struct Hit {
    page: String,
    number: u32,
}

impl Hit {
    const COUNT: Sum<Self> = Sum::<Self>::count("hits").shards(100).over_partitions();
    const SUMS: &'static [Sum<Self>] = &[Self::COUNT];
}

#[tokio::test]
async fn a_total_of_a_hundred_rows_is_corrected_in_one_of_them() {
    let (tables, record) = recorded();
    let hits = tables.repo::<Hit>();
    hits.create_table().await.unwrap();
    let home = || Hit::partition("home");
    for number in 0..30 {
        hits.insert(&Hit { page: "home".into(), number }).await.unwrap();
    }
    // Another program deletes one.
    let rows = tables.table(hits.table().clone());
    let one = rows.get("home", "00007").await.unwrap().unwrap();
    rows.delete(&one).await.unwrap();
    record.take();
    let wrong = hits.repair_sums(home()).await.unwrap();
    assert_eq!((wrong[0].stored, wrong[0].counted, wrong.len()), (30, 29, 1));
    assert_eq!(hits.sum(home(), &Hit::COUNT).await.unwrap(), 29);
    assert_eq!(hits.sum_over_partitions(&Hit::COUNT).await.unwrap(), 29);
    assert_eq!(hits.repair_sums(home()).await.unwrap(), []);
}

#[tokio::test]
async fn a_ticket_that_nobody_used_beside_the_copies_is_found_and_deleted_after_a_day() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let (front, clock) = with_clock(store);
    let tables = Tables::new(front);
    let orders = orders_in(&tables).await;
    orders.insert(&order("acme", 1, 5)).await.unwrap();
    let whose = r#"["orders","acme","SUM:cents:00"]"#;
    let ticket = DynamicEntity::new("SUM:cents", "TKT:c8bd9e8b050974a726d5aff7128ab0c3");
    tables.table(orders.table().clone()).insert(&ticket.with("For", whose)).await.unwrap();
    let permit = || ScanPermit::because("test");
    let find = || orders.verify_table(permit());
    assert_eq!(find().await.unwrap().findings, [], "a young ticket may be in use");
    clock.forward(25 * 3600);
    assert_eq!(find().plan().unwrap().steps.len(), 3, "one for each of the two sums");
    let [found] = &find().await.unwrap().findings[..] else { panic!() };
    let keys = (&*found.partition_key, found.canonical.as_deref());
    assert_eq!(keys, ("SUM:cents", Some("SUM:cents:00")));
    assert!(matches!(found.problem, Problem::Leftover { .. }), "{found}");
    let of_entities = find().partition_range("a".to_owned()..).await.unwrap();
    assert_eq!(of_entities.findings, []);
    assert_eq!(orders.verify(Order::partition("acme")).await.unwrap().findings, []);
    assert_eq!(orders.repair([found.clone()]).await.all().unwrap(), 1);
    assert_eq!(find().await.unwrap().findings, []);
    assert_eq!(orders.sum_over_partitions(&Order::CENTS).await.unwrap(), 5);
}
