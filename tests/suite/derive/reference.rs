//! The reference entity, as the README shows it.

use super::{exact, keys, repo};
use support::reference::{Distance, EVENT, NameOnly, Registration, Sex, john};
use table_orm::entity::{CopyKind, EntityRows, FromRow, Query, Row};
use table_orm::query::class::Class;
use table_orm::query::{QueryClass, Span};
use table_orm::{TableEntity, Tables};
use time::Duration;

#[test]
fn the_reference_keys_come_out_byte_for_byte() {
    let rows = EntityRows::of(&john()).unwrap();
    assert_eq!(rows.partition_key, "2011 New York City Marathon__Full");
    assert_eq!(rows.rows[0].row_key, "BIB:01234__John__M__55");
    assert_eq!(rows.rows[1].row_key, "AGE:055__1234__John__M");
    assert_eq!(rows.rows[2].row_key, "NEW:2534023007999999999__01234");
}

#[test]
fn templates_are_kept_as_written() {
    assert_eq!(Registration::TABLE, "registrations");
    assert_eq!(Registration::PARTITION, "{event}__{distance}");
    let rows: Vec<_> =
        Registration::ROWS.iter().map(|row| (row.name, row.start, row.copy)).collect();
    assert_eq!(
        rows,
        [
            ("by_bib", "BIB:", CopyKind::Full),
            ("by_age", "AGE:", CopyKind::Full),
            ("by_time", "NEW:", CopyKind::Partial)
        ]
    );
    const { assert!(!Registration::KEYS_FOLLOW_CANONICAL) };
}

/// The longest PartitionKey, then RowKeys.
fn longest<E: TableEntity>() -> Vec<Option<usize>> {
    let rows = E::ROWS.iter().map(|row| row.template().longest());
    std::iter::once(E::PARTITION_KEY.longest()).chain(rows).collect()
}

#[test]
fn the_longest_keys_are_known_where_all_text_has_a_limit() {
    // `event` has no limit; a sex is one character; an instant counted down is 19 digits.
    assert_eq!(longest::<Registration>(), [None, Some(79), Some(79), Some(30)]);
}

#[derive(Debug, TableEntity)]
#[table(name = "longest", partition = "{sex}", row = "NAME:{name}_{sex}", allow_single_partition)]
struct Longest {
    #[table(max_len = 505)]
    name: String,
    sex: Sex,
}

#[test]
fn a_key_of_1_kib_is_not_too_long() {
    assert_eq!(longest::<Longest>(), [Some(1), Some(512)]);
    let longest = Longest { name: "x".repeat(505), sex: Sex::F };
    assert_eq!(EntityRows::of(&longest).unwrap().rows[0].row_key.len(), 512);
}

#[test]
fn a_builder_writes_the_key_that_is_stored() {
    let race = Registration::partition(EVENT, Distance::Full);
    let bib = race.by_bib().bib(1234).name("John").sex(Sex::M).age(55);
    assert_eq!(exact(bib), "BIB:01234__John__M__55");
    let age = race.by_age().age(55).bib(1234).name("John".to_owned()).sex(Sex::M);
    assert_eq!(exact(age), "AGE:055__1234__John__M");
}

#[test]
fn a_query_has_the_class_of_what_it_reads() {
    let race = Registration::partition(EVENT, Distance::Full);
    let (range, class) = keys(race.by_bib());
    assert_eq!((range.row, class), (Span::prefix("BIB:"), QueryClass::RowRange));
    let (range, class) = keys(race.by_bib().bib(1234).name("John"));
    assert_eq!((range.row, class), (Span::prefix("BIB:01234__John__"), QueryClass::RowRange));
    let (range, class) = keys(race.by_bib().bib(1234).name_starts_with("Jo"));
    assert_eq!((range.row, class), (Span::prefix("BIB:01234__Jo"), QueryClass::RowRange));
    let (range, class) = keys(&race);
    assert_eq!((range.row, class), (Span::prefix("BIB:"), QueryClass::Partition));
}

/// Rows that start with digits, with text, and with nothing that varies.
mod starts {
    use table_orm::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "seats", partition = "{hall}", row = "{seat:04}__{guest}")]
    pub struct Seat {
        pub hall: u8,
        pub seat: u16,
        pub guest: String,
    }

    #[derive(TableEntity)]
    #[table(name = "notes", partition = "{owner}", row = "{title}__{page:02}")]
    pub struct Note {
        pub owner: u8,
        pub title: String,
        pub page: u8,
    }

    #[derive(TableEntity)]
    #[table(name = "settings", partition = "{owner}", row = "all")]
    pub struct Setting {
        pub owner: u8,
    }
}

/// The derive's own tests hold that documentation names these classes.
#[test]
fn a_plan_has_the_class_of_its_query_in_each_state() {
    use starts::{Note, Seat, Setting};
    fn check<E, Q>(query: Q)
    where
        E: TableEntity,
        Q: Query<Row: Row<Entity = E>> + 'static,
        E: FromRow<Q::Row>,
    {
        let plan = Tables::in_memory().unwrap().repo::<E>().list(query).plan().unwrap();
        assert_eq!(plan.class(), Some(Q::Class::CLASS), "{plan}");
    }
    let race = Registration::partition(EVENT, Distance::Full);
    check(race.by_bib());
    check(race.by_bib().bib(1));
    check(race.by_bib().bib_in(1..2));
    check(race.by_bib().bib(1).name("John").sex(Sex::M).age(55));
    let hall = Seat::partition(1);
    check(hall.row());
    check(hall.row().seat(7));
    check(hall.row().seat(7).guest_starts_with("A"));
    let owner = Note::partition(1);
    check(owner.row());
    check(owner.row().title("t"));
    check(owner.row().title("t").page(1));
    check(Setting::partition(1).row());
}

#[test]
fn a_value_over_its_limit_is_refused() {
    let long = Registration { name: "x".repeat(61), ..john() };
    let error = EntityRows::of(&long).unwrap_err().to_string();
    assert!(error.contains("`max_len` is 60"), "{error}");
    let high = Registration { bib: 100_000, ..john() };
    EntityRows::of(&high).unwrap_err();
}

#[tokio::test]
async fn an_entity_reads_back_from_every_full_row() {
    let repo = repo::<Registration>().await;
    let older = john();
    let newer = Registration {
        bib: 7,
        name: "Mary".to_owned(),
        sex: Sex::F,
        city: Some("Boston".to_owned()),
        registered_at: older.registered_at + Duration::DAY,
        ..john()
    };
    repo.insert(&older).await.unwrap();
    repo.insert(&newer).await.unwrap();
    let race = Registration::partition(EVENT, Distance::Full);
    let key = race.by_bib().bib(1234).name("John").sex(Sex::M).age(55);
    assert_eq!(repo.get(key).await.unwrap().as_ref(), Some(&older));
    let by_age = repo.list(race.by_age().age_in(50..60)).collect().await.unwrap();
    assert_eq!(by_age, [older.clone(), newer.clone()]);
    let city = repo.list(&race).filter(|row| row.city.eq("Boston")).collect().await.unwrap();
    assert_eq!(city, [newer]);
    let newest = repo.list(race.by_time()).project::<NameOnly>().collect().await.unwrap();
    let names: Vec<_> = newest.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["Mary", "John"]);
    let named = repo.get(race.by_age().age(55).bib(1234).name("John").sex(Sex::M));
    let named = named.project::<NameOnly>().await.unwrap();
    assert_eq!(named, Some(NameOnly { name: "John".to_owned() }));
}
