use crate::subject::Subject;
use std::ops::Bound;
use table_orm::model::{DateTime, Edm};
use table_orm::property::PropertyFault;
use table_orm::query::{Column, Comparison, Condition, Filter};
use table_orm::store::ErrorCode;
use table_orm::{DynamicEntity, Error, TableEntity};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
];

/// Rows `0` to `9` with a value of every type that sorts as the row does.
async fn fill(subject: &Subject) {
    let table = subject.dynamic();
    for n in 0..10_u8 {
        table.insert(&row(n)).await.unwrap();
    }
}

fn row(n: u8) -> DynamicEntity {
    DynamicEntity::new("p", n.to_string())
        .with("String", format!("name {n}"))
        .with("Int32", i32::from(n) - 5)
        .with("Int64", i64::from(n) + 9_007_199_254_740_993)
        .with("Double", f64::from(n) + 0.5)
        .with("Boolean", n > 4)
        .with("DateTime", instant(n))
        .with("Guid", Uuid::from_u128(u128::from(n) + 0xAB00))
        .with("Binary", vec![0xF0, n])
}

/// Azurite compares instants to the millisecond.
fn instant(n: u8) -> DateTime {
    format!("2011-11-06T09:10:00.00{n}Z").parse().unwrap()
}

async fn found(subject: &Subject, filter: Filter) -> String {
    let rows = subject.dynamic().list("p", ..).filter(filter).collect().await.unwrap();
    rows.iter().map(|row| &*row.row_key).collect()
}

pub async fn of_every_type_find_their_rows(subject: Subject) {
    fill(&subject).await;
    for (name, value) in row(7).properties {
        let compare = |comparison| Filter::compare(name.clone(), comparison, value.clone());
        let equal = if let Edm::Boolean(_) = value { "56789" } else { "7" };
        assert_eq!(found(&subject, compare(Comparison::Equal)).await, equal, "{name}");
        // Azurite orders GUIDs by their base64 text, and does not order binaries and truth values.
        if !matches!(value, Edm::Boolean(_) | Edm::Binary(_) | Edm::Guid(_)) {
            for (comparison, expected) in [
                (Comparison::NotEqual, "012345689"),
                (Comparison::Greater, "89"),
                (Comparison::GreaterOrEqual, "789"),
                (Comparison::Less, "0123456"),
                (Comparison::LessOrEqual, "01234567"),
            ] {
                let found = found(&subject, compare(comparison)).await;
                assert_eq!(found, expected, "{name} {}", comparison.name());
            }
        }
    }
}

pub async fn are_joined(subject: Subject) {
    fill(&subject).await;
    let at_least = |n: i32| Filter::compare("Int32", Comparison::GreaterOrEqual, n - 5);
    let below = |n: i32| Filter::compare("Int32", Comparison::Less, n - 5);
    assert_eq!(found(&subject, at_least(3).and(below(6))).await, "345");
    assert_eq!(found(&subject, below(2).or(at_least(8))).await, "0189");
    assert_eq!(found(&subject, !(below(2).or(at_least(4)))).await, "23");
    assert_eq!(found(&subject, below(2).or(at_least(8)).and(at_least(1))).await, "189");
}

pub async fn take_text_as_text(subject: Subject) {
    let table = subject.dynamic();
    let texts = ["O'Brien", "x' or 'a' eq 'a", "a&b=c#d+e%20", "\u{1F3C3} \"q\"", "--", ""];
    for (index, text) in texts.iter().enumerate() {
        let row = DynamicEntity::new("p", index.to_string()).with("Text", *text);
        table.insert(&row).await.unwrap();
    }
    for (index, text) in texts.iter().enumerate() {
        let filter = Filter::compare("Text", Comparison::Equal, *text);
        assert_eq!(found(&subject, filter).await, index.to_string(), "{text}");
    }
    let forged = Filter::compare("Text eq '' or Text", Comparison::NotEqual, "");
    assert!(
        table.list("p", ..).filter(forged).collect().await.map_or(true, |rows| rows.is_empty())
    );
}

/// Whether a comparison of two numbers holds, by IEEE 754.
fn holds(comparison: Comparison, stored: f64, value: f64) -> bool {
    match comparison {
        Comparison::Equal => stored == value,
        Comparison::NotEqual => stored != value,
        Comparison::Greater => stored > value,
        Comparison::GreaterOrEqual => stored >= value,
        Comparison::Less => stored < value,
        Comparison::LessOrEqual => stored <= value,
    }
}

pub async fn of_doubles_are_exact_at_any_size(subject: Subject) {
    let table = subject.dynamic();
    let mut numbers = vec![
        0.0,
        -0.0,
        1.0,
        -3.0,
        0.1,
        1e-4,
        9.9e-5,
        1e-5,
        -1.5e-7,
        5e-324,
        f64::MIN_POSITIVE,
        9_007_199_254_740_993.0,
        1e16,
        1.2345e17,
        -1e21,
        1e300,
        f64::MAX,
        f64::MIN,
    ];
    let mut random = fastrand::Rng::with_seed(7);
    let finite = std::iter::repeat_with(|| f64::from_bits(random.u64(..)));
    numbers.extend(finite.filter(|number| number.is_finite()).take(12));
    let mut stored = numbers.clone();
    stored.extend([f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    for (index, number) in stored.iter().enumerate() {
        let row = DynamicEntity::new("p", format!("{index:03}")).with("D", *number);
        table.insert(&row).await.unwrap();
    }
    for value in numbers {
        for comparison in COMPARISONS {
            let filter = Filter::compare("D", comparison, value);
            let rows = table.list("p", ..).filter(filter.clone()).collect().await.unwrap();
            let found: Vec<_> = rows.into_iter().map(|row| row.row_key).collect();
            let expected = stored.iter().enumerate();
            let expected = expected.filter(|(_, stored)| holds(comparison, **stored, value));
            let expected: Vec<_> = expected.map(|(index, _)| format!("{index:03}")).collect();
            assert_eq!(found, expected, "{filter}");
        }
    }
}

pub async fn of_numbers_that_are_not_finite_are_refused(subject: Subject) {
    let table = subject.dynamic();
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let filter = || !Filter::compare("D", Comparison::Less, value);
        let refused = table.list("p", ..).filter(filter()).collect().await.unwrap_err();
        let Error::Property(refused) = refused else { panic!("{refused}") };
        assert_eq!(refused.fault, PropertyFault::NotFinite(value.to_string()));
        let mut query = subject.query(table_orm::query::Span::All, table_orm::query::Span::All);
        query.filter = Some(filter());
        let refused = subject.store.query(&query).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::INVALID_INPUT, "{refused}");
    }
}

pub async fn of_absent_properties_hold_only_negated(subject: Subject) {
    let table = subject.dynamic();
    table.insert(&row(3)).await.unwrap();
    table.insert(&DynamicEntity::new("p", "x").with("Other", 1)).await.unwrap();
    for (name, value) in row(3).properties {
        for comparison in COMPARISONS {
            let filter = || Filter::compare(name.clone(), comparison, value.clone());
            assert!(!found(&subject, filter()).await.contains('x'), "{}", filter());
            assert!(found(&subject, !filter()).await.contains('x'), "{}", !filter());
        }
        let present = || Filter::is_present(name.clone(), value.edm_type());
        assert_eq!(found(&subject, present()).await, "3", "{}", present());
        assert_eq!(found(&subject, !present()).await, "x", "{}", !present());
    }
    let present = Filter::is_present("Other", table_orm::model::EdmType::Int32);
    assert_eq!(found(&subject, present).await, "x");
}

pub async fn find_out_whether_extremes_are_present(subject: Subject) {
    let table = subject.dynamic();
    for (number, least) in (0..).zip([
        Edm::from(""),
        Edm::from(i32::MIN),
        Edm::from(i64::MIN),
        Edm::from(f64::NAN),
        Edm::from(f64::NEG_INFINITY),
        Edm::from(0.0),
        Edm::from(false),
        Edm::from(DateTime::MIN),
        Edm::from(Uuid::nil()),
        Edm::from(Vec::new()),
    ]) {
        let property = format!("P{number}");
        let row = DynamicEntity::new("p", number.to_string()).with(&*property, least.clone());
        table.insert(&row).await.unwrap();
        let present = Filter::is_present(property.clone(), least.edm_type());
        assert_eq!(found(&subject, present).await, number.to_string(), "{least}");
    }
}

mod before {
    use table_orm::TableEntity;

    #[derive(Debug, TableEntity)]
    #[table(name = "plans", partition = "{account}", row = "{id:02}")]
    pub struct Plan {
        pub account: String,
        pub id: u8,
    }
}

/// With fields that older rows lack.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "plans", partition = "{account}", row = "{id:02}")]
struct Plan {
    account: String,
    id: u8,
    #[table(default = free)]
    tier: String,
    #[table(default)]
    seats: i32,
    #[table(default = one)]
    price: f64,
    #[table(default)]
    trial: bool,
    #[table(default = some_coupon)]
    coupon: Option<String>,
}

fn free() -> String {
    "free".to_owned()
}

fn one() -> f64 {
    1.0
}

fn some_coupon() -> Option<String> {
    Some("launch".to_owned())
}

/// A filter in the store keeps the rows that a filter over the entities as they are read keeps.
pub async fn of_defaults_see_rows_without_them(subject: Subject) {
    let old = subject.tables().repo_in::<before::Plan>(subject.table.clone());
    let repo = subject.tables().repo_in::<Plan>(subject.table.clone());
    for id in 0..3 {
        old.insert(&before::Plan { account: "a".into(), id }).await.unwrap();
    }
    let plan = |id, tier: &str, seats, price, trial| Plan {
        account: "a".into(),
        id,
        tier: tier.into(),
        seats,
        price,
        trial,
        coupon: Some("x".into()),
    };
    let stored = [
        plan(10, "free", 0, 1.0, false),
        plan(11, "gold", 5, 2.0, true),
        plan(12, "ally", 1, 0.5, false),
        plan(13, "zinc", 9, f64::NAN, true),
        plan(14, "zinc", 9, f64::INFINITY, true),
    ];
    for plan in &stored {
        repo.insert(plan).await.unwrap();
    }
    let all = repo.list(Plan::partition("a")).collect().await.unwrap();
    assert_eq!(all.len(), 8);
    macro_rules! agree {
        ($($column:ident $method:ident $operator:tt $value:expr;)*) => {$({
            let list = || repo.list(Plan::partition("a"));
            let kept = |plans: &[Plan]| plans.iter().map(|plan| plan.id).collect::<Vec<_>>();
            let (yes, no): (Vec<Plan>, Vec<Plan>) =
                all.iter().cloned().partition(|plan| plan.$column $operator $value);
            let condition = stringify!($column $operator $value);
            let filtered = list().filter(|row| row.$column.$method($value)).collect().await;
            assert_eq!(kept(&filtered.unwrap()), kept(&yes), "{condition}");
            let filtered = list().filter(|row| !row.$column.$method($value)).collect().await;
            assert_eq!(kept(&filtered.unwrap()), kept(&no), "not {condition}");
        })*};
    }
    macro_rules! compared {
        ($($column:ident $value:expr;)*) => {$(
            agree! {
                $column eq == $value;
                $column ne != $value;
                $column gt > $value;
                $column ge >= $value;
                $column lt < $value;
                $column le <= $value;
            }
        )*};
    }
    compared! {
        seats 0;
        seats 3;
        price 1.0;
        price 1.5;
        price 0.1;
    }
    agree! {
        trial eq == false;
        trial eq == true;
        trial ne != true;
        tier eq == "free";
        tier ne != "free";
        tier eq == "gold";
    }
    let list = || repo.list(Plan::partition("a"));
    assert_eq!(list().filter(|row| row.tier.gt("fred")).count().await.unwrap(), 7);
    assert_eq!(list().filter(|row| row.tier.lt("fred")).count().await.unwrap(), 1);
    assert_eq!(list().filter(|row| row.coupon.eq("launch")).count().await.unwrap(), 3);
    assert_eq!(list().filter(|row| row.coupon.ne("launch")).count().await.unwrap(), 5);
    assert_eq!(list().filter(|row| row.price.is_absent()).count().await.unwrap(), 3);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "readings", partition = "{sensor}")]
#[row(oldest, key = "A:{at}")]
#[row(newest, key = "B:{newest}")]
#[component(newest = desc(at))]
struct Reading {
    sensor: String,
    at: OffsetDateTime,
}

/// The service keeps ticks of 100 ns: what is between two is the earlier one, in every call.
pub async fn of_instants_between_ticks_take_the_earlier_one(subject: Subject) {
    let repo = subject.tables().repo_in::<Reading>(subject.table.clone());
    let at = OffsetDateTime::UNIX_EPOCH + Duration::nanoseconds(1_234_567_850);
    repo.insert(&Reading { sensor: "roof".into(), at }).await.unwrap();
    let roof = Reading::partition("roof");
    let read = repo.get(roof.oldest().at(at)).await.unwrap().unwrap();
    assert_eq!(at - read.at, Duration::nanoseconds(50));
    assert_eq!(repo.get(roof.newest().newest(at)).await.unwrap(), Some(read));
    for (name, range, count) in [
        ("from", (Bound::Included(at), Bound::Unbounded), 1),
        ("through", (Bound::Included(at), Bound::Included(at)), 1),
        ("to", (Bound::Unbounded, Bound::Excluded(at)), 0),
        ("up to", (Bound::Unbounded, Bound::Included(at)), 1),
        ("after", (Bound::Excluded(at), Bound::Unbounded), 0),
    ] {
        assert_eq!(repo.list(roof.oldest().at_in(range)).count().await.unwrap(), count, "{name}");
        let newest = repo.list(roof.newest().newest_in(range)).count().await.unwrap();
        assert_eq!(newest, count, "{name}, newest first");
    }
    let filtered = |condition: fn(Column<OffsetDateTime>, OffsetDateTime) -> Condition| {
        repo.list(&roof).filter(move |row| condition(row.at, at)).count()
    };
    assert_eq!(filtered(|column, at| column.eq(at)).await.unwrap(), 1);
    assert_eq!(filtered(|column, at| column.ge(at)).await.unwrap(), 1);
    assert_eq!(filtered(|column, at| column.le(at)).await.unwrap(), 1);
    assert_eq!(filtered(|column, at| column.lt(at)).await.unwrap(), 0);
    assert_eq!(filtered(|column, at| column.gt(at)).await.unwrap(), 0);
    assert_eq!(filtered(|column, at| column.ne(at)).await.unwrap(), 0);
}
