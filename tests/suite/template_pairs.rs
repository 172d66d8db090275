//! Every two types of a matrix whose keys can be told apart share a table, and no call on one touches rows of
//! the other.

use futures_util::future::{BoxFuture, FutureExt as _};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use support::dose;
use table_orm::entity::{EntityRows, FromRow, Row, UnionMember};
use table_orm::{
    DynamicEntity, EntityKeys as _, Error, Projection, ScanPermit, TableEntity, TableName, Tables,
};

/// The values of an entity of any of the types.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Values {
    a: u32,
    b: String,
    c: u16,
    d: bool,
}

trait Kind: TableEntity + Clone + 'static {
    /// Some of the fields.
    type Part: FromRow<Self::Canonical> + Into<(u32, bool)> + Send + 'static;

    fn of(values: &Values) -> Self;
    fn values(self) -> Values;
}

macro_rules! kinds {
    ($($(#[$attribute:meta])* $name:ident;)+) => {
        $(
            #[derive(Debug, Clone, TableEntity)]
            $(#[$attribute])*
            struct $name { space: String, a: u32, b: String, c: u16, d: bool }

            const _: () = {
                #[derive(Projection)]
                #[projection(of = $name)]
                struct Part { a: u32, d: bool }

                impl From<Part> for (u32, bool) {
                    fn from(Part { a, d }: Part) -> Self {
                        (a, d)
                    }
                }

                impl Kind for $name {
                    type Part = Part;

                    fn of(Values { a, b, c, d }: &Values) -> Self {
                        Self { space: "s".into(), a: *a, b: b.clone(), c: *c, d: *d }
                    }

                    fn values(self) -> Values {
                        let Self { a, b, c, d, .. } = self;
                        Values { a, b, c, d }
                    }
                }
            };
        )+

        const KINDS: &[Calls] = &[$(Calls::of::<$name>()),+];
    };
}

kinds! {
    #[table(name = "pairs", partition = "{space}", row = "DOC:{a:05}")] Fixed;
    #[table(name = "pairs", partition = "{space}", row = "DOC:{a:05}__REV:{c:03}")] FixedAndMore;
    #[table(name = "pairs", partition = "{space}", row = "DOC:{a:05}__{b}")] FixedAndText;
    #[table(name = "pairs", partition = "{space}", row = "DOC:{a:06}")] Wider;
    #[table(name = "pairs", partition = "{space}", row = "DOC:{a:05}-{c:03}")] OtherSeparator;
    #[table(name = "pairs", partition = "{space}", row = "DOC:{c:03}__{a:05}")] OtherOrder;
    #[table(name = "pairs", partition = "{space}", row = "DOC:{d}")] Flag;
    #[table(name = "pairs", partition = "{space}", row = "DOC:{d}__{a}")] FlagAndMore;
    #[table(name = "pairs", partition = "{space}", row = "DOC:")] Single;
    #[table(name = "pairs", partition = "{space}", row = "{a:05}")] Digits;
    #[table(name = "pairs", partition = "{space}", row = "{a:05}__{c:03}")] DigitsTwice;
    #[table(name = "pairs", partition = "{space}", row = "{a:05}__{b}")] DigitsAndText;
    #[table(name = "pairs", partition = "{space}", row = "N:{a}")] Number;
    #[table(name = "pairs", partition = "{space}", row = "N:{a}__{c}")] Numbers;
    #[table(name = "pairs", partition = "{space}", row = "N:{a}__{b}")] NumberAndText;
    #[table(name = "pairs", partition = "{space}", row = "T:{b}")] Text;
    #[table(name = "pairs", partition = "{space}", row = "T:{b}__{c:03}")] TextAndMore;
    #[table(name = "pairs", partition = "{space}", row = "{b}")] AnyText;
    #[table(name = "pairs", partition = "{space}", row = "{b}", kind = "one")] Marked;
    #[table(name = "pairs", partition = "{space}", row = "DOC:{b}", kind = "two")] MarkedOtherwise;
    #[table(name = "pairs", partition = "{space}")]
    #[row(by_a, key = "A:{a:05}")]
    #[row(by_c, key = "C:{c:03}__{a:05}")] Indexed;
    #[table(name = "pairs", partition = "{space}", unique(a))]
    #[row(by_a, key = "A:{a:05}__{c:03}")]
    #[row(by_c, key = "C:{c:03}__{a:05}__{b}")] IndexedAndMore;
}

type Key = (String, String);
/// The entity's key, if its values have one, and the end of the call.
type Inserted = (Option<Key>, Result<(), Error>);
type Found = BTreeMap<Key, Values>;
type Call<T> = fn(Tables) -> BoxFuture<'static, T>;

/// What a test does with one of the types.
#[derive(Clone, Copy)]
struct Calls {
    member: UnionMember,
    insert: fn(Tables, Values) -> BoxFuture<'static, Inserted>,
    list: Call<Found>,
    /// Those with the keys that the values have.
    get: fn(Tables, Vec<Values>) -> BoxFuture<'static, Found>,
    project: Call<BTreeSet<(u32, bool)>>,
    counts: Call<BTreeSet<usize>>,
    /// The findings of `verify`.
    verify: Call<Vec<String>>,
    /// Removes the index rows and writes them again, by `backfill` and by `repair`.
    mend: Call<()>,
    /// Deletes the partition. Returns the number of entities.
    delete: Call<usize>,
}

impl Calls {
    const fn of<E: Kind>() -> Self {
        Self {
            member: UnionMember::of::<E>(),
            insert: |tables, values| {
                async move {
                    let entity = E::of(&values);
                    let inserted = tables.repo::<E>().insert(&entity).await.map(drop);
                    (entity.key().into_texts().ok(), inserted)
                }
                .boxed()
            },
            list: |tables| {
                async move {
                    let listed = tables.repo::<E>().list(partition::<E>()).collect().await.unwrap();
                    let keyed = listed
                        .into_iter()
                        .map(|entity| (entity.key().into_texts().unwrap(), entity.values()));
                    keyed.collect()
                }
                .boxed()
            },
            get: |tables, values| {
                async move {
                    let (repo, mut found) = (tables.repo::<E>(), Found::new());
                    for entity in values.iter().map(E::of) {
                        let Ok(key) = entity.key().into_texts() else { continue };
                        if let Some(entity) = repo.get(entity.key()).await.unwrap() {
                            found.insert(key, entity.values());
                        }
                    }
                    found
                }
                .boxed()
            },
            project: |tables| {
                async move {
                    let list = tables.repo::<E>().list(partition::<E>()).project::<E::Part>();
                    list.collect().await.unwrap().into_iter().map(Into::into).collect()
                }
                .boxed()
            },
            counts: |tables| {
                async move {
                    let repo = tables.repo::<E>();
                    BTreeSet::from([
                        repo.list(partition::<E>()).count().await.unwrap(),
                        repo.load(partition::<E>()).await.unwrap().len(),
                        repo.scan(because()).count().await.unwrap().rows as usize,
                        repo.list(partition::<E>()).pages(2).collect().await.unwrap().len(),
                    ])
                }
                .boxed()
            },
            verify: |tables| {
                async move {
                    let report = tables.repo::<E>().verify(partition::<E>()).await.unwrap();
                    report.findings.iter().map(|finding| finding.to_string()).collect()
                }
                .boxed()
            },
            mend: |tables| {
                async move {
                    let (repo, before) = (tables.repo::<E>(), rows(&tables).await);
                    let lost = remove_index_rows::<E>(&tables).await;
                    let filled = repo.backfill(partition::<E>()).await.all().unwrap();
                    assert_eq!((filled.rows as usize, rows(&tables).await), (lost, before.clone()));
                    assert_eq!(remove_index_rows::<E>(&tables).await, lost);
                    let findings = repo.verify(partition::<E>()).await.unwrap().findings;
                    let mended = repo.repair(findings).await.all().unwrap();
                    assert_eq!((mended as usize, rows(&tables).await), (lost, before));
                }
                .boxed()
            },
            delete: |tables| {
                async move {
                    let deleted = tables.repo::<E>().delete_partition(partition::<E>());
                    deleted.await.unwrap().entities as usize
                }
                .boxed()
            },
        }
    }
}

fn partition<E: Kind>() -> table_orm::entity::EntityPartition<E> {
    E::of(&Values { a: 0, b: "b".into(), c: 0, d: false }).partition()
}

/// All rows of the table, without their versions.
async fn rows(tables: &Tables) -> BTreeMap<String, BTreeMap<String, String>> {
    let rows = tables.table(table()).list("s", ..).collect().await.unwrap();
    let texts = rows.into_iter().map(|row| {
        let properties = row.properties.iter();
        (
            row.row_key.clone(),
            properties.map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        )
    });
    texts.collect()
}

/// Removes all rows of a type's entities but the canonical ones. Returns how many.
async fn remove_index_rows<E: Kind>(tables: &Tables) -> usize {
    let (rows, mut removed) = (tables.table(table()), 0);
    for entity in tables.repo::<E>().list(partition::<E>()).collect().await.unwrap() {
        for row in EntityRows::of(&entity).unwrap().rows {
            if row.index < E::ROWS.len() && row.index != <E::Canonical as Row>::INDEX {
                rows.delete(&DynamicEntity::new("s", row.row_key)).await.unwrap();
                removed += 1;
            }
        }
    }
    removed
}

fn table() -> TableName {
    TableName::new("pairs").unwrap()
}

fn because() -> ScanPermit {
    ScanPermit::because("test")
}

/// Writes the values as entities of a type, as far as its keys can hold them. Types of two kinds may have the same keys:
/// then the key is that of whoever is `first`.
async fn write(tables: &Tables, calls: &Calls, all: &[Values], first: &Found) -> Found {
    let mut stored = Found::new();
    for values in all {
        let (key, inserted) = (calls.insert)(tables.clone(), values.clone()).await;
        match inserted {
            Ok(()) => assert_eq!(stored.insert(key.unwrap(), values.clone()), None),
            Err(Error::AlreadyExists(_)) => {
                let key = key.unwrap();
                assert!(stored.contains_key(&key) || first.contains_key(&key), "{key:?}");
            }
            Err(Error::UniqueViolation { .. }) => {
                assert!(stored.values().any(|other| other.a == values.a));
            }
            Err(error) => assert!(matches!(error, Error::Key(_)), "{error}"),
        }
    }
    stored
}

async fn assert_apart(left: &Calls, right: &Calls, values: (&[Values], &[Values])) {
    let tables = Tables::in_memory().unwrap();
    tables.create(&table()).await.unwrap();
    let first = write(&tables, left, values.0, &Found::new()).await;
    let second = write(&tables, right, values.1, &first).await;
    let stored = [first, second];
    for (calls, stored) in [left, right].into_iter().zip(&stored) {
        let of = (left.member.entity, right.member.entity);
        assert_eq!((calls.list)(tables.clone()).await, *stored, "{of:?}");
        assert_eq!((calls.counts)(tables.clone()).await, BTreeSet::from([stored.len()]), "{of:?}");
        let both = [values.0, values.1].concat();
        assert_eq!((calls.get)(tables.clone(), both).await, *stored, "{of:?}");
        let parts = stored.values().map(|values| (values.a, values.d)).collect();
        assert_eq!((calls.project)(tables.clone()).await, parts, "{of:?}");
        assert_eq!((calls.verify)(tables.clone()).await, [""; 0], "{of:?}");
        (calls.mend)(tables.clone()).await;
    }
    assert_eq!((left.delete)(tables.clone()).await, stored[0].len());
    assert_eq!((left.list)(tables.clone()).await, Found::new());
    assert_eq!((right.list)(tables.clone()).await, stored[1]);
    assert_eq!((right.verify)(tables.clone()).await, [""; 0]);
}

fn values() -> impl Strategy<Value = Vec<Values>> {
    let text = prop_oneof![
        "[0-9]{1,6}",
        "[A-Za-z]{1,4}",
        "[0-9A:_]{1,6}",
        "(DOC|N|T|A|C):[0-9]{1,6}",
        "[0-9]{5}_[0-9]{3}",
        Just("\u{e9}\u{1F3C3}".to_owned()),
    ];
    let number = prop_oneof![0_u32..3, 0_u32..100_000, Just(99_999)];
    let values = (number, text, prop_oneof![0_u16..3, 0_u16..1000], any::<bool>());
    prop::collection::vec(values.prop_map(|(a, b, c, d)| Values { a, b, c, d }), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(1, 60)))]

    #[test]
    fn types_that_differ_by_their_keys_share_a_table_without_touching_each_other(
        left in values(),
        right in values(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut pairs = 0;
            for (one, left_kind) in KINDS.iter().enumerate() {
                for (other, right_kind) in KINDS.iter().enumerate() {
                    if one != other && left_kind.member.differs(&right_kind.member) {
                        pairs += 1;
                        assert_apart(left_kind, right_kind, (&left, &right)).await;
                    }
                }
            }
            assert!(pairs > 150, "{pairs}");
        });
    }
}
