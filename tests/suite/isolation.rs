//! Types that share a table: rows of one are never taken for another's.

use std::collections::BTreeMap;
use support::recorder::recorded;
use table_orm::model::Edm;
use table_orm::query::QueryClass;
use table_orm::repo::{Problem, SkipReason, Table, TransactionScope};
use table_orm::{
    DynamicEntity, EntityKeys, Error, KeyPart, Projection, Repo, ScanPermit, TableEntity,
    TableUnion, Tables, shares_table,
};

/// Its rows are in the range of `Document`.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "documents", partition = "{folder}", unique(title))]
#[row(by_id, key = "DOC:{id:05}")]
#[row(by_day, key = "DAY:{day:03}__{id:05}", include(title))]
struct Document {
    folder: String,
    id: u32,
    day: u16,
    title: String,
    note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "documents", partition = "{folder}")]
#[row(by_id, key = "DOC:{id:05}__REV:{revision:03}")]
#[row(by_day, key = "DAY:{day:03}__{id:05}__REV:{revision:03}", include())]
struct Revision {
    folder: String,
    id: u32,
    revision: u16,
    day: u16,
    text: String,
}

shares_table!(Document, Revision);

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Document)]
struct Title {
    id: u32,
    title: String,
}

fn document(id: u32) -> Document {
    Document { folder: "F".into(), id, day: 7, title: format!("Title {id}"), note: None }
}

fn revision(id: u32, revision: u16) -> Revision {
    Revision { folder: "F".into(), id, revision, day: 7, text: "text".into() }
}

fn because() -> ScanPermit {
    ScanPermit::because("test")
}

struct Shared {
    documents: Repo<Document>,
    revisions: Repo<Revision>,
    rows: Table,
}

/// Three documents of four revisions each.
async fn shared(tables: &Tables) -> Shared {
    let (documents, revisions) = (tables.repo::<Document>(), tables.repo::<Revision>());
    documents.create_table().await.unwrap();
    documents.insert_many((1..=3).map(document)).await.all().unwrap();
    let all = (1..=3).flat_map(|id| (1..=4).map(move |number| revision(id, number)));
    revisions.insert_many(all).await.all().unwrap();
    let rows = tables.table(documents.table().clone());
    Shared { documents, revisions, rows }
}

#[tokio::test]
async fn reads_and_counts_leave_out_rows_of_a_type_whose_keys_continue_ones_own() {
    let tables = Tables::in_memory().unwrap();
    let Shared { documents, revisions, .. } = shared(&tables).await;
    let folder = Document::partition("F");
    let all: Vec<_> = (1..=3).map(document).collect();
    assert_eq!(documents.list(&folder).collect().await.unwrap(), all);
    assert_eq!(documents.list(&folder).count().await.unwrap(), 3);
    assert_eq!(documents.list(folder.by_id().id_in(1..=1)).collect().await.unwrap(), all[..1]);
    assert_eq!(documents.list(folder.by_id().id_in(2..)).first().await.unwrap(), Some(document(2)));
    assert_eq!(documents.list(folder.by_id().id_in(1..=1)).one().await.unwrap(), document(1));
    assert_eq!(documents.load(&folder).await.unwrap().len(), 3);
    assert_eq!(documents.load(folder.by_id().id_in(2..=2)).await.unwrap().len(), 1);
    let titles = documents.list(folder.by_day()).project::<Title>().collect().await.unwrap();
    assert_eq!(titles.iter().map(|title| title.id).collect::<Vec<_>>(), [1, 2, 3]);
    let lists = [folder.by_id().id_in(1..=2), folder.by_id().id_in(3..)];
    assert_eq!(documents.list_many(lists.clone()).collect().await.unwrap(), all);
    assert_eq!(documents.list_many(lists).count().await.unwrap(), 3);

    assert_eq!(documents.scan(because()).count().await.unwrap().rows, 3);
    assert_eq!(documents.scan(because()).ordered(true).collect().await.unwrap(), all);
    assert_eq!(revisions.scan(because()).count().await.unwrap().rows, 12);
    let mut keys = documents.scan(because()).partition_keys();
    assert_eq!(keys.next().await.unwrap().as_deref(), Some("F"));
    assert_eq!(keys.next().await.unwrap(), None);
}

#[tokio::test]
async fn limits_count_own_rows_only() {
    let (tables, record) = recorded();
    let Shared { documents, .. } = shared(&tables).await;
    let folder = Document::partition("F");
    record.take();
    for limit in 0..5 {
        let listed = documents.list(&folder).take(limit).collect().await.unwrap();
        assert_eq!(listed.len(), limit.min(3));
        let scanned = documents.scan(because()).ordered(true).take(limit).collect().await.unwrap();
        assert_eq!(scanned, listed);
        assert_eq!(documents.list(&folder).take(limit).count().await.unwrap(), limit.min(3));
    }
    record.take();
    assert_eq!(documents.list(&folder).take(2).collect().await.unwrap().len(), 2);
    let tops: Vec<_> = record.take().queries.iter().map(|query| query.top).collect();
    assert_eq!(tops, [Some(2), None], "a document and a revision, then a full page");
    let mut pages = documents.list(&folder).pages(4);
    let mut paged = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        assert!(page.len() <= 4);
        paged.extend(page.items);
    }
    assert_eq!(paged.len(), 3);
    assert!(documents.list(folder.by_id().id_in(3..)).exists().await.unwrap());
    assert!(!documents.list(folder.by_id().id_in(4..)).exists().await.unwrap());
}

#[tokio::test]
async fn a_partition_is_deleted_without_the_other_types_rows() {
    let tables = Tables::in_memory().unwrap();
    let Shared { documents, revisions, .. } = shared(&tables).await;
    let deleted = documents.delete_partition(Document::partition("F")).await.unwrap();
    assert_eq!((deleted.entities, deleted.rows), (3, 9));
    let folder = Revision::partition("F");
    assert_eq!(revisions.list(&folder).count().await.unwrap(), 12);
    assert_eq!(revisions.verify(&folder).await.unwrap().findings, []);
    assert_eq!(revisions.delete_partition(&folder).await.unwrap().entities, 12);
}

#[tokio::test]
async fn verify_repair_and_backfill_touch_own_rows_only() {
    let tables = Tables::in_memory().unwrap();
    let Shared { documents, revisions, rows } = shared(&tables).await;
    for row_key in ["DAY:007__00002", "DAY:007__00002__REV:003"] {
        rows.delete(&rows.get("F", row_key).await.unwrap().unwrap()).await.unwrap();
    }
    let folder = Document::partition("F");
    let report = documents.verify(&folder).await.unwrap();
    assert_eq!((report.entities, report.findings.len()), (3, 1));
    let found = revisions.verify(Revision::partition("F")).await.unwrap();
    assert_eq!((found.entities, found.findings.len()), (12, 1));
    // A finding about a row of the other type repairs nothing.
    let mut wrong = report.findings[0].clone();
    (wrong.problem, wrong.row_key) = (Problem::Orphan, "DAY:007__00001__REV:001".into());
    let skipped = documents.repair([wrong]).await.skipped;
    assert_eq!(skipped[0].reason, SkipReason::NotOurs);
    assert_eq!(documents.repair(report.findings).await.all().unwrap(), 1);
    assert_eq!(documents.verify(&folder).await.unwrap().findings, []);
    assert_eq!(revisions.verify(Revision::partition("F")).await.unwrap().findings.len(), 1);
    let filled = revisions.backfill_table(because()).await;
    assert_eq!((filled.progress.entities, filled.skipped.len()), (12, 0), "{filled:?}");
    assert_eq!(revisions.verify_table(because()).await.unwrap().findings, []);
    let filled = documents.backfill_table(because()).await;
    assert_eq!((filled.progress.entities, filled.skipped.len()), (3, 0), "{filled:?}");
}

#[tokio::test]
async fn a_foreign_row_that_could_not_be_read_is_no_unreadable_row() {
    let tables = Tables::in_memory().unwrap();
    let Shared { documents, rows, .. } = shared(&tables).await;
    let foreign = DynamicEntity::new("F", "DOC:00001__X").with("Id", "no number");
    rows.insert(&foreign).await.unwrap();
    let folder = Document::partition("F");
    let never = |error: &_| panic!("{error:?}");
    assert_eq!(documents.list(&folder).skip_unreadable(never).count().await.unwrap(), 3);
    assert_eq!(documents.list(&folder).skip_unreadable(never).collect().await.unwrap().len(), 3);
    assert_eq!(documents.list(&folder).collect().await.unwrap().len(), 3);
    let scan = || documents.scan(because());
    assert_eq!(scan().collect().await.unwrap().len(), 3);
    assert_eq!(scan().skip_unreadable(never).collect().await.unwrap().len(), 3);
    // An own row that cannot be read is reported, and only that.
    rows.insert(&DynamicEntity::new("F", "DOC:00009")).await.unwrap();
    let Err(Error::Property(error)) = documents.list(&folder).collect().await else { panic!() };
    assert_eq!(error.row_key, "DOC:00009");
    assert!(scan().collect().await.is_err());
    assert_eq!(scan().skip_unreadable(|_| ()).collect().await.unwrap().len(), 3);
    assert_eq!(documents.list(&folder).take(3).collect().await.unwrap().len(), 3);
}

/// Its keys are text, so they can be those of helper rows.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "names", partition = "{list}", row = "{name}")]
struct Name {
    list: String,
    #[table(key_only)]
    name: String,
    note: Option<String>,
}

#[tokio::test]
async fn helper_rows_are_no_types_rows() {
    let tables = Tables::in_memory().unwrap();
    let names = tables.repo::<Name>();
    names.create_table().await.unwrap();
    let ann = Name { list: "L".into(), name: "Ann".into(), note: None };
    names.insert(&ann).await.unwrap();
    let rows = tables.table(names.table().clone());
    for start in ["DUE:", "MOV:", "OUT:", "SEQ:", "SUM:", "TKT:", "UNQ:"] {
        let row_key = format!("{start}01ARYZ6S410000000000000042");
        rows.insert(&DynamicEntity::new("L", &row_key).with("List", "L")).await.unwrap();
        let name = Name { name: row_key.clone(), ..ann.clone() };
        let Err(Error::Key(error)) = names.insert(&name).await else { panic!("{start}") };
        assert!(error.to_string().contains(&format!("begins with `{start}`")), "{error}");
        assert_eq!(names.get(Name::partition("L").row().name(row_key)).await.unwrap(), None);
    }
    let list = Name::partition("L");
    assert_eq!(names.list(&list).collect().await.unwrap(), [ann]);
    assert_eq!(names.list(&list).count().await.unwrap(), 1);
    assert_eq!(names.scan(because()).count().await.unwrap().rows, 1);
    assert_eq!(names.verify(&list).await.unwrap().entities, 1);
    assert_eq!(names.delete_partition(&list).await.unwrap().rows, 1);
    assert_eq!(rows.list("L", ..).count().await.unwrap(), 7);
}

#[tokio::test]
async fn a_moved_row_is_left_out_and_its_key_is_a_typed_error() {
    let tables = Tables::in_memory().unwrap();
    let Shared { documents, rows, .. } = shared(&tables).await;
    let mark = DynamicEntity::new("F", "DOC:00002").with("Moved_To", "[\"d\",\"G\",null]");
    rows.insert_or_replace(&mark).await.unwrap();
    let folder = Document::partition("F");
    let key = folder.by_id().id(2);
    assert_eq!(documents.list(&folder).collect().await.unwrap().len(), 2);
    assert_eq!(documents.list(&folder).count().await.unwrap(), 2);
    assert_eq!(documents.list(&folder).project::<Title>().collect().await.unwrap().len(), 2);
    assert_eq!(documents.load(&folder).await.unwrap().len(), 2);
    assert_eq!(documents.scan(because()).count().await.unwrap().rows, 2);
    assert_eq!(documents.scan(because()).collect().await.unwrap().len(), 2);
    let moved = |error: Error| {
        let Error::Moved(moved) = error else { panic!("{error:?}") };
        assert_eq!((moved.entity.len() > 4, &*moved.row_key), (true, "DOC:00002"));
        assert!(moved.to_string().contains("deploy the version that moved it"), "{moved}");
    };
    moved(documents.get(&key).await.unwrap_err());
    moved(documents.get(&key).project::<Title>().await.unwrap_err());
    moved(documents.load(&key).await.unwrap_err());
    moved(documents.update(&key, |document| document.day = 8).await.unwrap_err());
    moved(documents.merge(&key, DocumentPatch::default().note("x".to_owned())).await.unwrap_err());
    let findings = documents.verify(&folder).await.unwrap().findings;
    let problem = |row_key: &str| {
        let found = findings.iter().find(|finding| finding.row_key == row_key);
        found.map(|finding| finding.problem.clone())
    };
    assert_eq!(
        problem("DOC:00002"),
        Some(Problem::Moved { to: "[\"d\",\"G\",null]".into() }),
        "{findings:?}"
    );
    let report = documents.repair(findings).await;
    assert!(report.skipped.iter().any(|skipped| skipped.reason == SkipReason::CanonicalRow));
    assert_eq!(documents.delete_partition(&folder).await.unwrap().entities, 2);
    assert!(rows.get("F", "DOC:00002").await.unwrap().is_some());
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "open", partition = "{list}", row = "{id:05}")]
struct Open {
    list: String,
    id: u32,
    #[table(flatten)]
    more: BTreeMap<String, Edm>,
}

#[tokio::test]
async fn open_properties_cannot_have_the_names_of_marks() {
    let tables = Tables::in_memory().unwrap();
    let opens = tables.repo::<Open>();
    opens.create_table().await.unwrap();
    for name in ["Moved_To", "Moved_From", "Moved_Etag", "Entity_Kind"] {
        let more = [(name.to_owned(), Edm::from("x"))].into();
        let rejected = opens.insert(&Open { list: "L".into(), id: 1, more }).await;
        assert!(matches!(&rejected, Err(Error::Property(error)) if error.property == name));
    }
    let rows = tables.table(opens.table().clone());
    let row = DynamicEntity::new("L", "00001").with("List", "L").with("Id", 1_i64);
    rows.insert(&row.with("Moved_To", "[]")).await.unwrap();
    assert_eq!(opens.list(Open::partition("L")).collect().await.unwrap(), []);
    // The untyped calls show it.
    assert!(rows.get("L", "00001").await.unwrap().unwrap().properties.contains_key("Moved_To"));
}

/// Keys of both are any text.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "kinds", partition = "{shop}", row = "{code}", kind = "Product")]
struct Product {
    shop: String,
    code: String,
    cents: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "kinds", partition = "{shop}", kind = "Customer", unique(email))]
#[row(by_id, key = "C{id}")]
#[row(by_email, key = "M{email}", include())]
struct Customer {
    shop: String,
    id: String,
    email: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "kinds", partition = "{shop}", row = "{code}", kind = "Service")]
struct Service {
    shop: String,
    code: String,
    minutes: Option<u32>,
}

shares_table!(Product, Service);

#[tokio::test]
async fn no_write_of_one_kind_changes_a_row_of_another() {
    let tables = Tables::in_memory().unwrap();
    let (products, services) = (tables.repo::<Product>(), tables.repo::<Service>());
    products.create_table().await.unwrap();
    let product = Product { shop: "S".into(), code: "a".into(), cents: 1 };
    products.insert(&product).await.unwrap();
    let service = Service { shop: "S".into(), code: "a".into(), minutes: Some(5) };
    let key = || Service::partition("S").row().code("a");
    let patch = || ServicePatch::default().minutes(9_u32);
    let kind = |error: Result<(), Error>| error.unwrap_err().kind();
    let conflict = table_orm::ErrorKind::Conflict;
    assert_eq!(kind(services.insert(&service).await.map(drop)), conflict);
    assert_eq!(kind(services.upsert(&service).await.map(drop)), conflict);
    services.merge(key(), patch()).await.unwrap_err();
    services.update(key(), |service| service.minutes = None).await.unwrap_err();
    services.force_replace(&service).await.map(drop).unwrap_err();
    services.force_delete(&service).await.map(drop).unwrap_err();
    let stored = products.get(Product::partition("S").row().code("a")).await.unwrap();
    assert_eq!(stored, Some(product));
    assert_eq!(services.list(Service::partition("S")).count().await.unwrap(), 0);
}

/// Text whose `decode` refuses what `encode` writes, or which has another length than it states.
#[derive(Debug, Clone, PartialEq)]
struct Wrong(&'static str);

impl KeyPart for Wrong {
    const WIDTH: table_orm::key::Width = table_orm::key::Width::Fixed(3);

    fn encode(&self, key: &mut table_orm::key::KeyText) -> Result<(), table_orm::key::KeyFault> {
        key.push_text(self.0)
    }

    fn decode(text: &str) -> Result<Self, table_orm::key::KeyFault> {
        if text == "abc" { Ok(Self("abc")) } else { Err(table_orm::key::KeyFault::Malformed) }
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "wrongs", partition = "{shop}", row = "W:{wrong}")]
struct Wrongs {
    shop: String,
    #[table(key_only)]
    wrong: Wrong,
}

#[tokio::test]
async fn a_row_that_no_query_would_find_is_not_written() {
    let repo = Tables::in_memory().unwrap().repo::<Wrongs>();
    repo.create_table().await.unwrap();
    let of = |text| Wrongs { shop: "S".into(), wrong: Wrong(text) };
    repo.insert(&of("abc")).await.unwrap();
    for text in ["xyz", "ab", "abcd", ""] {
        let error = repo.insert(&of(text)).await.unwrap_err();
        let Error::Key(error) = error else { panic!("{error}") };
        assert_eq!(error.fault, table_orm::key::KeyFault::Undecodable, "{text}");
    }
    assert_eq!(repo.list(Wrongs::partition("S")).collect().await.unwrap(), [of("abc")]);
}

/// Guard rows of one type are told from rows of another by what they begin with.
mod guards {
    use super::TableEntity;

    #[derive(Debug, TableEntity)]
    #[table(name = "guards", partition = "{shop}", row = "{name}:{id:03}")]
    struct Named {
        shop: String,
        name: String,
        id: u16,
    }

    #[derive(Debug, TableEntity)]
    #[table(name = "guards", partition = "{shop}", row = "BIB", unique(bib))]
    struct Guarded {
        shop: String,
        bib: u32,
    }

    table_orm::shares_table!(Named, Guarded);
}

#[derive(Debug, PartialEq, TableUnion)]
enum Either {
    Product(Product),
    Customer(Customer),
}

#[tokio::test]
async fn kinds_tell_types_apart_that_no_key_does() {
    let tables = Tables::in_memory().unwrap();
    let (products, customers) = (tables.repo::<Product>(), tables.repo::<Customer>());
    products.create_table().await.unwrap();
    let product = |code: &str| Product { shop: "S".into(), code: code.into(), cents: 1 };
    let customer = Customer { shop: "S".into(), id: "7".into(), email: "a@b".into() };
    products.insert_many(["B", "Ma"].map(product)).await.all().unwrap();
    customers.insert(&customer).await.unwrap();
    let rows = tables.table(products.table().clone());
    let stored = rows.list("S", ..).collect().await.unwrap();
    let kinds = stored.iter().map(|row| (&*row.row_key, row.properties["Entity_Kind"].to_string()));
    let kinds: Vec<_> = kinds.collect();
    let of = |row_key, kind: &str| (row_key, Edm::from(kind).to_string());
    let (p, c) = ("Product", "Customer");
    let expected = [of("B", p), of("C7", c), of("Ma", p), of("Ma@b", c), of("UNQ:email:a@b", c)];
    assert_eq!(kinds, expected);

    let (shop, place) = (Product::partition("S"), Customer::partition("S"));
    let both = [product("B"), product("Ma")];
    assert_eq!(products.list(&shop).collect().await.unwrap(), both);
    assert_eq!(products.list(&shop).count().await.unwrap(), 2);
    assert_eq!(products.get(shop.row().code("C7")).await.unwrap(), None);
    assert_eq!(products.load(shop.row().code("C7")).await.unwrap().len(), 0);
    assert_eq!(customers.list(place.by_email()).count().await.unwrap(), 1);
    assert_eq!(products.scan(because()).count().await.unwrap().rows, 2);
    assert_eq!(customers.verify(&place).await.unwrap().findings, []);
    assert_eq!(products.verify(&shop).await.unwrap().entities, 2);
    let union = tables.union::<Either>(&shop);
    assert_eq!(union.clone().count().await.unwrap(), 3);
    let all = union.collect().await.unwrap();
    let [first, last] = both.map(Either::Product);
    assert_eq!(all, [first, Either::Customer(customer.clone()), last]);
    // Every way of writing keeps the mark.
    products.upsert(&product("B")).await.unwrap();
    products.merge(shop.row().code("D"), ProductPatch::default().cents(3_u32)).await.unwrap_err();
    products.update(shop.row().code("B"), |product| product.cents = 9).await.unwrap();
    let mut loaded = customers.load(place.by_id().id("7")).await.unwrap().one().unwrap();
    loaded.email = "c@d".into();
    customers.save(&mut loaded).await.unwrap();
    assert_eq!(customers.verify(&place).await.unwrap().findings, []);
    // A row that another program wrote without the mark is no type's.
    rows.insert(&DynamicEntity::new("S", "X").with("Shop", "S").with("Code", "X")).await.unwrap();
    assert_eq!(products.list(&shop).count().await.unwrap(), 2);
    assert_eq!(products.delete_partition(&shop).await.unwrap().rows, 2);
    assert_eq!(rows.list("S", ..).count().await.unwrap(), 4);
}

/// Its key may be a product's. A row that comes and goes makes every write read first.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "kinds", partition = "{shop}", kind = "Clerk")]
#[row(by_id, key = "K{id:03}")]
#[row(named, key = "N{id:03}", when = Clerk::is_named)]
struct Clerk {
    #[table(key_only)]
    shop: String,
    #[table(key_only)]
    id: u32,
    name: Option<String>,
}

impl Clerk {
    fn is_named(&self) -> bool {
        self.name.is_some()
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_of_another_kind_under_its_key_fails_an_insert_at_once() {
    let (tables, record) = recorded();
    let tables = tables.on_virtual_time(1);
    let (products, clerks) = (tables.repo::<Product>(), tables.repo::<Clerk>());
    products.create_table().await.unwrap();
    products.insert(&Product { shop: "S".into(), code: "K007".into(), cents: 1 }).await.unwrap();
    let clerk = &Clerk { shop: "S".into(), id: 7, name: None };
    let place = Clerk::partition("S");
    let key = &place.by_id().id(7);
    record.take();
    let once = |ended: table_orm::Result<()>| {
        assert!(matches!(ended, Err(Error::AlreadyExists(_))), "{ended:?}");
        let requests = record.take();
        assert_eq!((requests.gets, requests.writes.len()), (1, 1));
    };
    once(clerks.update(key, |_| {}).or_insert_with(|| clerk.clone()).await.map(drop));
    once(clerks.merge(key, ClerkPatch::default().name("ann")).or_insert().await.map(drop));
    once(clerks.upsert(clerk).await.map(drop));
    once(clerks.insert_or_merge(clerk).await.map(drop));
    let insert = |tx: TransactionScope| async move {
        assert_eq!(tx.load(key).await?, None);
        tx.insert(clerk);
        Ok::<_, Error>(())
    };
    once(clerks.transaction_with(&place, insert).await);
    // Without an insert, the entity does not exist.
    let update = clerks.update(key, |_| {}).await;
    assert!(matches!(update, Err(Error::NotFound(_))), "{update:?}");
}

#[derive(Debug, Clone, PartialEq, TableUnion)]
enum Thread {
    Document(Document),
    Revision(Revision),
}

#[tokio::test]
async fn a_parent_and_its_children_are_read_in_one_range() {
    let (tables, record) = recorded();
    let Shared { documents, revisions, rows } = shared(&tables).await;
    rows.insert(&DynamicEntity::new("F", "DOC:00002__NOTE")).await.unwrap();
    let key = Document::partition("F").by_id().id(2);
    let thread = || tables.union::<Thread>(key.clone().and_below());
    let plan = thread().plan().unwrap();
    assert_eq!((plan.steps.len(), plan.class()), (1, Some(QueryClass::RowRange)));
    record.take();
    let read = thread().collect().await.unwrap();
    assert_eq!(record.take().queries.len(), 1);
    let expected: Vec<_> = std::iter::once(Thread::Document(document(2)))
        .chain((1..=4).map(|number| Thread::Revision(revision(2, number))))
        .collect();
    assert_eq!(read, expected);
    assert_eq!(thread().count().await.unwrap(), 5);
    assert_eq!(thread().take(2).collect().await.unwrap(), expected[..2]);
    // A list of the parent's type reads the parent only.
    assert_eq!(documents.list(key.clone().and_below()).one().await.unwrap(), document(2));
    let last = Revision::partition("F").by_id().id(2).revision(4);
    let below = tables.union::<Thread>(last.and_below()).collect().await.unwrap();
    let of_entity = tables.union::<Thread>(document(2).key().and_below()).plan().unwrap();
    assert_eq!(of_entity, thread().plan().unwrap());
    assert_eq!(below, expected[4..]);
    assert_eq!(revisions.list(Revision::partition("F").by_id().id(2)).count().await.unwrap(), 4);
    let whole = tables.union::<Thread>(Document::partition("F"));
    assert_eq!(whole.count().await.unwrap(), 15);
}

#[derive(Debug, Clone, Copy, PartialEq, KeyPart)]
enum Region {
    #[key("south")]
    South,
    #[key("north")]
    North,
}

/// Its key ends with a literal.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "shops", partition = "{region}", row = "{shop}__HEAD", allow_single_partition)]
struct Head {
    region: Region,
    shop: String,
}

/// Its key ends with a code.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "shops", partition = "{region}", row = "{shop}__AT:{place}", allow_single_partition)]
struct Place {
    region: Region,
    shop: String,
    place: Region,
}

shares_table!(Head, Place);

#[derive(Debug, PartialEq, TableUnion)]
enum Shop {
    Head(Head),
    Place(Place),
}

#[tokio::test]
async fn a_key_that_ends_with_a_literal_or_a_code_has_an_end() {
    let tables = Tables::in_memory().unwrap();
    let heads = tables.repo::<Head>();
    heads.create_table().await.unwrap();
    let head = Head { region: Region::South, shop: "A".into() };
    heads.insert(&head).await.unwrap();
    let place = Place { region: Region::South, shop: "A".into(), place: Region::North };
    tables.repo::<Place>().insert(&place).await.unwrap();
    let key = Head::partition(Region::South).row().shop("A");
    let below = tables.union::<Shop>(key.and_below()).collect().await.unwrap();
    assert_eq!(below, [Shop::Head(head)]);
    let key = Place::partition(Region::South).row().shop("A").place(Region::North);
    assert_eq!(
        tables.union::<Shop>(key.and_below()).collect().await.unwrap(),
        [Shop::Place(place)]
    );
}
