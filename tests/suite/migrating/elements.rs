//! Types with a row for each element of a field.

use super::types::{Counter, permit};
use std::sync::Arc;
use table_orm::embedded::EmbeddedStore;
use table_orm::migrate::{Migrating, StoredForm};
use table_orm::{Error, Repo, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "articles", partition = "{blog}")]
#[row(by_number, key = "A:{n:03}")]
#[row(by_label, key = "L:{label}__{n:03}", each(label in labels), include())]
struct ArticleV1 {
    blog: String,
    n: u32,
    title: String,
    #[table(json)]
    labels: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "articles", partition = "{blog}", migrate_from = ArticleV1)]
#[row(by_number, key = "ART:{n:08}")]
#[row(by_label, key = "LAB:{label}__{n:08}", each(label in labels))]
struct Article {
    blog: String,
    n: u32,
    title: String,
    #[table(json)]
    labels: Vec<String>,
}

impl From<ArticleV1> for Article {
    fn from(ArticleV1 { blog, n, title, labels }: ArticleV1) -> Self {
        Self { blog, n, title, labels }
    }
}

impl From<Article> for ArticleV1 {
    fn from(Article { blog, n, title, labels }: Article) -> Self {
        Self { blog, n, title, labels }
    }
}

fn article(n: u32, labels: &[&str]) -> Article {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    Article { blog: "B".into(), n, title: format!("Title {n}"), labels }
}

fn with_labels(n: u32, count: u32) -> Article {
    let labels = (0..count).map(|label| format!("{label:03}")).collect();
    Article { labels, ..article(n, &[]) }
}

struct Blog {
    store: Arc<Counter>,
    tables: Tables,
    old: Repo<ArticleV1>,
    version_1: Migrating<Article>,
    version_2: Migrating<Article>,
}

async fn blog() -> Blog {
    let store = Arc::new(Counter::around(Arc::new(EmbeddedStore::in_memory().unwrap())));
    let tables = Tables::new(store.clone());
    let old = tables.repo::<ArticleV1>();
    old.create_table().await.unwrap();
    let version_2 = tables.migrating::<Article>().unwrap();
    let version_1 = version_2.clone().inserting(StoredForm::Old);
    store.take();
    Blog { store, tables, old, version_1, version_2 }
}

impl Blog {
    async fn keys(&self) -> Vec<String> {
        let name = table_orm::TableName::new("articles").unwrap();
        let rows = self.tables.scan(name, permit()).ordered(true).collect().await.unwrap();
        rows.into_iter().map(|row| row.row_key).collect()
    }
}

fn numbers(articles: &[Article]) -> Vec<u32> {
    articles.iter().map(|article| article.n).collect()
}

/// One in its old form, one in its new form, one that moves.
async fn three() -> Blog {
    let blog = blog().await;
    blog.old.insert(&article(1, &["ruby", "rust"]).into()).await.unwrap();
    blog.version_2.insert(&article(2, &["rust"])).await.unwrap();
    blog.old.insert(&article(3, &["go", "rusty"]).into()).await.unwrap();
    blog.store.take();
    blog
}

#[tokio::test]
async fn an_element_finds_its_entities_in_either_form() {
    let blog = three().await;
    let rows = || Article::partition("B").by_label();
    for moved in [false, true] {
        for client in [&blog.version_1, &blog.version_2] {
            let rust = client.list(rows().label("rust")).await.unwrap();
            assert_eq!(numbers(&rust), [1, 2]);
            let go = client.list(rows().label("go")).first().await.unwrap();
            assert_eq!(go, Some(article(3, &["go", "rusty"])));
            // Once for each row.
            let ru = client.list(rows().label_starts_with("ru"));
            assert_eq!(numbers(&ru.clone().await.unwrap()), [1, 1, 2, 3], "{moved}");
            assert_eq!(numbers(&ru.clone().take(3).await.unwrap()), [1, 1, 2]);
            let mut pages = ru.pages(2);
            for expected in [[1, 1], [2, 3]] {
                assert_eq!(numbers(&pages.next().await.unwrap().unwrap()), expected);
            }
            assert_eq!(client.list(rows()).count().await.unwrap(), 5);
        }
        let moved = blog.version_2.migrate(&permit()).await.all().unwrap();
        assert!(moved == 2 || moved == 0, "{moved}");
    }
    let stored = blog.keys().await;
    let expected = [
        "A:001",
        "A:002",
        "A:003",
        "ART:00000001",
        "ART:00000002",
        "ART:00000003",
        "LAB:go__00000003",
        "LAB:ruby__00000001",
        "LAB:rust__00000001",
        "LAB:rust__00000002",
        "LAB:rusty__00000003",
    ];
    assert_eq!(stored, expected);
}

#[tokio::test]
async fn a_save_that_moves_an_entity_changes_its_elements() {
    let blog = three().await;
    let key = |n: u32| Article::partition("B").by_number().n(n);
    blog.version_2.update(key(1), |article| article.labels = vec!["c".into()]).await.unwrap();
    blog.version_1.update(key(3), |article| article.labels = vec!["d".into()]).await.unwrap();
    let labels: Vec<_> = blog.keys().await.into_iter().filter(|key| key.starts_with('L')).collect();
    assert_eq!(labels, ["L:d__003", "LAB:c__00000001", "LAB:rust__00000002"]);
}

#[tokio::test]
async fn an_entity_of_more_rows_than_a_transaction_takes_travels_within_its_partition() {
    let blog = blog().await;
    for n in [1, 2] {
        blog.old.insert(&with_labels(n, 60).into()).await.unwrap();
    }
    blog.old.insert(&with_labels(3, 10).into()).await.unwrap();
    let plan = blog.version_2.migrate(&permit()).in_bulk().plan().await.unwrap();
    assert_eq!((plan.entities, plan.parcels, plan.requests), (3, 2, 3 + 3 + 1));
    let mut held =
        blog.version_2.load(Article::partition("B").by_number().n(1_u32)).await.unwrap().unwrap();
    held.title = "new".into();
    blog.store.take();
    blog.version_2.save(&mut held).await.unwrap();
    assert_eq!((blog.store.take(), held.form()), (3, StoredForm::New));
    let all = || blog.version_1.list(Article::partition("B").by_label().label("007"));
    assert_eq!(numbers(&all().await.unwrap()), [1, 2, 3]);
    // Old rows, parcels, new rows.
    assert_eq!(blog.store.take(), 3);
    assert_eq!(blog.version_2.migrate(&permit()).in_bulk().await.all().unwrap(), 2);
    assert!(blog.version_2.verify_migrated(&permit()).await.unwrap().is_complete());
    assert_eq!(numbers(&all().await.unwrap()), [1, 2, 3]);
    assert_eq!(blog.keys().await.len(), 3 + 61 + 61 + 11);
}

#[tokio::test]
async fn an_entity_of_one_hundred_rows_stays_in_its_old_form_and_is_served_in_it() {
    let blog = blog().await;
    blog.old.insert(&with_labels(1, 98).into()).await.unwrap();
    blog.old.insert(&with_labels(2, 99).into()).await.unwrap();
    let plan = blog.version_2.migrate(&permit()).plan().await.unwrap();
    let unmovable: Vec<_> = plan.unmovable.iter().map(|unmovable| &*unmovable.row_key).collect();
    assert_eq!((plan.entities, unmovable), (1, vec!["A:002"]));
    let report = blog.version_2.migrate(&permit()).await;
    let skipped: Vec<_> = report.skipped.iter().map(|skipped| &*skipped.row_key).collect();
    assert_eq!((report.progress.moved, skipped), (1, vec!["A:002"]));
    assert!(matches!(report.skipped[0].reason, Error::TooLarge(_)), "{report:?}");
    let key = Article::partition("B").by_number().n(2_u32);
    blog.version_1.update(&key, |article| article.title = "new".into()).await.unwrap();
    assert_eq!(blog.version_2.get(&key).await.unwrap().unwrap().title, "new");
    // It can be inserted in its new form: first the marker, then all rows.
    blog.store.take();
    blog.version_2.insert(&with_labels(3, 99)).await.unwrap();
    assert_eq!(blog.store.take(), 2);
    let report = blog.version_2.insert_many((4..6).map(|n| with_labels(n, 99))).await;
    assert_eq!(report.all().unwrap(), 2);
    let found = blog.version_1.list(Article::partition("B").by_label().label("098")).await.unwrap();
    assert_eq!(numbers(&found), [2, 3, 4, 5]);
}

#[tokio::test]
async fn with_a_unique_value_an_entity_moves_in_one_transaction_or_not_at_all() {
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "posts", partition = "{blog}", unique(slug))]
    #[row(by_number, key = "A:{n:03}")]
    #[row(by_label, key = "L:{label}__{n:03}", each(label in labels))]
    struct PostV1 {
        blog: String,
        n: u32,
        slug: String,
        #[table(json)]
        labels: Vec<u32>,
    }
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "posts", partition = "{blog}", unique(slug), migrate_from = PostV1)]
    #[row(by_number, key = "POST:{n:08}")]
    #[row(by_label, key = "LAB:{label}__{n:08}", each(label in labels))]
    struct Post {
        blog: String,
        n: u32,
        slug: String,
        #[table(json)]
        labels: Vec<u32>,
    }
    impl From<PostV1> for Post {
        fn from(PostV1 { blog, n, slug, labels }: PostV1) -> Self {
            Self { blog, n, slug, labels }
        }
    }
    impl From<Post> for PostV1 {
        fn from(Post { blog, n, slug, labels }: Post) -> Self {
            Self { blog, n, slug, labels }
        }
    }

    let tables = Tables::in_memory().unwrap();
    let old = tables.repo::<PostV1>();
    old.create_table().await.unwrap();
    let posts = tables.migrating::<Post>().unwrap();
    for (n, count) in [(1, 40), (2, 60)] {
        let (slug, labels) = (format!("post-{n}"), (0..count).collect());
        old.insert(&PostV1 { blog: "B".into(), n, slug, labels }).await.unwrap();
    }
    let plan = posts.migrate(&permit()).plan().await.unwrap();
    assert_eq!((plan.entities, plan.unmovable.len()), (1, 1));
    let report = posts.migrate(&permit()).await;
    assert_eq!((report.progress.moved, report.skipped.len()), (1, 1));
    assert!(matches!(report.skipped[0].reason, Error::TooManyElements(_)), "{report:?}");
    assert!(posts.verify_migrated(&permit()).await.unwrap().left_over.is_empty());
    let slug = |n, slug: &str| Post { blog: "B".into(), n, slug: slug.into(), labels: vec![] };
    for taken in ["post-1", "post-2"] {
        let refused = posts.insert(&slug(3, taken)).await;
        assert!(matches!(refused, Err(Error::UniqueViolation { .. })), "{refused:?}");
    }
}

/// With events, which take two more operations of a transaction.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "posts", partition = "{blog}", outbox)]
#[row(by_number, key = "P:{n:03}")]
#[row(by_label, key = "L:{label}__{n:03}", each(label in labels), include())]
struct PostV1 {
    blog: String,
    n: u32,
    title: String,
    #[table(json)]
    labels: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "posts", partition = "{blog}", outbox, migrate_from = PostV1)]
#[row(by_number, key = "POST:{n:08}")]
#[row(by_label, key = "LAB:{label}__{n:08}", each(label in labels), include())]
struct Post {
    blog: String,
    n: u32,
    title: String,
    #[table(json)]
    labels: Vec<String>,
}

impl From<PostV1> for Post {
    fn from(PostV1 { blog, n, title, labels }: PostV1) -> Self {
        Self { blog, n, title, labels }
    }
}

impl From<Post> for PostV1 {
    fn from(Post { blog, n, title, labels }: Post) -> Self {
        Self { blog, n, title, labels }
    }
}

#[tokio::test]
async fn what_fits_a_transaction_only_without_its_event_goes_in_two_ways_that_fit() {
    let tables = Tables::in_memory().unwrap();
    let old = tables.repo::<PostV1>();
    old.create_table().await.unwrap();
    let version_2 = tables.migrating::<Post>().unwrap();
    let version_1 = version_2.clone().inserting(StoredForm::Old);
    let post = |n, count: u32| Post {
        blog: "B".into(),
        n,
        title: "Title".into(),
        labels: (0..count).map(|label| format!("{label:03}")).collect(),
    };
    let key = |n| Post::partition("B").by_number().n(n);
    // 50 rows of each form; 49 of them, and those in between.
    for labels in 46..=49 {
        old.insert(&post(labels, labels).into()).await.unwrap();
        let saved = version_2.update(key(labels), |post| post.title.push('!')).await;
        assert_eq!(saved.unwrap().title, "Title!");
    }
    // The marker, 98 rows and the event.
    for labels in 95..=97 {
        version_2.insert(&post(labels, labels)).await.unwrap();
        version_1.insert(&post(100 + labels, labels)).await.unwrap();
        let many = version_2.insert_many([post(200 + labels, labels)]).await;
        assert_eq!(many.all().unwrap(), 1);
    }
    assert_eq!(version_2.scan(&permit()).await.unwrap().len(), 4 + 3 * 3);
}
