//! What is found through rows for elements.

use super::{Article, ArticleByLabel, ArticleByMood, ArticleByWord, Blog, article, texts};
use table_orm::entity::EntityKey;
use table_orm::query::QueryClass;
use table_orm::{EntityKeys, Projection, ScanPermit, TableEntity};

async fn three() -> Blog {
    let blog = Blog::new().await;
    let years = |number, labels: &[&str], years: &[u16]| Article {
        years: years.to_vec(),
        ..article(number, labels)
    };
    let articles = [
        years(1, &["rust", "ruby"], &[2023, 2024]),
        years(2, &["rust"], &[2024]),
        years(3, &["go", "rusty"], &[]),
    ];
    blog.articles.insert_many(articles).await.all().unwrap();
    blog.requests.take();
    blog
}

fn numbers(articles: &[Article]) -> Vec<u32> {
    articles.iter().map(|article| article.number).collect()
}

#[tokio::test]
async fn an_element_finds_its_entities_by_point_range_and_prefix() {
    let blog = three().await;
    let rows = || Article::partition("B").by_label();
    let rust = blog.articles.list(rows().label("rust"));
    assert_eq!(rust.plan().unwrap().class(), Some(QueryClass::RowRange));
    assert_eq!(numbers(&rust.collect().await.unwrap()), [1, 2]);
    let from_two = blog.articles.list(rows().label("rust").number_in(2..));
    assert_eq!(numbers(&from_two.collect().await.unwrap()), [2]);
    let ru = blog.articles.list(rows().label_starts_with("ru"));
    assert_eq!(numbers(&ru.collect().await.unwrap()), [1, 1, 2, 3]);
    let get = blog.articles.get(rows().label("go").number(3)).await.unwrap();
    assert_eq!(get.unwrap().labels, texts(&["go", "rusty"]));
    assert!(blog.articles.get(rows().label("go").number(1)).await.unwrap().is_none());
    assert_eq!(blog.articles.list(rows()).count().await.unwrap(), 5);
}

#[tokio::test]
async fn a_projection_reads_the_properties_that_each_row_stores() {
    #[derive(Debug, PartialEq, Projection)]
    #[projection(of = Article)]
    struct Title {
        number: u32,
        title: String,
    }

    let blog = three().await;
    let rows = Article::partition("B").by_year().year(2024);
    let titles = blog.articles.list(rows).project::<Title>().collect().await.unwrap();
    let title = |number| Title { number, title: format!("Title {number}") };
    assert_eq!(titles, [title(1), title(2)]);
}

#[tokio::test]
async fn a_load_returns_an_entity_of_several_rows_once() {
    let blog = three().await;
    let rows = Article::partition("B").by_label().label_starts_with("ru");
    let loaded = blog.articles.load(rows).await.unwrap();
    let numbers: Vec<_> = loaded.iter().map(|article| article.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(blog.requests.take().gets, 3);
    for mut article in loaded {
        article.title.push('!');
        blog.articles.save(article).await.unwrap();
    }
    assert!(blog.is_in_step().await);
}

#[tokio::test]
async fn a_load_leaves_out_an_entity_that_no_longer_has_the_element() {
    let blog = three().await;
    // Rows that were left behind, as after a change by another program.
    for number in [1, 2] {
        let key = format!("ART:{number:08}");
        let row = blog.rows.get("B", &key).await.unwrap().unwrap();
        blog.rows.replace(&row.with("Labels", r#"["ruby"]"#)).await.unwrap();
    }
    let rows = || Article::partition("B").by_label();
    assert!(blog.articles.load(rows().label("rust")).await.unwrap().is_empty());
    // One of the rows in the range is still right.
    let ru = blog.articles.load(rows().label_starts_with("ru")).await.unwrap();
    let numbers: Vec<_> = ru.iter().map(|article| article.number).collect();
    assert_eq!(numbers, [1, 3]);
}

#[tokio::test]
async fn a_row_with_an_element_that_its_properties_lack_is_an_error() {
    let blog = three().await;
    let row = blog.rows.get("B", "LAB:go__00000003").await.unwrap().unwrap();
    blog.rows.replace(&row.with("Labels", r#"["rusty"]"#)).await.unwrap();
    let rows = Article::partition("B").by_label().label("go");
    let error = blog.articles.load(rows).await.unwrap_err();
    assert!(matches!(error, table_orm::Error::KeyMismatch(_)), "{error}");
}

#[tokio::test]
async fn an_entity_knows_the_keys_of_all_its_rows() {
    let blog = three().await;
    let first = blog.articles.get(article(1, &[]).key()).await.unwrap().unwrap();
    let keys = first.keys_in::<ArticleByLabel>();
    for key in &keys {
        assert_eq!(blog.articles.get(key).await.unwrap().as_ref(), Some(&first));
    }
    let texts = |key: EntityKey<ArticleByLabel>| key.into_texts().unwrap().1;
    let keys: Vec<_> = keys.into_iter().map(texts).collect();
    assert_eq!(keys, ["LAB:rust__00000001", "LAB:ruby__00000001"]);
    let one = first.key_in::<ArticleByLabel>().map(texts);
    assert_eq!(one.as_deref(), Some("LAB:rust__00000001"));
    assert!(first.keys_in::<ArticleByMood>().is_empty());
}

#[test]
fn elements_that_share_a_row_have_one_key() {
    let texts = |labels: &[&str]| -> Vec<_> {
        let keys = article(1, labels).keys_in::<ArticleByWord>().into_iter();
        keys.map(|key| key.into_texts().unwrap().1).collect()
    };
    assert_eq!(texts(&["Rust", "go", "rust"]), texts(&["rust", "go"]));
    assert_eq!(texts(&["Rust", "go", "rust"]).len(), 2);
}

#[tokio::test]
async fn a_scan_counts_each_entity_once() {
    let blog = three().await;
    let scan = blog.articles.scan(ScanPermit::because("test"));
    assert_eq!(scan.count().await.unwrap().rows, 3);
}

#[tokio::test]
async fn rows_of_another_type_below_the_elements_are_left_out() {
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "articles", partition = "{blog}")]
    #[row(by_number, key = "ART:{number:08}__COMMENT:{at:04}")]
    #[row(by_label, key = "LAB:{label}__{number:08}__COMMENT:{at:04}", each(label in labels))]
    struct Comment {
        blog: String,
        number: u32,
        at: u16,
        #[table(json)]
        labels: Vec<String>,
    }

    let blog = three().await;
    let comments = blog.tables.repo::<Comment>();
    let comment = Comment { blog: "B".into(), number: 1, at: 1, labels: texts(&["rust", "fun"]) };
    comments.insert(&comment).await.unwrap();
    let rows = Article::partition("B").by_label().label("rust");
    let found = blog.articles.list(rows).collect().await.unwrap();
    assert_eq!(numbers(&found), [1, 2]);
    let rows = Comment::partition("B").by_label().label("rust");
    assert_eq!(comments.list(rows).collect().await.unwrap(), [comment]);
    blog.articles.delete_partition(Article::partition("B")).await.unwrap();
    assert_eq!(blog.keys("").await.len(), 3);
}
