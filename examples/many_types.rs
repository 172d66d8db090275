//! Reads entities of several types from one partition, in one query, as an enum.

use table_orm::{TableEntity, TableUnion, Tables};

#[derive(Debug, TableEntity)]
#[table(name = "issues", partition = "{project}", row = "ISS:{number:05}")]
struct Issue {
    project: String,
    number: u32,
    title: String,
}

#[derive(Debug, TableEntity)]
#[table(name = "issues", partition = "{project}", row = "COM:{issue:05}__{number:03}")]
struct Comment {
    project: String,
    issue: u32,
    number: u16,
    text: String,
}

/// The compiler checks that no row can be read as both.
#[derive(Debug, TableUnion)]
enum Entry {
    Issue(Issue),
    Comment(Comment),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let tables = Tables::in_memory()?;
    let (issues, comments) = (tables.repo::<Issue>(), tables.repo::<Comment>());
    issues.create_table().await?;
    let project = || "bridge".to_owned();
    issues.insert(&Issue { project: project(), number: 1, title: "It sways".into() }).await?;
    for (number, text) in [(1, "Only in wind."), (2, "There is always wind.")] {
        let comment = Comment { project: project(), issue: 1, number, text: text.into() };
        comments.insert(&comment).await?;
    }

    for entry in tables.union::<Entry>(Issue::partition("bridge")).collect().await? {
        match entry {
            Entry::Issue(issue) => println!("issue {}: {}", issue.number, issue.title),
            Entry::Comment(comment) => println!("comment on {}: {}", comment.issue, comment.text),
        }
    }

    // A list of one type reads the rows of that type only.
    let bridge = Comment::partition("bridge");
    println!("{} comments on issue 1", comments.list(bridge.row().issue(1)).count().await?);
    println!("{} issues", issues.list(Issue::partition("bridge")).count().await?);
    Ok(())
}

// Prints:
// comment on 1: Only in wind.
// comment on 1: There is always wind.
// issue 1: It sways
// 2 comments on issue 1
// 1 issues
