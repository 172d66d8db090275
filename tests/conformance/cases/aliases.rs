//! Properties that were renamed: rows have the former name, the present one, or both.

use crate::subject::Subject;
use futures_util::TryStreamExt as _;
use table_orm::{DynamicEntity, Projection, ScanPermit, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "things", partition = "{shelf}")]
#[row(by_id, key = "T:{id:05}")]
#[row(by_name, key = "N:{id:05}", include(name, price))]
struct Thing {
    shelf: String,
    id: u32,
    #[table(alias = "Title")]
    name: Option<String>,
    #[table(alias = "Cost", default)]
    price: f64,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Thing)]
struct Price {
    name: Option<String>,
    #[projection(default)]
    price: f64,
}

fn thing(id: u32, name: &str, price: f64) -> Thing {
    Thing { shelf: "s".to_owned(), id, name: Some(name.to_owned()), price }
}

/// Thing 1 under former names, 2 under present ones, and 3 under both.
async fn fill(subject: &Subject) {
    for start in ["T", "N"] {
        let row = |id: u32| {
            let row = DynamicEntity::new("s", format!("{start}:{id:05}"));
            if start == "T" { row.with("Shelf", "s").with("Id", i64::from(id)) } else { row }
        };
        let rows = [
            row(1).with("Title", "Atlas").with("Cost", 1.5),
            row(2).with("Name", "Globe").with("Price", 2.5),
            row(3)
                .with("Name", "stale")
                .with("Price", 0.5)
                .with("Title", "Chart")
                .with("Cost", 3.5),
        ];
        for row in rows {
            subject.dynamic().insert(&row).await.unwrap();
        }
    }
}

pub async fn are_read_filtered_and_replaced(subject: Subject) {
    fill(&subject).await;
    let repo = subject.tables().repo_in::<Thing>(subject.table.clone());
    let shelf = Thing::partition("s");
    let all = [thing(1, "Atlas", 1.5), thing(2, "Globe", 2.5), thing(3, "Chart", 3.5)];
    assert_eq!(repo.list(&shelf).collect().await.unwrap(), all);
    let scan = repo.scan(ScanPermit::because("a test")).ordered(true).stream();
    assert_eq!(scan.try_collect::<Vec<_>>().await.unwrap(), all);
    let prices: Vec<_> =
        all.iter().map(|thing| Price { name: thing.name.clone(), price: thing.price }).collect();
    let copies = repo.list(shelf.by_name()).project::<Price>();
    assert_eq!(copies.collect().await.unwrap(), prices);
    let named = |name: &'static str| repo.list(shelf.by_id()).filter(move |row| row.name.eq(name));
    assert_eq!(named("Chart").one().await.unwrap(), all[2]);
    assert_eq!(named("stale").count().await.unwrap(), 0);
    let dear = repo.list(shelf.by_name()).filter(|row| row.price.gt(2.0)).project::<Price>();
    assert_eq!(dear.collect().await.unwrap().len(), 2);
    assert!(repo.verify(&shelf).await.unwrap().findings.is_empty());

    repo.merge(shelf.by_id().id(3), ThingPatch::default().price(4.5)).await.unwrap();
    for key in ["T:00003", "N:00003"] {
        let row = subject.dynamic().get("s", key).await.unwrap().unwrap();
        assert_eq!(
            (&row.properties["Name"], &row.properties["Price"]),
            (&"Chart".into(), &4.5.into())
        );
        assert!(!row.properties.contains_key("Title") && !row.properties.contains_key("Cost"));
    }
}
