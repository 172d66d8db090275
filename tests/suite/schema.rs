//! The schema of a type says what its encoders, readers and queries do.

// Rows may include the same fields: https://github.com/rust-lang/rust-clippy/issues/13238.
#![allow(clippy::duplicated_attributes)]

use std::collections::{BTreeMap, BTreeSet};
use support::reference::{Registration, john};
use table_orm::entity::{EntityRows, Schema, eventual_rows};
use table_orm::model::{Bucket, Edm};
use table_orm::{KeyPart, Properties, Sum, TableEntity};
use time::{Date, OffsetDateTime};

#[derive(Debug, Clone, Copy, PartialEq, KeyPart)]
enum State {
    #[key("open")]
    Open,
    #[key("closed")]
    Closed,
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct Address {
    #[table(max_len = 40)]
    street: String,
    zip: Option<u32>,
}

/// A row of each kind, a property of each kind.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "issues", partition = "{team}", kind = "issue", sums = Issue::SUMS)]
#[table(unique(slug), unique(token, across, table = "tokens"), outbox(after))]
#[row(by_number, key = "ISS:{number:05}")]
#[row(by_state, key = "STA:{state}__{number}", include(title))]
#[row(by_due, key = "DAY:{due}__{number:05}", exclude(note, labels, laps))]
#[row(by_label, key = "LAB:{label}__{number:05}", each(label in labels), include(title, address))]
#[row(by_title, key = "TTL:{title}", when = Issue::is_open, include(laps), allow_key_conflict)]
#[row(
    by_day,
    key = "N:{team}__{number:05}",
    eventual,
    partition = "DAY:{due}",
    table = "days",
    include(title)
)]
struct Issue {
    team: String,
    #[table(max = 99_999)]
    number: u32,
    state: State,
    #[table(max_len = 30)]
    title: String,
    slug: String,
    #[table(max_len = 20)]
    token: String,
    due: Option<Date>,
    #[table(json)]
    labels: Vec<String>,
    note: Option<String>,
    at: OffsetDateTime,
    #[table(series)]
    laps: [Option<f64>; 3],
    #[table(flatten)]
    address: Address,
    #[table(flatten)]
    rest: BTreeMap<String, Edm>,
}

impl Issue {
    const SUMS: &'static [Sum<Self>] = &[Sum::count("issues")];

    fn is_open(&self) -> bool {
        self.state == State::Open
    }
}

fn issue() -> Issue {
    let at = OffsetDateTime::UNIX_EPOCH;
    Issue {
        team: "core".into(),
        number: 7,
        state: State::Open,
        title: "Lost keys".into(),
        slug: "lost-keys".into(),
        token: "t7".into(),
        due: Some(at.date()),
        labels: vec!["bug".into()],
        note: Some("-".into()),
        at,
        laps: [Some(1.5); 3],
        address: Address { street: "Main".into(), zip: Some(1) },
        rest: BTreeMap::new(),
    }
}

/// Fields that only keys hold.
#[derive(Debug, TableEntity)]
#[table(name = "drops", partition = "{sensor}", row = "{at}", escape = encode)]
struct Drop {
    #[table(key_only)]
    sensor: String,
    #[table(key_only)]
    at: u16,
    millimetres: f32,
}

/// The properties that a row stores, by their names, without the keys and the marks of the service.
fn stored(body: &[u8]) -> BTreeSet<String> {
    let row: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(body).unwrap();
    let own = |name: &&String| {
        !name.contains("odata")
            && !["PartitionKey", "RowKey", "Entity_Kind"].contains(&name.as_str())
    };
    row.keys().filter(own).cloned().collect()
}

/// The names that a row's properties have in a stored row, where each has a value.
fn expected(schema: &Schema, row: &str) -> BTreeSet<String> {
    let row = schema.row(row).unwrap();
    let of_row = |name: &&str| schema.properties.iter().find(|own| *own.name == **name).unwrap();
    let names = row.properties.iter().map(of_row).flat_map(|own| match own.slots {
        Some(slots) => (0..slots).map(|slot| format!("{}{slot:02}", own.name)).collect(),
        None => vec![own.name.to_owned()],
    });
    names.collect()
}

#[test]
fn the_schema_lists_for_each_row_the_properties_that_its_encoder_writes() {
    let (schema, issue) = (Schema::of::<Issue>(), issue());
    let rows = EntityRows::of(&issue).unwrap();
    let own = schema.rows.iter().filter(|row| !row.eventual).count();
    // The guard rows come after the others.
    for row in rows.rows.iter().filter(|row| row.index < own) {
        let name = schema.rows[row.index].name;
        assert_eq!(stored(&row.body), expected(&schema, name), "{name}");
    }
    let names: BTreeSet<_> = rows.rows.iter().map(|row| row.index).collect();
    assert!((0..own).all(|index| names.contains(&index)), "{names:?}");
    let foreign = eventual_rows(&issue).unwrap();
    assert_eq!(foreign.len(), 1);
    assert_eq!(stored(&foreign[0].body), expected(&schema, "by_day"));
}

#[test]
fn a_schema_prints_every_row_property_unique_value_sum_and_event() {
    let printed = Schema::of::<Issue>().to_string();
    let expected = r"
Issue on `issues`
  PartitionKey  {team}
  row by_number  ISS:{number:05}
    canonical
    queries number, number_in
  row by_state  STA:{state}__{number}
    partial copy
    stores Title
    queries state, number
  row by_due  DAY:{due}__{number:05}
    partial copy, sparse
    stores Team, Number, State, Title, Slug, Token, Due, At, Street, Zip
    queries due, due_in, number, number_in
  row by_label  LAB:{label}__{number:05}
    partial copy, for each element of `labels`
    stores Title, Street, Zip
    queries label, label_starts_with, number, number_in
  row by_title  TTL:{title}
    partial copy, sparse
    stores Laps
    queries title, title_in, title_starts_with
  row by_day  N:{team}__{number:05}
    follows on `days` in DAY:{due}
    partial copy, sparse
    stores Title
    queries team, team_starts_with, number, number_in
  unique slug  UNQ:slug:{slug}, in the partition
  unique token  UNQ:token:{token}, over all partitions, on `tokens`
  property Team  Edm.String
  property Number  Edm.Int64, at most 99999
  property State  Edm.String
  property Title  Edm.String, at most 30 UTF-16 units
  property Slug  Edm.String
  property Token  Edm.String, at most 20 UTF-16 units
  property Due  Edm.String
  property Labels  Edm.String
  property Note  Edm.String
  property At  Edm.DateTime
  property Laps, numbered, at most 3  Edm.Double
  property Street of Address  Edm.String, at most 40 UTF-16 units
  property Zip of Address  Edm.Int64
  any other property
  sum issues  entities
  events  after
";
    assert_eq!(printed, expected.trim());
}

#[test]
fn a_field_that_only_keys_hold_is_no_property() {
    let printed = Schema::of::<Drop>().to_string();
    let expected = r"
Drop on `drops`
  PartitionKey  {sensor}
  row row  {at}
    canonical
    queries at
  property Millimetres  Edm.Double
";
    assert_eq!(printed, expected.trim());
}

/// A table for each month, and entities that expire.
#[derive(Debug, TableEntity)]
#[table(name = "visits", partition = "{page}", row = "{id:05}", sums = Visit::SUMS)]
#[table(bucket(month, at), expires = until)]
struct Visit {
    page: String,
    id: u32,
    at: OffsetDateTime,
    until: Option<OffsetDateTime>,
}

impl Visit {
    const SUMS: &'static [Sum<Self>] = &[
        Sum::<Self>::of("ids", |visit| i64::from(visit.id)).shards(4),
        Sum::<Self>::by_group("pages", |visit| (visit.page.clone(), 1)).over_partitions(),
    ];
}

#[test]
fn a_schema_says_when_entities_expire_how_they_share_tables_and_what_is_added_up() {
    let schema = Schema::of::<Visit>();
    let periods = schema.periods.as_ref().unwrap();
    assert_eq!((periods.length, periods.field), (Bucket::Month, "at"));
    assert_eq!((schema.expires, schema.sums[1].over_partitions), (Some("Until"), true));
    let printed = schema.to_string();
    for line in [
        "Visit on `visits`, a table for each month of `at`\n",
        "\n  expires  at Until\n",
        "\n  sum ids  a number of each entity, in 4 rows\n",
        "\n  sum pages  a number of each entity by group, over partitions",
    ] {
        assert!(printed.contains(line), "no {line:?} in {printed}");
    }
    let json = serde_json::to_value(&schema).unwrap();
    assert_eq!((&json["periods"]["length"], &json["expires"]), (&"month".into(), &"Until".into()));
    assert_eq!(json["sums"][0]["counts"], "a number of each entity");
}

#[test]
fn a_schema_lists_the_methods_that_a_key_has_in_its_order() {
    let schema = Schema::of::<Registration>();
    let methods = |row: &str| -> Vec<String> {
        let row = schema.row(row).unwrap();
        row.methods.iter().map(|method| format!("{} {}", method.name, method.class)).collect()
    };
    let race = Registration::partition("x", support::reference::Distance::Full);
    // Each of these compiles.
    let _ = race.by_bib().bib_in(1..2);
    let _ = race.by_bib().bib(1).name_starts_with("J");
    let _ = race.by_bib().bib(1).name("John").sex(john().sex).age(55);
    assert_eq!(
        methods("by_bib"),
        [
            "bib row range query",
            "bib_in row range query",
            "name row range query",
            "name_starts_with row range query",
            "sex row range query",
            "age point query",
        ]
    );
    // A number without a width does not sort.
    assert_eq!(
        methods("by_age"),
        [
            "age row range query",
            "age_in row range query",
            "bib row range query",
            "name row range query",
            "name_starts_with row range query",
            "sex point query",
        ]
    );
    assert_eq!(
        methods("by_time"),
        [
            "newest row range query",
            "newest_in row range query",
            "bib point query",
            "bib_in row range query",
        ]
    );
}

#[test]
fn a_schema_is_readable_as_json() {
    let schema = serde_json::to_value(Schema::of::<Registration>()).unwrap();
    assert_eq!(schema["rows"][2]["copy"], "partial");
    assert_eq!(schema["rows"][0]["methods"][0]["class"], "row range query");
    assert_eq!(schema["properties"][2]["edm"], "Edm.Int64");
    assert_eq!(schema["properties"][2]["max"], 99_999);
    assert_eq!(schema["uniques"].as_array().map(Vec::len), Some(0));
}
