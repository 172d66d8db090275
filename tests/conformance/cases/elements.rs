//! A row for each element of a field.

use crate::subject::Subject;
use std::collections::BTreeSet;
use table_orm::{Error, Projection, Repo, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "recipes", partition = "{cook}", unique(name))]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_herb, key = "HERB:{herb}__{id:05}", each(herb in herbs))]
#[row(by_minute, key = "MIN:{minute:04}__{id:05}", each(minute in minutes), include(name))]
struct Recipe {
    cook: String,
    id: u32,
    name: String,
    #[table(json)]
    herbs: BTreeSet<String>,
    #[table(series)]
    minutes: Vec<u16>,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Recipe)]
struct Name {
    id: u32,
    name: String,
}

fn recipe<const N: usize>(id: u32, herbs: [&str; N]) -> Recipe {
    Recipe {
        cook: "C".into(),
        id,
        name: format!("Soup {id}"),
        herbs: herbs.map(str::to_owned).into(),
        minutes: vec![30, 45, 30],
    }
}

fn recipes(subject: &Subject) -> Repo<Recipe> {
    subject.tables().repo_in(subject.table.clone())
}

async fn keys(subject: &Subject, start: &str) -> Vec<String> {
    let rows = subject.dynamic().list("C", ..).collect().await.unwrap();
    rows.into_iter().map(|row| row.row_key).filter(|key| key.starts_with(start)).collect()
}

pub async fn have_rows_that_come_and_go_with_them(subject: Subject) {
    let repo = recipes(&subject);
    let cook = Recipe::partition("C");
    repo.insert_many([recipe(1, ["dill", "th\u{ed}me"]), recipe(2, ["dill"])]).await.all().unwrap();
    assert_eq!(keys(&subject, "").await.len(), 2 + 2 + 3 + 4);
    let dill = || cook.by_herb().herb("dill");
    assert_eq!(repo.list(dill()).count().await.unwrap(), 2);
    let names = repo.list(cook.by_minute().minute(30)).project::<Name>().collect().await.unwrap();
    let name = |id| Name { id, name: format!("Soup {id}") };
    assert_eq!(names, [name(1), name(2)]);

    let mut loaded = repo.load(dill().id(1)).await.unwrap().one().unwrap();
    loaded.herbs.remove("dill");
    loaded.herbs.insert("sage".into());
    loaded.minutes.clear();
    repo.save(&mut loaded).await.unwrap();
    let herbs = ["HERB:dill__00002", "HERB:sage__00001", "HERB:th\u{ed}me__00001"];
    assert_eq!(keys(&subject, "HERB").await, herbs);
    assert!(repo.get(dill().id(1)).await.unwrap().is_none());
    let herbs = BTreeSet::from(["chive".to_owned()]);
    repo.merge(cook.by_id().id(2), RecipePatch::default().herbs(herbs)).await.unwrap();
    assert_eq!(repo.load(dill()).await.unwrap().len(), 0);

    let row = subject.dynamic().get("C", "HERB:sage__00001").await.unwrap().unwrap();
    subject.dynamic().delete(&row).await.unwrap();
    let findings = repo.verify(&cook).await.unwrap().findings;
    assert_eq!(findings.len(), 1);
    assert_eq!(repo.repair(findings).await.all().unwrap(), 1);
    assert_eq!(repo.verify(&cook).await.unwrap().findings, []);
    repo.delete_partition(&cook).await.unwrap();
    assert_eq!(keys(&subject, "").await, [""; 0]);
}

/// With the canonical row, a guard, and two rows of minutes.
pub async fn fill_a_transaction_and_no_more(subject: Subject) {
    let repo = recipes(&subject);
    let most = subject.store.transaction_operations();
    let with = |id, herbs: usize| Recipe {
        herbs: (0..herbs).map(|herb| format!("{herb:03}")).collect(),
        ..recipe(id, [])
    };
    let over = repo.insert(&with(1, most - 3)).await;
    assert!(matches!(over, Err(Error::TooManyElements(_))), "{over:?}");
    assert_eq!(keys(&subject, "").await, [""; 0]);
    repo.insert(&with(1, most - 4)).await.unwrap();
    assert_eq!(keys(&subject, "").await.len(), most);
    // The rows of all herbs hold the name.
    let key = Recipe::partition("C").by_id().id(1);
    let renamed = repo.update(&key, |recipe| recipe.name = "Stew".into()).await;
    assert!(matches!(renamed, Err(Error::TooManyElements(_))), "{renamed:?}");
}
