//! Sequences: every number is given once; without gaps where entities are inserted with it.
//!
//! Time is virtual where there are faults.

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use support::recorder::{recorded, recorded_in};
use support::{dose, on_virtual_time};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{FaultStore, Faults, Retry, RetryStrategy as Wait};
use table_orm::model::Edm;
use table_orm::repo::{MAX_BLOCK, SequenceError, TransactionError};
use table_orm::store::Store;
use table_orm::{DynamicEntity, Error, Repo, TableEntity, TableName, Tables};
use tokio::time::{advance, sleep};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "invoices", partition = "{customer}", row = "{number:08}")]
struct Invoice {
    customer: String,
    number: u32,
    writer: u32,
}

/// An entity of two rows.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "invoices", partition = "{customer}")]
#[row(by_number, key = "BILL:{number:08}")]
#[row(by_writer, key = "BY:{writer}__{number:08}")]
struct Bill {
    customer: String,
    number: u64,
    writer: u32,
}

/// An entity of another table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "letters", partition = "{customer}", row = "{number:08}")]
struct Letter {
    customer: String,
    number: u64,
}

const NUMBERS: &str = "SEQ:numbers";

fn set_number(invoice: &mut Invoice, number: u64) {
    invoice.number = number as u32;
}

fn invoices_of(writer: u32, count: usize) -> Vec<Invoice> {
    vec![Invoice { customer: "acme".into(), number: 0, writer }; count]
}

fn sequence(tables: &Tables) -> table_orm::repo::Sequence {
    tables.sequence(Invoice::partition("acme"), "numbers")
}

async fn with_table(tables: Tables) -> Tables {
    tables.repo::<Invoice>().create_table().await.unwrap();
    tables
}

async fn stored(tables: &Tables) -> Vec<Invoice> {
    tables.repo::<Invoice>().list(Invoice::partition("acme")).collect().await.unwrap()
}

async fn next_stored(tables: &Tables) -> i64 {
    let rows = tables.table(TableName::new("invoices").unwrap());
    let row = rows.get("acme", NUMBERS).await.unwrap().unwrap();
    match row.properties["Next"] {
        Edm::Int64(next) => next,
        ref other => panic!("{other:?}"),
    }
}

/// A service that fails, and tables of several processes on it.
struct Outage {
    below: Tables,
    flaky: FaultStore,
    retry: Option<Retry>,
    seed: u64,
}

impl Outage {
    /// Every third seed has no retries, and every other one no write id.
    async fn new(seed: u64) -> Self {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
        let below = with_table(Tables::new(Arc::clone(&store))).await;
        let faults = Faults::seeded(seed).throttled(0.05).errors_before(0.02).errors_after(0.05);
        let faults = faults.lost_requests(0.02).lost_replies(0.1).late(0.05).slow(0.2);
        let flaky = faults.store(store).unwrap();
        let retry = Retry::new(Wait::Fixed { retries: 3, wait: Duration::from_millis(300) })
            .attempt_timeout(Duration::from_millis(1500))
            .seed(seed);
        let retry = match seed % 3 {
            0 => None,
            1 => Some(retry.write_id("WriteId")),
            _ => Some(retry),
        };
        Self { below, flaky, retry, seed }
    }

    fn connect(&self, process: u64) -> Tables {
        let tables = Tables::new(self.flaky.clone());
        let tables = match self.retry.clone() {
            Some(retry) => tables.layer(retry).unwrap(),
            None => tables,
        };
        tables.on_virtual_time(self.seed * 1000 + process)
    }

    /// Waits until abandoned writes have arrived.
    async fn end(&self) {
        self.flaky.disable();
        sleep(Duration::from_secs(60)).await;
    }
}

#[tokio::test]
async fn numbers_count_from_one_or_from_the_start_that_is_set() {
    let tables = with_table(Tables::in_memory().unwrap()).await;
    let numbers = sequence(&tables);
    for number in 1..100 {
        assert_eq!(numbers.next().await.unwrap(), number);
    }
    assert_eq!(numbers.clone().next().await.unwrap(), 100, "a clone shares the block");
    let later = tables.sequence(Invoice::partition("acme"), "others").starting_at(5000);
    assert_eq!(later.next().await.unwrap(), 5000);
    let stored = tables.sequence(Invoice::partition("acme"), "others").starting_at(1);
    assert_eq!(stored.next().await.unwrap(), 5001, "a row that exists goes on");
    let elsewhere = tables.sequence(Invoice::partition("bolt"), "numbers");
    assert_eq!(elsewhere.next().await.unwrap(), 1);
    assert_eq!(super::sequence::stored(&tables).await, [], "its row is no entity's");
}

#[tokio::test(start_paused = true)]
async fn a_block_costs_one_request_alone_and_two_beside_others() {
    let store = EmbeddedStore::in_memory().unwrap();
    let (tables, record) = recorded_in(store.clone());
    let numbers = sequence(&with_table(tables.on_virtual_time(1)).await);
    let other = sequence(&Tables::new(store));
    record.take();
    // 1 + 2 + 4 + .. + 1024: eleven blocks, the first after a read.
    for _ in 0..2047 {
        numbers.next().await.unwrap();
    }
    let requests = record.take();
    assert_eq!((requests.gets, requests.writes.len()), (1, 11));
    // 2048, 4096, 8192, and then no more than the largest block.
    for _ in 0..2048 + 4096 + 8192 + 2 * MAX_BLOCK {
        numbers.next().await.unwrap();
    }
    let requests = record.take();
    assert_eq!((requests.gets, requests.writes.len()), (0, 5));
    other.next().await.unwrap();
    numbers.next().await.unwrap();
    let requests = record.take();
    assert_eq!((requests.gets, requests.writes.len()), (1, 2), "one lost, a read, one more");
}

#[tokio::test(start_paused = true)]
async fn a_block_that_lasts_long_is_followed_by_one_of_its_size() {
    let (tables, record) = recorded();
    let numbers = sequence(&with_table(tables.on_virtual_time(1)).await);
    for _ in 0..3 {
        numbers.next().await.unwrap();
    }
    record.take();
    for _ in 0..10 {
        advance(Duration::from_secs(10)).await;
        numbers.next().await.unwrap();
        numbers.next().await.unwrap();
    }
    assert_eq!(record.take().writes.len(), 10, "blocks of two");
}

#[tokio::test(start_paused = true)]
async fn no_number_is_given_twice_whatever_fails() {
    for seed in 0..dose(12, 200) {
        let outage = Outage::new(seed).await;
        let contenders = (0..32).map(|contender| {
            // Four of each process, two of them with blocks of their own.
            let tables = outage.connect(contender / 4);
            async move {
                let shared = sequence(&tables);
                let mut given = Vec::new();
                for _ in 0..20 {
                    let own = sequence(&tables);
                    let numbers = if contender % 2 == 0 { &own } else { &shared };
                    match numbers.next().await {
                        Ok(number) => given.push(number),
                        Err(
                            Error::Throttled(_)
                            | Error::Unavailable(_)
                            | Error::Ambiguous(_)
                            | Error::Conflict(_),
                        ) => {}
                        Err(error) => panic!("seed {seed}: {error}"),
                    }
                }
                given
            }
        });
        let given = join_all(contenders.map(tokio::spawn)).await;
        outage.end().await;
        let given: Vec<u64> = given.into_iter().flat_map(Result::unwrap).collect();
        let distinct: BTreeSet<_> = given.iter().copied().collect();
        assert!(given.len() > 100, "seed {seed}: {} numbers", given.len());
        assert_eq!(distinct.len(), given.len(), "seed {seed}");
        let next = next_stored(&outage.below).await as u64;
        assert!(distinct.iter().all(|number| (1..next).contains(number)), "seed {seed}");
    }
}

/// What a contender inserted: the numbers, or none, or not known.
type Inserted = Result<Vec<u64>, bool>;

async fn insert_some(tables: Tables, writer: u32, calls: usize, count: usize) -> Vec<Inserted> {
    let numbers = sequence(&tables);
    let mut inserted = Vec::new();
    for _ in 0..calls {
        let mut invoices = invoices_of(writer, count);
        inserted.push(match numbers.insert_numbered(&mut invoices, set_number).await {
            Ok(given) => {
                let set: Vec<_> = invoices.iter().map(|one| u64::from(one.number)).collect();
                assert_eq!(set, given.collect::<Vec<_>>());
                Ok(set)
            }
            Err(Error::Throttled(_) | Error::Conflict(_)) => Err(false),
            Err(Error::Unavailable(_) | Error::Ambiguous(_)) => Err(true),
            Err(error) => panic!("{error}"),
        });
    }
    inserted
}

/// Checks that stored numbers have no gap, and are those that the contenders were given.
async fn check_numbered(outage: &Outage, all: Vec<(u32, Vec<Inserted>)>, count: usize) {
    let seed = outage.seed;
    let stored = stored(&outage.below).await;
    let numbers: Vec<_> = stored.iter().map(|invoice| u64::from(invoice.number)).collect();
    assert_eq!(numbers, (1..=stored.len() as u64).collect::<Vec<_>>(), "seed {seed}: no gap");
    if !stored.is_empty() {
        let next = next_stored(&outage.below).await;
        assert_eq!(next, stored.len() as i64 + 1, "seed {seed}");
    }
    for (writer, calls) in all {
        let own = stored.iter().filter(|invoice| invoice.writer == writer);
        let own: BTreeSet<_> = own.map(|invoice| u64::from(invoice.number)).collect();
        let given: Vec<_> = calls.iter().flatten().flatten().copied().collect();
        let unknown = calls.iter().filter(|call| matches!(call, Err(true))).count();
        assert!(given.iter().all(|number| own.contains(number)), "seed {seed}: {given:?} {own:?}");
        assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), given.len(), "seed {seed}");
        assert!(own.len() - given.len() <= unknown * count, "seed {seed}: {calls:?} {own:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn numbers_without_gaps_stay_so_whatever_fails() {
    let (mut done, mut unknown) = ([0; 3], [0; 3]);
    for seed in 0..dose(12, 200) {
        let outage = Outage::new(seed).await;
        let kind = (seed % 3) as usize;
        let contenders = (0..32).map(|contender| {
            tokio::spawn(insert_some(outage.connect(contender / 4), contender as u32, 3, 2))
        });
        let inserted = join_all(contenders.collect::<Vec<_>>()).await;
        outage.end().await;
        let inserted: Vec<_> = (0..).zip(inserted.into_iter().map(Result::unwrap)).collect();
        let calls = || inserted.iter().flat_map(|(_, calls)| calls);
        done[kind] += calls().filter(|call| call.is_ok()).count();
        unknown[kind] += calls().filter(|call| matches!(call, Err(true))).count();
        check_numbered(&outage, inserted, 2).await;
    }
    println!("{done:?} done, {unknown:?} unknown");
    // Without retries, most faults end a call; a write that had no effect counts as not known, too.
    let [_, with_id, without_id] = [0, 1, 2].map(|kind| done[kind] > 20 * unknown[kind]);
    assert!(with_id && without_id, "{done:?} done, {unknown:?} unknown");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(24, 400)))]

    #[test]
    fn any_mix_of_contenders_and_faults_leaves_no_gap(
        seed in any::<u32>(),
        contenders in prop::collection::vec((1_usize..4, 0_u64..3), 1..6),
        count in 1_usize..5,
    ) {
        on_virtual_time(async {
            let outage = Outage::new(u64::from(seed)).await;
            let calls = (0..).zip(&contenders).map(|(writer, (calls, process))| {
                let inserts = insert_some(outage.connect(*process), writer, *calls, count);
                async move { (writer, inserts.await) }
            });
            // Calls of one process, too, with connections of their own.
            let inserted = join_all(calls).await;
            outage.end().await;
            check_numbered(&outage, inserted, count).await;
        });
    }
}

#[tokio::test]
async fn contenders_of_one_process_insert_one_after_the_other() {
    let (tables, record) = recorded();
    let tables = with_table(tables).await;
    record.take();
    let numbers = sequence(&tables);
    let inserts = (0..32).map(|writer| {
        let numbers = numbers.clone();
        async move {
            let mut one = invoices_of(writer, 1);
            numbers.insert_numbered(&mut one, set_number).await.unwrap();
        }
    });
    join_all(inserts).await;
    let requests = record.take();
    assert_eq!(requests.gets, 1, "the version is kept");
    assert_eq!(requests.writes, [2; 32]);
    assert_eq!(stored(&tables).await.len(), 32);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_found_in_the_row_of_the_sequence() {
    use table_orm::layer::Fault;
    for fault in [Fault::LostReply, Fault::LostRequest, Fault::Late] {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
        let below = with_table(Tables::new(Arc::clone(&store))).await;
        let flaky = Faults::seeded(1).on("commit", 2, fault).store(store).unwrap();
        let numbers = sequence(&Tables::new(flaky).on_virtual_time(1));
        for number in 1..4 {
            let given = numbers.insert_numbered(&mut invoices_of(7, 1), set_number).await.unwrap();
            assert_eq!(given, number..number + 1);
        }
        sleep(Duration::from_secs(60)).await;
        assert_eq!(stored(&below).await.len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn of_several_lost_answers_the_row_shows_which_write_took_effect() {
    use table_orm::layer::Fault::{Late, LostReply, LostRequest};
    for faults in [
        vec![LostRequest, LostReply],
        vec![LostRequest, LostRequest, LostReply],
        vec![Late, LostReply],
    ] {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
        let below = with_table(Tables::new(Arc::clone(&store))).await;
        let mut flaky = Faults::seeded(1);
        for (fault, at) in faults.iter().zip(2..) {
            flaky = flaky.on("commit", at, fault.clone());
        }
        let numbers = sequence(&Tables::new(flaky.store(store).unwrap()).on_virtual_time(1));
        for number in 1..4 {
            let given = numbers.insert_numbered(&mut invoices_of(7, 1), set_number).await;
            assert_eq!(given.unwrap(), number..number + 1, "{faults:?}");
        }
        sleep(Duration::from_secs(60)).await;
        assert_eq!(stored(&below).await.len(), 3);
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_no_gap_and_no_number_twice() {
    let tables = with_table(Tables::in_memory().unwrap()).await;
    let numbers = sequence(&tables);
    for _ in 0..20 {
        let mut dropped = invoices_of(1, 1);
        let _ = numbers.insert_numbered(&mut dropped, set_number).now_or_never();
        let _ = numbers.next().now_or_never();
        numbers.insert_numbered(&mut invoices_of(2, 1), set_number).await.unwrap();
        numbers.next().await.unwrap();
    }
    let kept = stored(&tables).await;
    assert!(kept.iter().filter(|invoice| invoice.writer == 2).count() == 20, "{kept:?}");
}

#[tokio::test]
async fn what_cannot_be_numbered_is_a_typed_error_and_takes_no_number() {
    let tables = with_table(Tables::in_memory().unwrap()).await;
    let numbers = sequence(&tables);
    let many = numbers.insert_numbered(&mut invoices_of(1, 100), set_number).await;
    let Err(Error::Transaction(TransactionError::TooManyOperations { found: 101, .. })) = many
    else {
        panic!("{many:?}");
    };
    let mut elsewhere = [Invoice { customer: "bolt".into(), number: 0, writer: 1 }];
    let elsewhere = numbers.insert_numbered(&mut elsewhere, set_number).await;
    let Err(Error::Transaction(TransactionError::OtherPartition { .. })) = elsewhere else {
        panic!("{elsewhere:?}");
    };
    let mut letter = [Letter { customer: "acme".into(), number: 0 }];
    let letter = numbers.insert_numbered(&mut letter, |letter, next| letter.number = next).await;
    let Err(Error::Transaction(TransactionError::OtherTable { .. })) = letter else {
        panic!("{letter:?}");
    };
    let named = tables.sequence(Invoice::partition("acme"), "a/b").next().await;
    assert!(matches!(&named, Err(Error::Key(error)) if error.component == "name"), "{named:?}");
    assert_eq!(numbers.insert_numbered(&mut [], set_number).await.unwrap(), 0..0);
    assert_eq!(numbers.insert_numbered(&mut invoices_of(1, 99), set_number).await.unwrap(), 1..100);

    // An entity under the next number, which another program inserted.
    let invoices = tables.repo::<Invoice>();
    let there = Invoice { customer: "acme".into(), number: 100, writer: 9 };
    invoices.insert(&there).await.unwrap();
    let taken = numbers.insert_numbered(&mut invoices_of(1, 1), set_number).await;
    assert!(matches!(&taken, Err(Error::AlreadyExists(_))), "{taken:?}");
    assert_eq!(next_stored(&tables).await, 100);
}

#[tokio::test]
async fn entities_of_several_rows_are_numbered_whole() {
    let tables = with_table(Tables::in_memory().unwrap()).await;
    let bills: Repo<Bill> = tables.repo();
    let numbers = bills.sequence(Bill::partition("acme"), "bills");
    let mut two = [1, 2].map(|writer| Bill { customer: "acme".into(), number: 0, writer });
    numbers.insert_numbered(&mut two, |bill, number| bill.number = number).await.unwrap();
    let of_two = bills.list(Bill::partition("acme").by_writer().writer(2));
    assert_eq!(of_two.one().await.unwrap().number, 2);
}

#[tokio::test]
async fn numbers_end_before_the_largest_int64() {
    let tables = with_table(Tables::in_memory().unwrap()).await;
    let last = i64::MAX as u64 - 2;
    let numbers = sequence(&tables).starting_at(last);
    let bills = numbers.insert_numbered(&mut invoices_of(1, 3), |_, _| {}).await;
    assert!(
        matches!(&bills, Err(Error::Sequence(SequenceError::Exhausted { count: 3, .. }))),
        "{bills:?}"
    );
    assert_eq!(numbers.next().await.unwrap(), last);
    assert_eq!(numbers.next().await.unwrap(), last + 1);
    let end = numbers.next().await;
    assert!(matches!(&end, Err(Error::Sequence(SequenceError::Exhausted { .. }))), "{end:?}");
}

#[tokio::test]
async fn a_row_that_is_not_a_sequence_is_an_error_that_names_it() {
    let tables = with_table(Tables::in_memory().unwrap()).await;
    let rows = tables.table(TableName::new("invoices").unwrap());
    for row in [
        DynamicEntity::new("acme", NUMBERS),
        DynamicEntity::new("acme", NUMBERS).with("Next", -5_i64),
        DynamicEntity::new("acme", NUMBERS).with("Next", "seven"),
    ] {
        rows.insert_or_replace(&row).await.unwrap();
        let error = sequence(&tables).next().await.unwrap_err();
        let Error::Property(error) = &error else { panic!("{error}") };
        assert_eq!((&*error.property, &*error.row_key), ("Next", NUMBERS), "{error}");
    }
    // Other programs may have written it without ids.
    let row = DynamicEntity::new("acme", NUMBERS).with("Next", 7_i64);
    rows.insert_or_replace(&row).await.unwrap();
    assert_eq!(sequence(&tables).next().await.unwrap(), 7);
}

/// An order that is found by its day, too.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "invoices", partition = "{customer}", row = "ORDER:{number:08}")]
#[row(by_day, partition = "{day}", key = "DAY:{number:08}__{customer}", eventual)]
struct Order {
    customer: String,
    number: u32,
    day: String,
}

#[tokio::test(start_paused = true)]
async fn rows_in_other_partitions_follow_numbers_whose_answer_was_lost() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    Tables::new(Arc::clone(&store)).repo::<Order>().create_table().await.unwrap();
    let lost = Faults::seeded(1).on("commit", 1, table_orm::layer::Fault::LostReply);
    let tables = Tables::new(lost.store(store.clone()).unwrap()).on_virtual_time(1);
    let order = Order { customer: "acme".into(), number: 0, day: "2026-11-23".into() };
    let mut orders = [order.clone(), order];
    let numbers = tables.sequence(Order::partition("acme"), "orders");
    let given = numbers.insert_numbered(&mut orders, |order, number| order.number = number as u32);
    assert_eq!(given.await.unwrap(), 1..3);
    let stored = Tables::new(store).repo::<Order>();
    assert_eq!(stored.list(Order::by_day("2026-11-23")).collect().await.unwrap(), orders);
    let left = stored.settle(Order::partition("acme")).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!(left.settled, 0);
}
