//! A call that succeeds costs what its plan says: its requests are counted and compared.

// Rows may include the same fields: https://github.com/rust-lang/rust-clippy/issues/13238.
#![allow(clippy::duplicated_attributes)]

use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use support::dose;
use support::recorder::recorded;
use table_orm::embedded::EmbeddedStore;
use table_orm::plan::{Bounds, Cost, Plan, Step};
use table_orm::query::RowQuery;
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use table_orm::{DynamicEntity, Sum, TableEntity, Tables};

/// What was sent and answered.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    transactions: u64,
    rows_read: u64,
    rows_written: u64,
    bytes_up: u64,
}

#[derive(Debug)]
struct Counter {
    inner: Arc<dyn Store>,
    counts: Arc<Mutex<Counts>>,
}

impl Middleware for Counter {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        {
            let mut counts = self.counts.lock().unwrap();
            counts.transactions += 1;
            counts.rows_written += if request.is_write() { request.entities as u64 } else { 0 };
            counts.bytes_up += request.bytes as u64;
        }
        let answer = next.await?;
        self.counts.lock().unwrap().rows_read += answer.rows_returned().unwrap_or_default() as u64;
        Ok(answer)
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "plain", partition = "{customer}", row = "P:{number:05}")]
struct Plain {
    customer: String,
    number: u32,
    cents: i64,
}

/// Index rows, some of which entities lack, and a guard row.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "indexed", partition = "{customer}", unique(cents))]
#[row(by_number, key = "I:{number:05}")]
#[row(by_cents, key = "C:{cents}__{number:05}", when = Indexed::is_dear)]
#[row(by_tag, key = "T:{tag}__{number:05}", each(tag in tags), include(cents))]
struct Indexed {
    customer: String,
    number: u32,
    cents: u32,
    #[table(json)]
    tags: Vec<String>,
}

impl Indexed {
    const fn is_dear(&self) -> bool {
        self.cents > 20
    }
}

/// Totals, of which one is for each group, and events.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "summed", partition = "{customer}", sums = Summed::SUMS, outbox(before, after))]
#[row(by_number, key = "S:{number:05}")]
#[row(by_cents, key = "C:{cents:05}__{number:05}")]
struct Summed {
    customer: String,
    number: u32,
    cents: u32,
}

impl Summed {
    const SUMS: &'static [Sum<Self>] = &[
        Sum::count("summed"),
        Sum::of("cents", |summed: &Self| summed.cents.into()).shards(4),
        Sum::by_group("dear", |summed: &Self| ((summed.cents > 20).to_string(), 1)),
    ];
}

/// Rows in other partitions, and a value that is unique over all of them.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "across", partition = "{customer}", unique(label, across))]
#[row(by_number, key = "A:{number:05}")]
#[row(by_cents, key = "C:{customer}__{number:05}", eventual, partition = "CENTS:{cents:05}")]
#[row(by_label, key = "L:{customer}__{number:05}", eventual, partition = "LABELS", include(cents))]
struct Across {
    customer: String,
    number: u32,
    cents: u32,
    label: String,
}

/// Rows in other partitions that some entities lack, and totals that have copies there.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "spread", partition = "{customer}", sums = Spread::SUMS)]
#[row(by_number, key = "S:{number:05}")]
#[row(by_cents, key = "C:{customer}__{number:05}", eventual, partition = "CENTS:{cents:05}")]
#[row(dear, key = "D:{customer}__{number:05}", eventual, partition = "DEAR", when = Spread::is_dear)]
struct Spread {
    customer: String,
    number: u32,
    cents: u32,
}

impl Spread {
    const SUMS: &'static [Sum<Self>] = &[
        Sum::count("spread").over_partitions(),
        Sum::by_group("price", |spread: &Self| ((spread.cents > 20).to_string(), 1))
            .over_partitions(),
    ];

    const fn is_dear(&self) -> bool {
        self.cents > 20
    }
}

#[derive(Debug, Clone, Copy)]
enum Call {
    Insert,
    Upsert,
    Update,
    UpdateOrInsert,
    TicketsFirst,
    Save,
    Delete,
    ForceDelete,
    InsertMany,
    Get,
    Load,
    List,
    Page,
    Transaction,
    DeletePartition,
    Backfill,
    Rewrite,
}

fn call() -> impl Strategy<Value = Call> {
    use Call::*;
    let calls = vec![
        Insert,
        Insert,
        Insert,
        Upsert,
        Update,
        UpdateOrInsert,
        TicketsFirst,
        Save,
        Delete,
        ForceDelete,
        InsertMany,
        Get,
        Load,
        List,
        Page,
        Transaction,
        DeletePartition,
        Backfill,
        Rewrite,
    ];
    prop::sample::select(calls)
}

/// The repos of one store, whose requests are counted.
struct Shop {
    tables: Tables,
    counts: Arc<Mutex<Counts>>,
}

impl Shop {
    async fn new() -> Self {
        let counts = Arc::<Mutex<Counts>>::default();
        let inner = Arc::new(EmbeddedStore::in_memory().unwrap());
        let store = Counter { inner, counts: Arc::clone(&counts) };
        let tables = Tables::new(store);
        tables.repo::<Plain>().create_table().await.unwrap();
        tables.repo::<Indexed>().create_table().await.unwrap();
        tables.repo::<Summed>().create_table().await.unwrap();
        tables.repo::<Across>().create_table().await.unwrap();
        tables.repo::<Spread>().create_table().await.unwrap();
        Self { tables, counts }
    }

    /// What was counted since the last call, which is forgotten.
    fn counts(&self) -> Counts {
        std::mem::take(&mut *self.counts.lock().unwrap())
    }

    /// Compares what was counted since the last call with the bounds.
    fn check<T>(&self, name: &str, plan: Plan, sent: Result<T, impl std::fmt::Display>) {
        let cost = plan.cost();
        self.check_cost(name, plan, cost, sent);
    }

    fn check_cost<T>(
        &self,
        name: &str,
        plan: Plan,
        cost: Cost,
        sent: Result<T, impl std::fmt::Display>,
    ) {
        let counts = self.counts();
        let Cost { transactions, rows_read, rows_written, bytes_up, .. } = cost;
        let context = || format!("{name}: {counts:?}\n{plan:#}");
        // The least is what a call that succeeds needs.
        let Ok(_) = sent else { return };
        assert!(transactions.contains(counts.transactions), "transactions of {}", context());
        assert!(rows_read.contains(counts.rows_read), "rows read of {}", context());
        assert!(rows_written.contains(counts.rows_written), "rows written of {}", context());
        assert!(bytes_up.contains(counts.bytes_up), "bytes of {}", context());
    }
}

/// Makes a call of a type, and compares its cost.
macro_rules! calls {
    ($name:ident, $ty:ident { $($field:ident: $value:expr),* }, $row:ident($number:ident, $cents:ident)) => {
        async fn $name(shop: &Shop, call: Call, number: u32, cents: u32) {
            let repo = shop.tables.repo::<$ty>();
            let customer = Customer::of(number);
            let made = |$number: u32, $cents: u32| $ty {
                customer: Customer::of($number).to_owned(),
                number: $number,
                $($field: $value),*
            };
            let entity = made(number, cents);
            let partition = $ty::partition(customer);
            let key = partition.$row().number(number);
            let name = format!("{call:?} of {}", stringify!($ty));
            macro_rules! check {
                ($call:expr) => {{
                    let plan = $call.plan().unwrap();
                    let sent = $call.await;
                    shop.check(&name, plan, sent);
                }};
            }
            macro_rules! check_list {
                ($list:expr, $last:ident($size:expr)) => {{
                    let plan = $list.plan().unwrap();
                    let sent = $list.$last($size).next().await;
                    shop.check(&name, plan, sent);
                }};
                ($list:expr, $last:ident()) => {{
                    let plan = $list.plan().unwrap();
                    let sent = $list.$last().await;
                    shop.check(&name, plan, sent);
                }};
            }
            // The cost is known once the entities are counted.
            macro_rules! check_found {
                ($call:expr) => {
                    check_found!($call, sent: $call.await)
                };
                ($call:expr, sent: $sent:expr) => {{
                    let found = repo.list(&partition).explain().await.unwrap().matching;
                    let plan = $call.plan().unwrap();
                    shop.counts();
                    let sent = $sent;
                    let (unknown, known) = (plan.cost(), plan.cost_of(found));
                    assert_eq!(unknown.rows_written.least, 0);
                    assert!(known.rows_read.least >= found);
                    shop.check_cost(&name, plan, known, sent);
                }};
            }
            match call {
                Call::DeletePartition => check_found!(repo.delete_partition(&partition)),
                Call::Backfill => {
                    let backfill = || repo.backfill(&partition);
                    check_found!(backfill(), sent: backfill().await.all());
                }
                Call::Rewrite => {
                    let rewrite = || repo.rewrite_partition(&partition);
                    check_found!(rewrite(), sent: rewrite().await.all());
                }
                Call::Insert => check!(repo.insert(&entity)),
                Call::Upsert => check!(repo.upsert(&entity)),
                Call::Update => check!(repo.update(&key, |_| {})),
                Call::UpdateOrInsert => {
                    let change = |entity: &mut $ty| {
                        let changed = made(entity.number, cents);
                        $(entity.$field = changed.$field.clone();)*
                    };
                    check!(repo.update(&key, change).or_insert_with(|| made(number, cents)));
                }
                Call::TicketsFirst => {
                    let new = made(number, cents);
                    let change = |entity: &mut $ty| {
                        $(entity.$field = new.$field.clone();)*
                    };
                    check!(repo.update(&key, change).tickets_first());
                }
                Call::Save => {
                    let loaded = repo.load(&key).await.unwrap().one();
                    shop.counts();
                    let Ok(loaded) = loaded else { return };
                    let mut changed = loaded.clone();
                    let new = made(number, cents);
                    $(changed.$field = new.$field.clone();)*
                    let plan = repo.save(&mut changed.clone()).plan().unwrap();
                    let sent = repo.save(&mut changed).await;
                    shop.check(&name, plan, sent);
                }
                Call::Delete => {
                    let loaded = repo.load(&key).await.unwrap().one();
                    shop.counts();
                    let Ok(loaded) = loaded else { return };
                    check!(repo.delete(loaded.clone()));
                }
                Call::ForceDelete => check!(repo.force_delete(&entity)),
                Call::InsertMany => {
                    let many: Vec<_> = (number..number + 7).map(|n| made(n, n + cents)).collect();
                    let plan = repo.insert_many(many.clone()).plan().unwrap();
                    let report = repo.insert_many(many).await;
                    let sent = if report.failures.is_empty() { Ok(()) } else { Err("some failed") };
                    shop.check(&name, plan, sent);
                }
                Call::Get => check!(repo.get(&key)),
                Call::Load => {
                    let plan = repo.load(&key).plan().unwrap();
                    let sent = repo.load(&key).await;
                    shop.check(&name, plan, sent);
                }
                Call::List => check_list!(repo.list(partition.$row()), collect()),
                Call::Page => check_list!(repo.list(partition.$row().number_in(number..)), pages(3)),
                Call::Transaction => {
                    let other = made(number + 500, cents);
                    let both = || repo.transaction(&partition).insert(&entity).insert(&other);
                    if Customer::of(number + 500) == customer {
                        let plan = both().plan().unwrap();
                        let sent = both().commit().await;
                        shop.check(&name, plan, sent);
                    }
                }
            }
        }
    };
}

/// Two partitions.
struct Customer;

impl Customer {
    const fn of(number: u32) -> &'static str {
        if number % 8 < 4 { "acme" } else { "beta" }
    }
}

calls!(plain, Plain { cents: i64::from(cents) }, row(number, cents));
calls!(
    indexed,
    Indexed { cents: cents, tags: vec!["a".into(), cents.to_string()] },
    by_number(number, cents)
);
calls!(summed, Summed { cents: cents }, by_number(number, cents));
calls!(
    across,
    Across { cents: cents, label: format!("{number}-{cents}") },
    by_number(number, cents)
);

calls!(spread, Spread { cents: cents }, by_number(number, cents));

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(12, 400)))]

    #[test]
    fn a_call_costs_what_its_plan_says(
        calls in prop::collection::vec((call(), 0..5_usize, 0..12_u32, 0..40_u32), 1..24),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let shop = Shop::new().await;
            shop.counts();
            for (call, ty, number, cents) in calls {
                match ty {
                    0 => plain(&shop, call, number, cents).await,
                    1 => indexed(&shop, call, number, cents).await,
                    2 => summed(&shop, call, number, cents).await,
                    3 => across(&shop, call, number, cents).await,
                    _ => spread(&shop, call, number, cents).await,
                }
                shop.counts();
            }
        });
    }
}

#[tokio::test]
async fn the_cost_of_an_insert_is_exact_where_no_row_is_elsewhere() {
    let shop = Shop::new().await;
    let tags = vec!["a".to_owned(), "b".to_owned()];
    let entity = Indexed { customer: "acme".into(), number: 1, cents: 30, tags };
    let plan = shop.tables.repo::<Indexed>().insert(&entity).plan().unwrap();
    shop.counts();
    shop.tables.repo::<Indexed>().insert(&entity).await.unwrap();
    let counts = shop.counts();
    // The canonical row, its guard, and the index rows.
    let cost = plan.cost();
    assert_eq!((counts.transactions, counts.rows_written), (1, 5));
    assert_eq!(cost.transactions, Bounds { least: 1, most: Some(1) });
    assert_eq!(cost.rows_written, Bounds { least: 5, most: Some(5) });
    assert_eq!(cost.bytes_up, Bounds { least: counts.bytes_up, most: Some(counts.bytes_up) });
    let text = format!("1 billed transaction; writes 5 rows, {} bytes up", counts.bytes_up);
    assert_eq!(cost.to_string(), text);
}

#[tokio::test]
async fn the_cost_of_rows_in_other_partitions_is_known_to_one_request() {
    let shop = Shop::new().await;
    let entity = Across { customer: "acme".into(), number: 1, cents: 30, label: "x".into() };
    let insert = || shop.tables.repo::<Across>().insert(&entity);
    let Bounds { least, most } = insert().plan().unwrap().cost().transactions;
    shop.counts();
    insert().await.unwrap();
    // A reservation of two requests, the entity, two requests in each of two partitions, a read, and the end.
    assert_eq!(shop.counts().transactions, 9);
    assert_eq!((least, most), (8, Some(9)));
}

#[tokio::test]
async fn what_the_answer_decides_of_other_partitions_has_a_bound() {
    let shop = Shop::new().await;
    let across = shop.tables.repo::<Across>();
    let of_label =
        |label: &str| Across { customer: "acme".into(), number: 1, cents: 30, label: label.into() };
    let key = || Across::partition("acme").by_number().number(1);
    let most = |plan: Plan| {
        let Cost { transactions, rows_read, rows_written, bytes_up, .. } = plan.cost();
        assert!(rows_read.most.is_some() && rows_written.most.is_some(), "{plan:#}");
        assert!(bytes_up.most.is_some(), "{plan:#}");
        (transactions.least, transactions.most)
    };
    // The read and the transaction. Two rows before and two after, each with a ticket and a transaction; a read, and the
    // delete of the intent. A ticket and a guard of a new value. Three reads and two deletes of an old one.
    let changed = (1, Some(2 + 8 + 2 + 2 + 5));
    assert_eq!(most(across.upsert(&of_label("x")).plan().unwrap()), changed);
    assert_eq!(most(across.update(key(), |_| {}).plan().unwrap()), changed);
    let many = across.upsert_many([of_label("x"), Across { number: 2, ..of_label("y") }]);
    assert_eq!(most(many.plan().unwrap()), (2, Some(2 * 19)));
    // With tickets first, nothing is read again.
    let tickets_first = across.update(key(), |_| {}).tickets_first();
    assert_eq!(most(tickets_first.plan().unwrap()), (1, Some(18)));
    // A delete takes no value, and has no rows after it.
    assert_eq!(most(across.force_delete(&of_label("x")).plan().unwrap()), (1, Some(2 + 4 + 2 + 5)));
    let delete = across.delete_partition(Across::partition("acme")).plan().unwrap();
    let of_each = 1 + 4 + 2 + 5;
    let cost = delete.cost_of(10);
    assert_eq!(cost.transactions, Bounds { least: 2, most: None });
    assert_eq!(cost.rows_written, Bounds { least: 10, most: Some(10 * (2 + 6 + 1 + 2)) });
    let Some(Step::WriteFound { of_each: cost, .. }) = delete.steps.last() else {
        panic!("{delete}")
    };
    assert_eq!(cost.all().transactions, Bounds { least: 0, most: Some(of_each) });

    let text = across.upsert(&of_label("x")).plan().unwrap().cost().to_string();
    assert!(text.ends_with(" MiB up"), "{text}");

    // Moved to another partition and another value, it takes nearly as many.
    across.insert(&of_label("x")).await.unwrap();
    shop.counts();
    let change = |across: &mut Across| (across.cents, across.label) = (31, "y".to_owned());
    across.update(key(), change).await.unwrap();
    assert_eq!(shop.counts().transactions, 16);
}

#[tokio::test]
async fn what_a_query_reads_is_counted_by_keys_alone() {
    let (tables, record) = recorded();
    let plain = tables.repo::<Plain>();
    plain.create_table().await.unwrap();
    let entities = (0..1_100).map(|number| Plain {
        customer: "acme".into(),
        number,
        cents: i64::from(number % 10),
    });
    assert!(plain.insert_many(entities).await.failures.is_empty());
    // Its key is in the range, but it is of another type.
    let other = DynamicEntity::new("acme", "P:x");
    tables.table(plain.table().clone()).insert(&other).await.unwrap();
    record.take();
    let is_of_keys = |query: &RowQuery| {
        query.select.as_ref().is_some_and(|names| names.iter().all(|name| name != "Cents"))
    };
    let all = plain.list(Plain::partition("acme").row());
    let explained = all.clone().explain().await.unwrap();
    assert_eq!((explained.in_range, explained.matching, explained.transactions), (1_101, 1_100, 2));
    let sent = record.take();
    assert_eq!((sent.gets, sent.queries.len(), sent.writes.len()), (0, 2, 0));
    assert!(sent.queries.iter().all(is_of_keys), "{sent:?}");
    let tenth = all.filter(|row| row.cents.eq(3_i64)).take(5).explain().await.unwrap();
    assert_eq!((tenth.in_range, tenth.matching), (1_101, 110));
    assert_eq!((tenth.transactions, tenth.transactions_unfiltered), (1, 2));
    let sent = record.take();
    assert!(sent.queries.iter().all(is_of_keys), "{sent:?}");
    assert_eq!(
        tenth.to_string(),
        "110 of 1101 rows in the range match (10.0 %); 1 billed transaction, 2 without the filter"
    );
}
