//! Sessions that expire: reads leave them out, their tokens are free, and a purge deletes their rows.

use table_orm::{Error, TableEntity, Tables};
use time::{Duration, OffsetDateTime};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "sessions", partition = "{user}", row = "ID:{id:05}")]
#[table(unique(token, across), expires = until, purge_index)]
struct Session {
    user: String,
    id: u32,
    token: String,
    until: OffsetDateTime,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let sessions = Tables::in_memory()?.repo::<Session>();
    sessions.create_table().await?;

    // Two of Ann's have expired a minute ago.
    let now = OffsetDateTime::now_utc();
    let session = |user: &str, id, token: &str, minutes| {
        let until = now + Duration::minutes(minutes);
        Session { user: user.into(), id, token: token.into(), until }
    };
    sessions.insert(&session("ann", 1, "red", -1)).await?;
    sessions.insert(&session("ann", 2, "green", -1)).await?;
    sessions.insert(&session("ann", 3, "blue", 60)).await?;
    println!("Ann has {} session", sessions.list(Session::partition("ann").row()).count().await?);

    // A token is free once its session has expired, and not before.
    let blue = sessions.insert(&session("bob", 1, "blue", 60)).await;
    println!("blue is taken: {}", matches!(blue, Err(Error::UniqueViolation { .. })));
    sessions.insert(&session("bob", 1, "red", 60)).await?;
    if let Some(holder) = sessions.load_unique(Session::unique_token("red")).await? {
        println!("red belongs to {}", holder.user);
    }

    // As a job, as often as rows may stay.
    let report = sessions.purge().limit(10_000).await;
    println!("purged {}, with {} failures", report.progress.purged, report.failures.len());
    report.all()?;
    Ok(())
}

// Prints:
// Ann has 1 session
// blue is taken: true
// red belongs to bob
// purged 1, with 0 failures
