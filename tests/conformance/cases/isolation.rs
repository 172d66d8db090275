//! Types that share a table, one of them in the range of the other.

use crate::subject::Subject;
use table_orm::key::KeyFault;
use table_orm::{
    DynamicEntity, Error, Projection, Repo, ScanPermit, TableEntity, TableUnion, shares_table,
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "documents", partition = "{folder}")]
#[row(by_id, key = "DOC:{id:05}")]
#[row(by_day, key = "DAY:{day:03}__{id:05}", include(title))]
struct Document {
    folder: String,
    id: u32,
    day: u16,
    title: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "documents", partition = "{folder}")]
#[row(by_id, key = "DOC:{id:05}__REV:{revision:03}")]
#[row(by_day, key = "DAY:{day:03}__{id:05}__REV:{revision:03}")]
struct Revision {
    folder: String,
    id: u32,
    revision: u16,
    day: u16,
}

shares_table!(Document, Revision);

#[derive(Debug, PartialEq, TableUnion)]
enum Thread {
    Document(Document),
    Revision(Revision),
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Document)]
struct Title {
    id: u32,
    title: String,
}

fn document(id: u32) -> Document {
    Document { folder: "F".into(), id, day: 7, title: format!("Title {id}") }
}

fn revision(id: u32, revision: u16) -> Revision {
    Revision { folder: "F".into(), id, revision, day: 7 }
}

/// Three documents of four revisions each.
async fn shared(subject: &Subject) -> (Repo<Document>, Repo<Revision>) {
    let tables = subject.tables();
    let documents = tables.repo_in::<Document>(subject.table.clone());
    let revisions = tables.repo_in::<Revision>(subject.table.clone());
    documents.insert_many((1..=3).map(document)).await.all().unwrap();
    let all = (1..=3).flat_map(|id| (1..=4).map(move |number| revision(id, number)));
    revisions.insert_many(all).await.all().unwrap();
    (documents, revisions)
}

fn because() -> ScanPermit {
    ScanPermit::because("test")
}

pub async fn keeps_types_apart_whose_keys_nest(subject: Subject) {
    let (documents, revisions) = shared(&subject).await;
    let folder = Document::partition("F");
    let all: Vec<_> = (1..=3).map(document).collect();
    assert_eq!(documents.list(&folder).collect().await.unwrap(), all);
    assert_eq!(documents.list(&folder).take(2).collect().await.unwrap(), all[..2]);
    assert_eq!(documents.list(&folder).count().await.unwrap(), 3);
    assert_eq!(documents.list(folder.by_id().id_in(2..=2)).one().await.unwrap(), all[1]);
    let titles = documents.list(folder.by_day()).project::<Title>().collect().await.unwrap();
    assert_eq!(titles.iter().map(|title| title.id).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(documents.scan(because()).count().await.unwrap().rows, 3);
    assert_eq!(documents.scan(because()).ordered(true).take(2).collect().await.unwrap(), all[..2]);
    let thread = folder.by_id().id(2).and_below();
    let thread = subject.tables().union_in::<Thread>(subject.table.clone(), thread);
    assert_eq!(thread.collect().await.unwrap().len(), 5);

    let rows = subject.dynamic();
    let copy = rows.get("F", "DAY:007__00002").await.unwrap().unwrap();
    rows.delete(&copy).await.unwrap();
    let found = documents.verify(&folder).await.unwrap();
    assert_eq!((found.entities, found.findings.len()), (3, 1));
    assert_eq!(revisions.verify(Revision::partition("F")).await.unwrap().findings, []);
    assert_eq!(documents.repair(found.findings).await.all().unwrap(), 1);
    let filled = documents.backfill_table(because()).await;
    assert_eq!((filled.progress.entities, filled.skipped.len()), (3, 0), "{filled:?}");
    let deleted = documents.delete_partition(&folder).await.unwrap();
    assert_eq!((deleted.entities, deleted.rows), (3, 6));
    assert_eq!(revisions.list(Revision::partition("F")).count().await.unwrap(), 12);
}

pub async fn leaves_out_rows_that_were_moved(subject: Subject) {
    let (documents, _) = shared(&subject).await;
    let mark = DynamicEntity::new("F", "DOC:00002").with("Moved_To", "[]");
    subject.dynamic().insert_or_replace(&mark).await.unwrap();
    let folder = Document::partition("F");
    assert_eq!(documents.list(&folder).collect().await.unwrap(), [document(1), document(3)]);
    assert_eq!(documents.list(&folder).count().await.unwrap(), 2);
    assert_eq!(documents.list(&folder).project::<Title>().collect().await.unwrap().len(), 2);
    assert_eq!(documents.scan(because()).count().await.unwrap().rows, 2);
    let key = folder.by_id().id(2);
    assert!(matches!(documents.get(&key).await, Err(Error::Moved(_))));
    assert!(matches!(documents.get(&key).project::<Title>().await, Err(Error::Moved(_))));
    assert!(matches!(documents.load(&key).await, Err(Error::Moved(_))));
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "kinds", partition = "{shop}", row = "{code}", kind = "Product")]
struct Product {
    shop: String,
    code: String,
    cents: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "kinds", partition = "{shop}", row = "{id}", kind = "Customer")]
struct Customer {
    shop: String,
    id: String,
}

shares_table!(Product, Customer);

pub async fn tells_types_by_their_kind(subject: Subject) {
    let tables = subject.tables();
    let products = tables.repo_in::<Product>(subject.table.clone());
    let customers = tables.repo_in::<Customer>(subject.table.clone());
    let product = |code: &str| Product { shop: "S".into(), code: code.into(), cents: 1 };
    products.insert_many(["a", "c"].map(product)).await.all().unwrap();
    customers.insert(&Customer { shop: "S".into(), id: "b".into() }).await.unwrap();
    let shop = Product::partition("S");
    let patch = ProductPatch::default().cents(2_u32);
    products.merge(shop.row().code("a"), patch).await.unwrap();
    let listed = products.list(&shop).collect().await.unwrap();
    assert_eq!(listed, [Product { cents: 2, ..product("a") }, product("c")]);
    assert_eq!(products.list(&shop).count().await.unwrap(), 2);
    assert_eq!(products.get(shop.row().code("b")).await.unwrap(), None);
    assert_eq!(products.delete_partition(&shop).await.unwrap().rows, 2);
    assert_eq!(customers.list(Customer::partition("S")).count().await.unwrap(), 1);
}

/// Its key takes any text.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes", partition = "{shelf}", row = "{name}")]
struct Note {
    shelf: String,
    name: String,
    text: String,
}

fn note(name: &str) -> Note {
    Note { shelf: "S".into(), name: name.into(), text: "t".into() }
}

pub async fn leaves_out_rows_that_begin_as_helper_rows(subject: Subject) {
    let notes = subject.tables().repo_in::<Note>(subject.table.clone());
    let (rows, shelf) = (subject.dynamic(), Note::partition("S"));
    let helpers =
        ["DUE:", "DUE:1", "MOV:1", "SEQ:1", "SUM:1:00", "TKT:1", "UNQ", "UNQ:", "UNQ:text:t"];
    for name in helpers {
        let refused = notes.insert(&note(name)).await;
        let Err(Error::Key(error)) = refused else { panic!("{name}: {refused:?}") };
        assert!(matches!(error.fault, KeyFault::Reserved(start) if name.starts_with(start)));
        // As another program may write it, with all properties that a note has.
        let row = DynamicEntity::new("S", name).with("Shelf", "S").with("Name", name);
        rows.insert(&row.with("Text", "t")).await.unwrap();
    }
    let own = ["DUE", "DUF:1", "TKT", "UNQ1", "due:1"].map(note);
    notes.insert_many(own.clone()).await.all().unwrap();
    assert_eq!(notes.list(&shelf).collect().await.unwrap(), own);
    assert_eq!(notes.list(&shelf).take(2).collect().await.unwrap(), own[..2]);
    assert_eq!(notes.list(&shelf).count().await.unwrap(), own.len());
    assert_eq!(notes.scan(because()).count().await.unwrap().rows, own.len() as u64);
    let loaded = notes.load(&shelf).await.unwrap();
    assert!(loaded.iter().map(|note| &**note).eq(&own));
    for name in helpers {
        assert_eq!(notes.get(shelf.row().name(name)).await.unwrap(), None, "{name}");
    }
    let report = notes.verify(&shelf).await.unwrap();
    assert_eq!((report.entities, report.findings.len()), (own.len() as u64, 0));
    assert_eq!(notes.delete_partition(&shelf).await.unwrap().rows, own.len() as u64);
    let left = rows.list("S", ..).collect().await.unwrap();
    assert!(left.iter().map(|row| &*row.row_key).eq(helpers));
}
