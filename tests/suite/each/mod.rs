//! Rows for each element of a field: written, changed, found and mended with the entity.

mod eventual;
mod limits;
mod model;
mod reads;
mod upkeep;
mod writes;

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use support::recorder::{Record, recorded};
use table_orm::repo::Table;
use table_orm::{KeyPart, Repo, TableEntity, TableName, Tables};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, KeyPart)]
enum Mood {
    #[key("BAD")]
    Bad,
    #[key("GOOD")]
    Good,
}

/// Collections of every kind, and every kind of copy.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "articles", partition = "{blog}", unique(slug))]
#[row(by_number, key = "ART:{number:08}")]
#[row(by_label, key = "LAB:{label}__{number:08}", each(label in labels))]
#[row(by_word, key = "WORD:{word}__{number:08}", each(label in labels), include())]
#[row(by_year, key = "YEAR:{year:04}__{number:08}", each(year in years), include(title))]
#[row(by_mood, key = "MOOD:{mood}__{number:08}", each(mood in moods), when = Article::is_public, exclude(text))]
#[row(by_shift, key = "SHIFT:{number:08}__{shifted}", each(shift in shifts))]
#[component(word = lower(label), shifted = biased(shift))]
struct Article {
    blog: String,
    number: u32,
    title: String,
    text: String,
    slug: Option<String>,
    is_public: bool,
    #[table(json)]
    labels: Vec<String>,
    #[table(series)]
    years: Vec<u16>,
    #[table(json)]
    moods: Option<BTreeSet<Mood>>,
    #[table(json)]
    shifts: [i16; 2],
}

impl Article {
    fn is_public(&self) -> bool {
        self.is_public
    }
}

fn article(number: u32, labels: &[&str]) -> Article {
    Article {
        blog: "B".into(),
        number,
        title: format!("Title {number}"),
        text: "..".into(),
        slug: None,
        is_public: false,
        labels: texts(labels),
        years: Vec::new(),
        moods: None,
        shifts: [0, 0],
    }
}

fn texts(labels: &[&str]) -> Vec<String> {
    labels.iter().map(|label| (*label).to_owned()).collect()
}

struct Blog {
    tables: Tables,
    articles: Repo<Article>,
    rows: Table,
    requests: Record,
}

impl Blog {
    async fn new() -> Self {
        let (tables, requests) = recorded();
        let articles = tables.repo::<Article>();
        articles.create_table().await.unwrap();
        let rows = tables.table(TableName::new("articles").unwrap());
        Self { tables, articles, rows, requests }
    }

    /// The RowKeys of the partition that begin so.
    async fn keys(&self, start: &str) -> Vec<String> {
        let rows = self.rows.list("B", ..).collect().await.unwrap();
        rows.into_iter().map(|row| row.row_key).filter(|key| key.starts_with(start)).collect()
    }

    /// Whether every row is what its canonical row says.
    async fn is_in_step(&self) -> bool {
        self.articles.verify(Article::partition("B")).await.unwrap().findings.is_empty()
    }
}
