//! Rows for each element in other partitions: people who are mentioned.

use table_orm::entity::eventual_rows;
use table_orm::{EntityKeys, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "posts", partition = "{blog}")]
#[row(by_id, key = "POST:{id:05}")]
#[row(
    by_mention,
    partition = "@{person}",
    key = "AT:{blog}__{id:05}",
    each(person in mentions),
    include(title),
    eventual
)]
#[row(by_label, partition = "all", key = "LAB:{label}__{blog}__{id:05}", each(label in labels), eventual)]
struct Post {
    blog: String,
    id: u32,
    title: String,
    #[table(json)]
    mentions: Vec<String>,
    #[table(json)]
    labels: Vec<String>,
}

fn post(mentions: &[&str], labels: &[&str]) -> Post {
    Post {
        blog: "B".into(),
        id: 7,
        title: "On rows".into(),
        mentions: super::texts(mentions),
        labels: super::texts(labels),
    }
}

#[test]
fn each_element_has_a_row_in_the_partition_that_it_names() {
    let rows = eventual_rows(&post(&["ann", "bob", "ann"], &["x", "y"])).unwrap();
    let keys: Vec<_> =
        rows.iter().map(|row| (row.partition_key.as_str(), row.row_key.as_str())).collect();
    let expected = [
        ("@ann", "AT:B__00007"),
        ("@bob", "AT:B__00007"),
        ("all", "LAB:x__B__00007"),
        ("all", "LAB:y__B__00007"),
    ];
    assert_eq!(keys, expected);
    assert_eq!(eventual_rows(&post(&[], &[])).unwrap(), []);
}

#[tokio::test]
async fn a_checked_query_yields_what_still_has_the_element() {
    let tables = Tables::in_memory().unwrap();
    let posts = tables.repo::<Post>();
    posts.create_table().await.unwrap();
    let rows = tables.table(posts.table().clone());
    // As settling writes them.
    let write = async |post: &Post| {
        for row in eventual_rows(post).unwrap() {
            let mut stored =
                rows.get(&row.partition_key, &row.row_key).await.unwrap().unwrap_or_else(|| {
                    table_orm::DynamicEntity::new(row.partition_key.as_str(), row.row_key.as_str())
                });
            stored = stored.with("Title", post.title.as_str());
            rows.insert_or_replace(&stored).await.unwrap();
        }
    };
    let stored = post(&["ann"], &["x"]);
    posts.insert(&stored).await.unwrap();
    write(&post(&["ann", "bob"], &["x"])).await;
    for (person, expected) in [("ann", 1), ("bob", 0), ("eve", 0)] {
        let found = posts.list(Post::by_mention(person)).checked().collect().await.unwrap();
        assert_eq!(found.len(), expected, "{person}");
        assert!(found.iter().all(|found| *found == stored));
    }
    let keys = stored.keys_in::<PostByMention>();
    let keys: Vec<_> = keys.into_iter().map(|key| key.into_texts().unwrap()).collect();
    assert_eq!(keys, [("@ann".to_owned(), "AT:B__00007".to_owned())]);
}
