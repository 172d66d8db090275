//! Entities whose rows one transaction cannot hold.

use super::{Article, Blog, article};
use table_orm::entity::{Excess, TooManyElements};
use table_orm::{DynamicEntity, Error, ErrorKind};

fn many(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{at:03}")).collect()
}

fn with_labels(number: u32, labels: Vec<String>) -> Article {
    Article { labels, ..article(number, &[]) }
}

fn excess(error: Error) -> Excess {
    assert_eq!(error.kind(), ErrorKind::ClientError);
    let text = error.to_string();
    assert!(text.contains("`labels` of `Article`") && text.contains("nothing was sent"), "{text}");
    match error {
        Error::TooManyElements(TooManyElements { excess, field: "labels", .. }) => excess,
        other => panic!("{other}"),
    }
}

/// The canonical row, two rows for each label, and one for the two equal shifts.
#[tokio::test]
async fn as_many_elements_as_fit_a_transaction_are_stored_and_one_more_is_an_error() {
    let blog = Blog::new().await;
    blog.articles.insert(&with_labels(1, many(49))).await.unwrap();
    assert_eq!(blog.requests.take().writes, [100]);
    let over = with_labels(2, many(50));
    assert_eq!(excess(blog.articles.insert(&over).plan().unwrap_err()), Excess::Rows);
    assert_eq!(excess(blog.articles.insert(&over).await.unwrap_err()), Excess::Rows);
    assert_eq!(excess(blog.articles.upsert(&over).await.unwrap_err()), Excess::Rows);
    let transaction = blog.tables.transaction(Article::partition("B")).insert(&over);
    assert_eq!(excess(transaction.commit().await.unwrap_err()), Excess::Rows);
    assert_eq!(blog.requests.take().writes, [0; 0]);
}

#[tokio::test]
async fn a_change_of_too_many_elements_is_an_error_and_several_saves_make_it() {
    let blog = Blog::new().await;
    blog.articles.insert(&with_labels(1, many(40))).await.unwrap();
    blog.requests.take();
    let key = || Article::partition("B").by_number().number(1);
    let others: Vec<_> = many(80).split_off(40);
    let change = |article: &mut Article| article.labels.clone_from(&others);
    let error = blog.articles.update(key(), change).await.unwrap_err();
    assert_eq!(excess(error), Excess::Operations(1 + 4 * 40 + 1));
    assert_eq!(blog.requests.take().writes, [0; 0]);
    blog.articles.update(key(), |article| article.labels.clear()).await.unwrap();
    blog.articles.update(key(), change).await.unwrap();
    assert!(blog.is_in_step().await);
    assert_eq!(blog.keys("LAB").await.len(), 40);
}

#[tokio::test]
async fn rows_of_too_many_bytes_are_an_error() {
    let blog = Blog::new().await;
    let long = |labels| Article { text: "x".repeat(30_000), ..with_labels(1, many(labels)) };
    let error = blog.articles.insert(&long(49)).await;
    error.unwrap();
    let long = |labels| Article {
        number: 2,
        text: "x".repeat(32_000),
        title: "y".repeat(32_000),
        slug: Some("z".repeat(400)),
        ..with_labels(2, many(labels))
    };
    let long = |labels| Article {
        blog: "\u{20ac}".repeat(100),
        text: "\u{20ac}".repeat(32_000),
        ..long(labels)
    };
    blog.requests.take();
    match excess(blog.articles.insert(&long(40)).await.unwrap_err()) {
        Excess::Bytes(bytes) => assert!(bytes > 4 * 1024 * 1024),
        other => panic!("{other}"),
    }
    assert_eq!(blog.requests.take().writes, [0; 0]);
    blog.articles.insert(&long(25)).await.unwrap();
}

#[tokio::test]
async fn a_bulk_write_reports_the_entity_and_writes_the_others() {
    let blog = Blog::new().await;
    let articles = [article(1, &["a"]), with_labels(2, many(50)), article(3, &["a"])];
    let report = blog.articles.insert_many(articles).continue_on_failure().await;
    assert_eq!(report.written.entities, 2);
    assert_eq!(blog.keys("LAB").await, ["LAB:a__00000001", "LAB:a__00000003"]);
    let failures: Vec<_> = report.failures.into_iter().collect();
    let [failure] = &failures[..] else { panic!("{failures:?}") };
    assert_eq!(failure.entity.as_ref().map(|entity| entity.number), Some(2));
    assert!(matches!(failure.error, Error::TooManyElements(_)));
}

/// Another program, or an earlier version of the type, knew no rows for elements.
#[tokio::test]
async fn an_entity_that_was_stored_with_too_many_elements_can_be_changed_and_deleted() {
    let blog = Blog::new().await;
    let labels = serde_json::to_string(&many(300)).unwrap();
    for number in [1, 2, 3] {
        blog.articles.insert(&article(number, &[])).await.unwrap();
        let row = DynamicEntity::new("B", format!("ART:{number:08}"));
        blog.rows.merge(&row.with("Labels", labels.as_str())).await.unwrap();
    }
    let report = blog.articles.verify(Article::partition("B")).await.unwrap();
    assert!(
        report.findings.iter().all(|finding| finding.to_string().contains("cannot be written"))
    );
    let key = |number| Article::partition("B").by_number().number(number);
    let error = blog.articles.update(key(1), |article| article.title.push('!')).await.unwrap_err();
    assert_eq!(excess(error), Excess::Rows);
    blog.articles.update(key(1), |article| article.labels.truncate(20)).await.unwrap();
    let loaded = blog.articles.load(key(2)).await.unwrap().one().unwrap();
    blog.articles.delete(loaded).await.unwrap();
    assert_eq!(blog.keys("LAB").await.len(), 20);
    blog.articles.delete_partition(Article::partition("B")).await.unwrap();
    assert_eq!(blog.keys("").await, [""; 0]);
}
