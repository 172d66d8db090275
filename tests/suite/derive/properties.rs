//! Field attributes: how values are stored, limited, left out, and read back.

use super::{properties, read_back, repo, row_keys};
use std::borrow::Cow;
use std::collections::BTreeMap;
use table_orm::entity::EntityRows;
use table_orm::model::{DateTime, Edm};
use table_orm::property::PropertyFault;
use table_orm::{
    DynamicEntity, ETag, Error, KeyPart, Projection, Properties, RowCount, TableEntity, Tables,
};
use time::OffsetDateTime;
use uuid::Uuid;

#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Shoes {
    brand: String,
    sizes: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct Address {
    street: String,
    #[table(rename = "ZIP")]
    zip: Option<u32>,
    #[table(json)]
    lines: Vec<String>,
    #[table(flatten)]
    point: Option<Point>,
    #[table(skip)]
    seen: bool,
    #[table(default)]
    floor: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Properties)]
#[table(rename_all = "camelCase")]
struct Point {
    lat_itude: f64,
    longitude: f64,
}

fn three() -> u8 {
    3
}

fn no_shoes() -> Shoes {
    Shoes { brand: "none".to_owned(), sizes: Vec::new() }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "fields", partition = "{tenant}", row = "{id:04}")]
struct Fields {
    #[table(key_only)]
    tenant: Uuid,
    #[table(key_only, max = 500)]
    id: u16,
    #[table(rename = "Known_As")]
    name: Cow<'static, str>,
    #[table(skip)]
    cache: Vec<u8>,
    #[table(default)]
    visits: u64,
    #[table(default = three)]
    level: u8,
    #[table(json)]
    shoes: Shoes,
    #[table(json)]
    spare: Option<Shoes>,
    #[table(json, default = no_shoes)]
    old: Shoes,
    #[table(series)]
    splits: [Option<f64>; 3],
    #[table(series)]
    laps: Vec<i32>,
    #[table(flatten)]
    address: Address,
    #[table(flatten)]
    more: BTreeMap<String, Edm>,
    #[table(max_len = 3)]
    r#type: Option<String>,
    #[table(max = 10)]
    score: i64,
    bytes: Vec<u8>,
    at: Option<DateTime>,
    #[table(etag)]
    version: Option<ETag>,
    #[table(timestamp)]
    written: Option<OffsetDateTime>,
}

fn fields() -> Fields {
    Fields {
        tenant: Uuid::from_u128(7),
        id: 12,
        name: Cow::Borrowed("Jo"),
        cache: vec![1],
        visits: 5,
        level: 1,
        shoes: Shoes { brand: "x".to_owned(), sizes: vec![44] },
        spare: None,
        old: Shoes::default(),
        splits: [Some(1.5), None, Some(f64::INFINITY)],
        laps: vec![1, 2],
        address: Address {
            street: "Main".to_owned(),
            zip: Some(1),
            lines: vec!["a".to_owned()],
            point: Some(Point { lat_itude: 1.0, longitude: 2.0 }),
            seen: true,
            floor: 2,
        },
        more: BTreeMap::from([("Other".to_owned(), Edm::from(5_i64))]),
        r#type: Some("abc".to_owned()),
        score: -5,
        bytes: vec![1, 2],
        at: None,
        version: None,
        written: None,
    }
}

#[test]
fn fields_are_stored_under_pascal_case_or_as_renamed() {
    let stored: Vec<_> = properties(&fields())
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| !name.contains('@'))
        .collect();
    let expected = [
        "Bytes",
        "Floor",
        "Known_As",
        "Laps000",
        "Laps001",
        "Level",
        "Lines",
        "Old",
        "Other",
        "Score",
        "Shoes",
        "Splits00",
        "Splits02",
        "Street",
        "Type",
        "Visits",
        "ZIP",
        "latItude",
        "longitude",
    ];
    let mut sorted = stored;
    sorted.sort();
    assert_eq!(sorted, expected);
    assert_eq!(row_keys(&fields()), ["0012"]);
    assert_eq!(properties(&fields())["Shoes"], "{\"brand\":\"x\",\"sizes\":[44]}");
}

#[tokio::test]
async fn every_field_reads_back() {
    let read = read_back(&fields(), Fields::partition(Uuid::from_u128(7))).await;
    assert!(read.version.is_some() && read.written.is_some());
    assert_eq!(read.cache, Vec::<u8>::new());
    assert!(!read.address.seen);
    let mut expected = fields();
    expected.version = read.version.clone();
    expected.written = read.written;
    expected.cache = Vec::new();
    expected.address.seen = false;
    assert_eq!(read, expected);
}

#[tokio::test]
async fn a_missing_property_is_its_default_or_a_typed_error() {
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<Fields>();
    repo.create_table().await.unwrap();
    let tenant = Uuid::from_u128(7);
    let row = DynamicEntity::new(tenant.to_string(), "0001")
        .with("Known_As", "Jo")
        .with("Shoes", "{\"brand\":\"x\",\"sizes\":[]}")
        .with("Score", 1_i64)
        .with("Street", "Main")
        .with("Lines", "[]")
        .with("Bytes", vec![1_u8]);
    let table = tables.table(table_orm::TableName::new("fields").unwrap());
    table.insert(&row).await.unwrap();
    let partition = Fields::partition(tenant);
    let read = repo.get(partition.row().id(1_u16)).await.unwrap().unwrap();
    assert_eq!((read.id, read.tenant, read.visits, read.level), (1, tenant, 0, 3));
    assert_eq!((read.old, read.spare), (no_shoes(), None));
    assert_eq!((read.splits, read.laps), ([None; 3], vec![]));
    assert_eq!((read.address.point, read.address.zip, read.address.floor), (None, None, 0));
    assert!(read.more.is_empty());

    let row = DynamicEntity::new(tenant.to_string(), "0002").with("Known_As", "Jo");
    table.insert(&row).await.unwrap();
    let error = repo.get(partition.row().id(2_u16)).await.unwrap_err();
    let Error::Property(error) = error else { panic!("{error}") };
    assert_eq!(
        (error.entity, error.property.as_str(), error.row_key.as_str()),
        ("Fields", "Shoes", "0002")
    );
}

#[tokio::test]
async fn a_row_whose_key_is_no_key_of_the_entity_is_left_out() {
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<Fields>();
    repo.create_table().await.unwrap();
    let row = DynamicEntity::new(Uuid::nil().to_string(), "0x");
    tables.table(table_orm::TableName::new("fields").unwrap()).insert(&row).await.unwrap();
    assert_eq!(repo.list(Fields::partition(Uuid::nil())).collect().await.unwrap(), []);
}

#[test]
fn limits_are_kept_by_text_numbers_and_keys() {
    for over in [
        Fields { r#type: Some("abcd".to_owned()), ..fields() },
        Fields { score: 11, ..fields() },
        Fields { id: 501, ..fields() },
    ] {
        let error = EntityRows::of(&over).unwrap_err().to_string();
        assert!(error.contains("its `max"), "{error}");
    }
    let at_limit = Fields { score: 10, id: 500, r#type: None, ..fields() };
    EntityRows::of(&at_limit).unwrap();
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Fields)]
struct Some3 {
    name: Cow<'static, str>,
    #[projection(default)]
    visits: u64,
    #[projection(json)]
    shoes: Shoes,
    #[projection(json)]
    spare: Option<Shoes>,
    r#type: Option<String>,
}

#[tokio::test]
async fn a_projection_reads_its_fields_alone() {
    let repo = repo::<Fields>().await;
    repo.insert(&fields()).await.unwrap();
    let read =
        repo.list(Fields::partition(fields().tenant)).project::<Some3>().one().await.unwrap();
    let Fields { name, visits, shoes, spare, r#type, .. } = fields();
    assert_eq!(read, Some3 { name, visits, shoes, spare, r#type });
}

#[derive(Debug, TableEntity)]
#[table(name = "versions", partition = "p", row = "r", allow_single_partition)]
struct Version {
    #[table(etag)]
    etag: ETag,
    #[table(timestamp)]
    written: Option<DateTime>,
    #[table(series)]
    none: Vec<u8>,
}

#[tokio::test]
async fn a_row_knows_its_version() {
    let entity = Version { etag: ETag::new("not stored"), written: None, none: Vec::new() };
    assert!(properties(&entity).is_empty());
    let read = read_back(&entity, Version::partition()).await;
    assert!(read.written.is_some() && read.etag != entity.etag && read.none.is_empty());
}

type Blob = Vec<u8>;
type Ratio = f64;

#[derive(Debug, Clone, Copy, PartialEq, KeyPart)]
struct Points(u32);

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
#[table(name = "limits", partition = "{id}", row = "x")]
struct Limits {
    id: u8,
    #[table(max = 3)]
    ratio: Option<Ratio>,
    #[table(max_len = 3)]
    blob: Option<Blob>,
    #[table(max = 3)]
    at: Option<OffsetDateTime>,
    #[table(max_len = 3)]
    points: Option<Points>,
    #[table(max = 3)]
    label: Option<Label>,
}

#[derive(Debug, Clone, PartialEq, KeyPart)]
struct Label(String);

#[test]
fn a_limit_that_a_value_cannot_be_held_to_is_an_error() {
    EntityRows::of(&Limits::default()).unwrap();
    let none = Limits::default;
    for (entity, limit) in [
        (Limits { ratio: Some(1.0), ..none() }, "max"),
        (Limits { blob: Some(vec![1]), ..none() }, "max_len"),
        (Limits { at: Some(OffsetDateTime::UNIX_EPOCH), ..none() }, "max"),
        (Limits { points: Some(Points(1)), ..none() }, "max_len"),
        (Limits { label: Some(Label("a".to_owned())), ..none() }, "max"),
    ] {
        match EntityRows::of(&entity) {
            Err(table_orm::InvalidEntity::Property(error)) => {
                assert_eq!(error.fault, PropertyFault::WrongLimit { limit });
            }
            other => panic!("{other:?}"),
        }
    }
    let error = EntityRows::of(&Limits { ratio: Some(1.0), ..none() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "property `Ratio` of `Limits` is not an integer, and `max` limits nothing else; remove `max`, \
         and check the value where it is made"
    );
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "keyonly", partition = "{a}__{b}", rename_all = "snake_case")]
#[row(one, key = "1:{c}__{d:03}__{e_low}__{tail}")]
#[row(two, key = "2:{d:03}{c}")]
#[component(e_low = lower(e))]
struct KeyOnly {
    #[table(key_only)]
    a: String,
    b: String,
    #[table(key_only)]
    c: String,
    #[table(key_only)]
    d: u8,
    e: String,
    tail: u8,
}

#[tokio::test]
async fn key_only_fields_come_back_from_every_row() {
    let entity = KeyOnly {
        a: "A".to_owned(),
        b: "B".to_owned(),
        c: "C".to_owned(),
        d: 4,
        e: "E".to_owned(),
        tail: 9,
    };
    let stored: Vec<_> = properties(&entity).into_iter().map(|(name, _)| name).collect();
    assert_eq!(stored, ["b", "e", "tail"]);
    let repo = repo::<KeyOnly>().await;
    repo.insert(&entity).await.unwrap();
    let partition = KeyOnly::partition("A", "B");
    assert_eq!(repo.list(partition.one()).one().await.unwrap(), entity);
    assert_eq!(repo.list(partition.two()).one().await.unwrap(), entity);
}

#[tokio::test]
async fn a_key_that_goes_on_otherwise_than_its_template_is_left_out() {
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<KeyOnly>();
    repo.create_table().await.unwrap();
    let rows = tables.table(repo.table().clone());
    let read = async |partition_key: &str, row_key: &str| {
        let row = DynamicEntity::new(partition_key, row_key);
        let row = row.with("b", "B").with("e", "E").with("tail", 9);
        rows.insert(&row).await.unwrap();
        let read = repo.list(KeyOnly::partition("A", "B").one()).one().await;
        rows.delete(&row).await.unwrap();
        read
    };
    assert_eq!(read("A__B", "1:C__004__e__9").await.unwrap().d, 4);
    for foreign in ["1:C__004__e__9__LINE", "1:C__004__e__09", "1:C__004__e", "1:C__004"] {
        match read("A__B", foreign).await {
            Err(Error::RowCount(RowCount { found: 0, .. })) => {}
            other => panic!("{foreign}: {other:?}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "ORD|{number:010}")]
struct Order {
    #[table(key_only)]
    shop: String,
    #[table(key_only)]
    number: u32,
}

#[tokio::test]
async fn a_longer_key_of_another_program_is_no_second_entity() {
    let tables = Tables::in_memory().unwrap();
    let orders = tables.repo::<Order>();
    orders.create_table().await.unwrap();
    orders.insert(&Order { shop: "A".into(), number: 42 }).await.unwrap();
    let rows = tables.table(orders.table().clone());
    rows.insert(&DynamicEntity::new("A", "ORD|0000000042|LINE|01")).await.unwrap();
    let listed = orders.list(Order::partition("A")).collect().await.unwrap();
    assert_eq!(listed, [Order { shop: "A".into(), number: 42 }]);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "racks", partition = "{id}", row = "x")]
struct Rack {
    id: u8,
    #[table(json, default)]
    left: Option<Shoes>,
    #[table(json, default = some_shoes)]
    right: Option<Shoes>,
}

fn some_shoes() -> Option<Shoes> {
    Some(no_shoes())
}

#[tokio::test]
async fn an_optional_json_property_that_is_absent_has_its_default() {
    let both = Rack { id: 1, left: Some(Shoes::default()), right: Some(Shoes::default()) };
    assert_eq!(read_back(&both, Rack::partition(1)).await, both);
    let none = Rack { id: 1, left: None, right: None };
    let read = read_back(&none, Rack::partition(1)).await;
    assert_eq!(read, Rack { right: some_shoes(), ..none });
}

/// In the order of its codes.
#[derive(Debug, Clone, Copy, PartialEq, KeyPart)]
enum Grade {
    #[key("A")]
    Best,
    #[key("B")]
    Good,
}

#[derive(Debug, Clone, Copy, PartialEq, KeyPart)]
struct Metres(i32);

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "ordered", partition = "{one}", row = "{id:02}")]
struct Sorted {
    one: u8,
    id: u8,
    grade: Grade,
    metres: Option<Metres>,
    text: Cow<'static, str>,
    float: f32,
    small: i8,
    large: u64,
    flag: bool,
    letter: char,
    guid: Uuid,
    ulid: ulid::Ulid,
    date: time::Date,
    instant: jiff::Timestamp,
}

fn sorted(id: u8) -> Sorted {
    let at = OffsetDateTime::UNIX_EPOCH + time::Duration::days(i64::from(id) * 200);
    Sorted {
        one: 1,
        id,
        grade: if id < 8 { Grade::Best } else { Grade::Good },
        metres: Some(Metres(i32::from(id) - 8)),
        text: format!("{id:02}").into(),
        float: f32::from(id) - 8.5,
        small: i8::try_from(id).unwrap() - 8,
        large: u64::from(id) << 40,
        flag: id >= 8,
        letter: char::from(b'a' + id),
        guid: Uuid::from_u128(u128::from(id) << 100),
        ulid: ulid::Ulid(u128::from(id) << 100),
        date: at.date(),
        instant: DateTime::try_from(at).unwrap().try_into().unwrap(),
    }
}

#[tokio::test]
async fn a_filter_orders_what_is_stored_as_its_values_are_ordered() {
    let repo = repo::<Sorted>().await;
    repo.insert_many((0..16).map(sorted)).await.all().unwrap();
    for bound in [0, 7, 8, 15] {
        let Sorted { metres, text, float, small, large, letter, .. } = sorted(bound);
        let Sorted { guid, ulid, date, instant, .. } = sorted(bound);
        let all = || repo.list(Sorted::partition(1));
        for below in [
            all().filter(|row| row.metres.lt(metres.unwrap())),
            all().filter(|row| row.text.lt(text)),
            all().filter(|row| row.float.lt(float)),
            all().filter(|row| row.small.lt(small)),
            all().filter(|row| row.large.lt(large)),
            all().filter(|row| row.letter.lt(letter)),
            all().filter(|row| row.guid.lt(guid)),
            all().filter(|row| row.ulid.lt(ulid)),
            all().filter(|row| row.date.lt(date)),
            all().filter(|row| row.instant.lt(instant)),
        ] {
            let below = below.collect().await.unwrap();
            assert!(below.iter().map(|row| row.id).eq(0..bound), "{below:?}");
        }
    }
    let of = |grade| repo.list(Sorted::partition(1)).filter(move |row| row.grade.gt(grade));
    assert_eq!(of(Grade::Best).count().await.unwrap(), 8);
    assert_eq!(of(Grade::Good).count().await.unwrap(), 0);
    let set = repo.list(Sorted::partition(1)).filter(|row| row.flag.gt(false));
    assert_eq!(set.count().await.unwrap(), 8);
}

/// With open properties, here and in a group.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "open", partition = "{id}", row = "x")]
struct OpenRow {
    id: u8,
    city: Option<String>,
    #[table(series)]
    load: Load,
    #[table(series)]
    laps: Vec<u8>,
    #[table(json)]
    shoes: Option<Shoes>,
    #[table(flatten)]
    point: Option<Point>,
    #[table(skip)]
    seen: bool,
    #[table(flatten)]
    rest: Rest,
}

type Load = [Option<u8>; 3];

#[derive(Debug, Clone, PartialEq, Properties)]
struct Rest {
    note: Option<u8>,
    #[table(flatten)]
    more: BTreeMap<String, Edm>,
}

#[tokio::test]
async fn an_open_property_is_never_one_that_a_field_declares() {
    let repo = repo::<OpenRow>().await;
    let row = |name: &str| {
        let more = BTreeMap::from([(name.to_owned(), Edm::Int32(5))]);
        let (load, rest) = ([None; 3], Rest { note: None, more });
        let (city, laps, shoes, point) = (None, vec![1], None, None);
        OpenRow { id: 1, city, load, laps, shoes, point, seen: false, rest }
    };
    for taken in ["City", "Load01", "Laps001", "Shoes", "latItude", "Note", "Id", "RowKey"] {
        let error = repo.insert(&row(taken)).await.unwrap_err();
        assert!(
            matches!(&error, Error::Property(error) if error.fault == PropertyFault::Duplicate),
            "{taken}: {error}"
        );
    }
    for free in ["city", "Load03", "Load001", "Laps01", "Laps252", "Seen", "Rest"] {
        repo.upsert(&row(free)).await.unwrap();
        assert_eq!(repo.list(OpenRow::partition(1)).one().await.unwrap(), row(free), "{free}");
    }
}

/// `Self` is the entity, wherever it is written.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, TableEntity)]
#[table(name = "nodes", partition = "{tree}", row = "NODE:{id:05}")]
struct Node
where
    Self: Sized,
{
    tree: String,
    id: u32,
    #[table(json)]
    children: Vec<Self>,
    #[table(default = Self::three)]
    depth: u16,
    #[table(json, default = Self::nobody)]
    parent: Option<Box<Self>>,
}

impl Node {
    const fn three() -> u16 {
        3
    }

    const fn nobody() -> Option<Box<Self>> {
        None
    }
}

#[tokio::test]
async fn self_is_the_entity_wherever_it_is_written() {
    let tables = Tables::in_memory().unwrap();
    let nodes = tables.repo::<Node>();
    nodes.create_table().await.unwrap();
    let node = |id, children| Node { tree: "oak".into(), id, children, depth: 1, parent: None };
    let root = node(1, vec![node(2, Vec::new())]);
    nodes.insert(&root).await.unwrap();
    let key = || Node::partition("oak").row().id(1);
    assert_eq!(nodes.get(key()).await.unwrap(), Some(root));
    nodes.merge(key(), NodePatch::default().children(vec![node(3, Vec::new())])).await.unwrap();
    assert_eq!(nodes.get(key()).await.unwrap().unwrap().children[0].id, 3);
    // Rows that lack the property have the default.
    let row = DynamicEntity::new("oak", "NODE:00002")
        .with("Tree", "oak")
        .with("Id", 2_i64)
        .with("Children", "[]");
    tables.table(table_orm::TableName::new("nodes").unwrap()).insert(&row).await.unwrap();
    let key = Node::partition("oak").row().id(2);
    assert_eq!(nodes.get(key).await.unwrap().unwrap().depth, 3);
}
