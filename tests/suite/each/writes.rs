//! What the calls that write send.

use super::{Article, ArticlePatch, Blog, Mood, article, texts};
use table_orm::TableEntity;
use table_orm::entity::EntityRows;
use table_orm::plan::Plan;

fn sent(plan: &Plan) -> Vec<String> {
    let text = |operation: &table_orm::store::Operation| {
        format!("{} {}", operation.action.name(), operation.row_key)
    };
    plan.operations().map(text).collect()
}

#[tokio::test]
async fn one_transaction_writes_a_row_for_each_element() {
    let blog = Blog::new().await;
    let rust = Article {
        years: vec![2024, 1999],
        moods: Some([Mood::Good, Mood::Bad].into()),
        is_public: true,
        shifts: [-1, 1],
        slug: Some("s".into()),
        ..article(7, &["Rust", "go"])
    };
    let plan = blog.articles.insert(&rust).plan().unwrap();
    let keys = [
        "ART:00000007",
        "UNQ:slug:s",
        "LAB:Rust__00000007",
        "LAB:go__00000007",
        "WORD:rust__00000007",
        "WORD:go__00000007",
        "YEAR:2024__00000007",
        "YEAR:1999__00000007",
        "MOOD:BAD__00000007",
        "MOOD:GOOD__00000007",
        "SHIFT:00000007__32767",
        "SHIFT:00000007__32769",
    ];
    assert_eq!(sent(&plan), keys.map(|key| format!("insert {key}")));
    blog.articles.insert(&rust).await.unwrap();
    assert_eq!(blog.requests.take().writes, [keys.len()]);
    let mut stored = keys.to_vec();
    stored.sort_unstable();
    assert_eq!(blog.keys("").await, stored);
    assert!(blog.is_in_step().await);
}

#[test]
fn equal_elements_and_elements_of_one_key_have_one_row() {
    let twice = article(7, &["go", "Go", "go"]);
    let rows = EntityRows::of(&twice).unwrap();
    let keys: Vec<_> = rows.rows.iter().map(|row| row.row_key.as_str()).collect();
    let expected = [
        "ART:00000007",
        "LAB:go__00000007",
        "LAB:Go__00000007",
        "WORD:go__00000007",
        "SHIFT:00000007__32768",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn an_entity_without_elements_or_outside_the_condition_has_no_such_rows() {
    let moods = Some([Mood::Good].into());
    let keys = |entity: &Article| {
        let rows = EntityRows::of(entity).unwrap().rows.into_iter();
        rows.map(|row| row.row_key).filter(|key| !key.starts_with("SHIFT")).collect::<Vec<_>>()
    };
    assert_eq!(keys(&Article { moods: moods.clone(), ..article(7, &[]) }), ["ART:00000007"]);
    let public = Article { moods, is_public: true, ..article(7, &[]) };
    assert_eq!(keys(&public), ["ART:00000007", "MOOD:GOOD__00000007"]);
    assert_eq!(keys(&Article { moods: None, ..public }), ["ART:00000007"]);
}

#[tokio::test]
async fn a_save_touches_only_rows_whose_element_or_copy_changed() {
    let blog = Blog::new().await;
    blog.articles.insert(&article(7, &["a", "b", "c"])).await.unwrap();
    let key = Article::partition("B").by_number().number(7);
    let mut loaded = blog.articles.load(key).await.unwrap().one().unwrap();
    loaded.labels = texts(&["c", "d", "b"]);
    let plan = blog.articles.save(&mut loaded).plan().unwrap();
    let expected = [
        "replace ART:00000007",
        "delete LAB:a__00000007",
        "insert-or-replace LAB:c__00000007",
        "insert LAB:d__00000007",
        "insert-or-replace LAB:b__00000007",
        "delete WORD:a__00000007",
        "insert WORD:d__00000007",
        "insert-or-replace SHIFT:00000007__32768",
    ];
    assert_eq!(sent(&plan), expected);
    blog.requests.take();
    blog.articles.save(&mut loaded).await.unwrap();
    assert_eq!(blog.requests.take().writes, [expected.len()]);
    assert_eq!(blog.keys("LAB").await.len(), 3);
    assert!(blog.is_in_step().await);
    assert_eq!(sent(&blog.articles.save(&mut loaded).plan().unwrap()), [""; 0]);
}

#[tokio::test]
async fn a_patch_sets_the_elements_and_moves_their_rows() {
    let blog = Blog::new().await;
    blog.articles.insert(&article(7, &["a", "b"])).await.unwrap();
    blog.requests.take();
    let key = Article::partition("B").by_number().number(7);
    let patch = ArticlePatch::default().labels(texts(&["b", "c"]));
    blog.articles.merge(&key, patch).await.unwrap();
    let requests = blog.requests.take();
    assert_eq!((requests.gets, requests.writes.len()), (1, 1));
    assert_eq!(blog.keys("LAB").await, ["LAB:b__00000007", "LAB:c__00000007"]);
    assert!(blog.is_in_step().await);
}

#[tokio::test]
async fn two_entities_of_one_transaction_exchange_their_elements() {
    let blog = Blog::new().await;
    let partition = Article::partition("B");
    blog.articles.insert_many([article(1, &["a"]), article(2, &["b"])]).await.all().unwrap();
    blog.requests.take();
    let mut both = blog.articles.load(partition.by_number()).await.unwrap().into_vec();
    let (one, two) = both.split_at_mut(1);
    std::mem::swap(&mut one[0].labels, &mut two[0].labels);
    let transaction = blog.tables.transaction(&partition);
    transaction.save(&mut one[0]).save(&mut two[0]).commit().await.unwrap();
    assert_eq!(blog.requests.take().writes.len(), 1);
    assert_eq!(blog.keys("LAB").await, ["LAB:a__00000002", "LAB:b__00000001"]);
    assert!(blog.is_in_step().await);
}

#[test]
fn a_blind_write_is_not_offered_because_old_elements_must_be_known() {
    const { assert!(!Article::KEYS_FOLLOW_CANONICAL && !Article::PATCHES_ONE_ROW) };
}
