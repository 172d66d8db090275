//! Properties that no field declares, in typed calls: only the store knows their types.

use super::types::extremes;
use crate::subject::Subject;
use futures_util::TryStreamExt as _;
use std::collections::BTreeMap;
use table_orm::model::Edm;
use table_orm::{Properties, Repo, ScanPermit, TableEntity, TableUnion};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "things", partition = "{shelf}")]
#[row(by_id, key = "T:{id:05}")]
#[row(by_name, key = "N:{name}__{id:05}")]
struct Thing {
    shelf: String,
    id: u32,
    name: String,
    price: f64,
    #[table(flatten)]
    more: More,
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct More {
    note: Option<String>,
    #[table(flatten)]
    rest: BTreeMap<String, Edm>,
}

#[derive(Debug, PartialEq, TableUnion)]
enum OnShelf {
    Thing(Thing),
}

fn thing() -> Thing {
    let more = More { note: None, rest: extremes().properties };
    Thing { shelf: "s".to_owned(), id: 7, name: "Globe".to_owned(), price: 3.0, more }
}

fn things(subject: &Subject) -> Repo<Thing> {
    subject.tables().repo_in(subject.table.clone())
}

pub async fn properties_keep_their_types_when_read(subject: Subject) {
    let (repo, shelf) = (things(&subject), Thing::partition("s"));
    repo.insert(&thing()).await.unwrap();
    assert_eq!(repo.get(shelf.by_id().id(7)).await.unwrap(), Some(thing()));
    let named = || shelf.by_name().name("Globe").id(7);
    assert_eq!(repo.get(named()).await.unwrap(), Some(thing()));
    assert_eq!(repo.get_many([shelf.by_id().id(7)]).await.unwrap(), [Some(thing())]);
    assert_eq!(repo.list(&shelf).collect().await.unwrap(), [thing()]);
    assert_eq!(*repo.load(named()).await.unwrap().one().unwrap(), thing());
    assert_eq!(*repo.load(shelf.by_id()).await.unwrap().one().unwrap(), thing());
    let scan = repo.scan(ScanPermit::because("a test")).stream();
    assert_eq!(scan.try_collect::<Vec<_>>().await.unwrap(), [thing()]);
    let union = subject.tables().union_in::<OnShelf>(subject.table.clone(), &shelf);
    assert_eq!(union.collect().await.unwrap(), [OnShelf::Thing(thing())]);
}

pub async fn properties_keep_their_types_when_written_back(subject: Subject) {
    let (repo, key) = (things(&subject), Thing::partition("s").by_id().id(7));
    let mut expected = thing();
    repo.insert(&expected).await.unwrap();

    expected.more.note = Some("updated".to_owned());
    repo.update(&key, |thing| thing.more.note = Some("updated".to_owned())).await.unwrap();
    assert_all(&subject, &expected).await;

    let mut loaded = repo.load(&key).await.unwrap().one().unwrap();
    loaded.name = "Atlas".to_owned();
    expected.name = "Atlas".to_owned();
    repo.save(loaded).await.unwrap();
    assert_all(&subject, &expected).await;

    repo.merge(&key, ThingPatch::default().price(4.0)).await.unwrap();
    expected.price = 4.0;
    assert_all(&subject, &expected).await;
}

/// Both rows hold the entity, as an untyped reader sees them.
async fn assert_all(subject: &Subject, expected: &Thing) {
    let rows = subject.dynamic().list("s", ..).collect().await.unwrap();
    let keys: Vec<_> = rows.iter().map(|row| row.row_key.as_str()).collect();
    assert_eq!(keys, [&*format!("N:{}__00007", expected.name), "T:00007"]);
    for mut row in rows {
        row.properties.retain(|name, _| expected.more.rest.contains_key(name));
        assert_eq!(row.properties, expected.more.rest, "{}", row.row_key);
    }
}
