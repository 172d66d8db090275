//! Transactions that read before they write.

use futures_util::future::join_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use support::recorder::{recorded, recorded_around};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Retry, RetryStrategy};
use table_orm::plan::Step;
use table_orm::repo::TransactionError;
use table_orm::store::{Batch, Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use table_orm::{ETag, EntityKeys, Error, Loaded, Repo, TableEntity, TableName, Tables};
use tokio::time::sleep;

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "issues", partition = "{team}", unique(slug))]
#[row(by_number, key = "ISSUE:{number:05}")]
#[row(by_title, key = "TITLE:{title}__{number:05}")]
struct Issue {
    team: String,
    number: u32,
    title: String,
    slug: Option<String>,
    comments: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "issues", partition = "{team}", row = "COMMENT:{number:05}__{id:05}")]
struct Comment {
    team: String,
    number: u32,
    id: u32,
    text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "labels", partition = "{team}", row = "{name}")]
struct Label {
    team: String,
    name: String,
}

fn issue(number: u32) -> Issue {
    let title = format!("T{number}");
    Issue { team: "core".into(), number, title, slug: Some(format!("s{number}")), comments: 0 }
}

fn comment(id: u32) -> Comment {
    Comment { team: "core".into(), number: 1, id, text: None }
}

fn key(number: u32) -> table_orm::entity::EntityKey<<Issue as TableEntity>::Canonical> {
    issue(number).key()
}

async fn stored(tables: &Tables) -> Repo<Issue> {
    let issues = tables.repo::<Issue>();
    issues.create_table().await.unwrap();
    issues.insert(&issue(1)).await.unwrap();
    issues
}

/// Adds a comment and counts it. Returns its number.
async fn add_comment(tables: &Tables) -> table_orm::Result<u32> {
    let partition = Issue::partition("core");
    let added = tables.transaction_with(&partition, async |tx| {
        let Some(mut issue) = tx.load(key(1)).await? else { return Ok(0) };
        issue.comments += 1;
        let id = issue.comments;
        tx.save(issue);
        tx.insert(&comment(id));
        Ok(id)
    });
    added.await
}

async fn comments(tables: &Tables) -> usize {
    tables.repo::<Comment>().list(Comment::partition("core")).count().await.unwrap()
}

/// A store whose requests take a millisecond each way.
#[derive(Debug, Clone)]
struct Distant(Arc<EmbeddedStore>);

impl Distant {
    fn new() -> Self {
        Self(Arc::new(EmbeddedStore::in_memory().unwrap()))
    }
}

impl Middleware for Distant {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        sleep(Duration::from_millis(1)).await;
        let answer = next.await;
        sleep(Duration::from_millis(1)).await;
        answer
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_many_processes_lose_no_write_and_none_fails() {
    let distant = Distant::new();
    stored(&Tables::new(distant.clone())).await;
    let connect = |process| Tables::new(distant.clone()).on_virtual_time(process);
    // Each is a task of its own, as a web handler is.
    let calls = (0..8).flat_map(|process| {
        let tables = connect(process);
        (0..5).map(move |_| {
            let tables = tables.clone();
            tokio::spawn(async move { add_comment(&tables).await })
        })
    });
    let mut ids = Vec::new();
    for added in join_all(calls).await {
        ids.push(added.unwrap().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (1..=40).collect::<Vec<_>>());
    let tables = connect(9);
    let stored = tables.repo::<Issue>().get(key(1)).await.unwrap().unwrap();
    assert_eq!((stored.comments, comments(&tables).await), (40, 40));
}

#[tokio::test]
async fn what_was_read_is_unchanged_when_the_transaction_takes_effect() {
    let (tables, record) = recorded();
    let issues = stored(&tables).await;
    issues.insert(&issue(2)).await.unwrap();
    record.take();
    let calls = &AtomicU32::new(0);
    let partition = Issue::partition("core");
    let write = tables.transaction_with(&partition, async |tx| {
        let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
        let first = tx.get(key(1)).await?.unwrap();
        let second = tx.load(key(2)).await?.unwrap();
        if call == 1 {
            // Another writer changes what is only read.
            issues.update(key(1), |issue| issue.comments = 7).await?;
        }
        let new = Comment { text: Some(format!("{}", first.comments)), ..comment(1) };
        tx.insert(&new);
        tx.delete(second);
        assert_eq!((tx.len(), tx.room().operations, tx.is_empty()), (4, 95, false));
        // The condition of what is only read, and of what is deleted, come before the insert.
        let plan = tx.plan()?;
        let keys: Vec<_> = plan.operations().map(|operation| &*operation.row_key).collect();
        assert_eq!(keys.len(), 5);
        assert_eq!(keys[..2], ["ISSUE:00002", "ISSUE:00001"]);
        Ok(first.comments)
    });
    assert_eq!(write.await.unwrap(), 7);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    // The update, then two attempts: the comment, three rows of an issue, and a condition.
    assert_eq!(record.take().writes, [2, 5, 5]);
    assert_eq!(
        tables.repo::<Comment>().get(comment(1).key()).await.unwrap().unwrap().text.unwrap(),
        "7"
    );
}

#[tokio::test]
async fn a_row_that_was_read_and_is_written_without_a_condition_gets_one() {
    let (tables, _) = recorded();
    stored(&tables).await;
    let comments = tables.repo::<Comment>();
    comments.insert(&comment(1)).await.unwrap();
    let partition = Comment::partition("core");
    for blind in 0..3 {
        let calls = &AtomicU32::new(0);
        let write = tables.transaction_with(&partition, async |tx| {
            let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
            let read = tx.get(comment(1).key()).await?.unwrap();
            if call == 1 {
                let text = format!("other {blind}");
                comments.update(read.key(), |comment| comment.text = Some(text.clone())).await?;
            }
            let text = format!("{}, mine", read.text.clone().unwrap_or_default());
            let new = Comment { text: Some(text.clone()), ..read };
            match blind {
                0 => tx.upsert(&new),
                1 => tx.insert_or_merge(&new),
                _ => tx.merge(new.key(), CommentPatch::default().text(text)),
            }
            Ok(())
        });
        write.await.unwrap();
        let stored = comments.get(comment(1).key()).await.unwrap().unwrap();
        assert_eq!(stored.text.unwrap(), format!("other {blind}, mine"));
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }
}

#[tokio::test]
async fn an_entity_that_appears_in_between_is_read_by_the_next_attempt() {
    let (tables, _) = recorded();
    let issues = stored(&tables).await;
    let calls = &AtomicU32::new(0);
    let insert = tables.transaction_with(Issue::partition("core"), async |tx| {
        let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
        let found = tx.get(key(2)).await?;
        if call == 1 {
            issues.insert(&issue(2)).await?;
        }
        if found.is_none() {
            tx.insert(&issue(2));
        }
        Ok(found.is_some())
    });
    assert!(insert.await.unwrap());
    assert_eq!(calls.load(Ordering::Relaxed), 2);

    // Without the read, it is the error of the call.
    let insert = tables.transaction_with(Issue::partition("core"), async |tx| {
        tx.insert(&issue(2));
        Ok(())
    });
    assert!(matches!(insert.await, Err(Error::AlreadyExists(_))));
    let taken = tables.transaction_with(Issue::partition("core"), async |tx| {
        let absent = tx.get(key(3)).await?;
        tx.insert(&Issue { slug: issue(1).slug, ..issue(3) });
        Ok(absent)
    });
    assert!(matches!(taken.await, Err(Error::UniqueViolation { .. })));
}

#[tokio::test]
async fn an_entity_that_was_read_as_absent_is_not_overwritten() {
    let (tables, _) = recorded();
    stored(&tables).await;
    let comments = tables.repo::<Comment>();
    for (id, merges) in [(1, false), (2, true)] {
        let calls = &AtomicU32::new(0);
        let write = tables.transaction_with(Comment::partition("core"), async |tx| {
            let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
            let read = tx.get(comment(id).key()).await?;
            if call == 1 {
                comments.insert(&Comment { text: Some("other".into()), ..comment(id) }).await?;
            }
            let before = read.and_then(|comment| comment.text).unwrap_or_default();
            let new = Comment { text: Some(format!("{before}, mine")), ..comment(id) };
            if merges {
                tx.insert_or_merge(&new)
            } else {
                tx.upsert(&new)
            }
            Ok(())
        });
        write.await.unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 2);
        let stored = comments.get(comment(id).key()).await.unwrap().unwrap();
        assert_eq!(stored.text.unwrap(), "other, mine");
    }
}

#[tokio::test]
async fn a_merge_into_an_entity_that_was_read_as_absent_changes_nothing() {
    let (tables, record) = recorded();
    stored(&tables).await;
    let comments = tables.repo::<Comment>();
    for (id, appears) in [(1, true), (2, false)] {
        record.take();
        let calls = &AtomicU32::new(0);
        let write = tables.transaction_with(Comment::partition("core"), async |tx| {
            calls.fetch_add(1, Ordering::Relaxed);
            assert_eq!(tx.get(comment(id).key()).await?, None);
            if appears {
                comments.insert(&comment(id)).await?;
            }
            tx.merge(comment(id).key(), CommentPatch::default().text("mine".to_owned()));
            assert!(matches!(tx.plan(), Err(Error::NotFound(_))));
            Ok(())
        });
        let Err(Error::NotFound(rejection)) = write.await else { panic!("merged") };
        assert_eq!(rejection.row_key, format!("COMMENT:00001__{id:05}"));
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert_eq!(record.take().writes.len(), usize::from(appears));
        let stored = comments.get(comment(id).key()).await.unwrap();
        assert_eq!(stored, appears.then(|| comment(id)));
    }
}

#[tokio::test]
async fn a_lost_race_starts_again_although_an_insert_comes_first() {
    let (tables, _) = recorded();
    let issues = &stored(&tables).await;
    let others = &tables.repo::<Comment>();
    // The issue that counts is saved, or read only.
    for (first, saves) in [(1, true), (2, false)] {
        let calls = &AtomicU32::new(0);
        let write = tables.transaction_with(Issue::partition("core"), async |tx| {
            let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
            let mut issue = tx.load(key(1)).await?.unwrap();
            if call == 1 {
                issues.update(key(1), |issue| issue.comments += 1).await?;
                others.insert(&comment(issue.comments + 1)).await?;
            }
            issue.comments += 1;
            let id = issue.comments;
            tx.insert(&comment(id));
            if saves {
                tx.save(issue);
            }
            Ok(id)
        });
        let id = write.await.unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 2);
        assert_eq!(id, if saves { first + 1 } else { first + 2 });
    }
}

#[tokio::test]
async fn two_reads_of_a_row_in_two_versions_start_again_and_nothing_is_sent() {
    let (tables, record) = recorded();
    let issues = stored(&tables).await;
    record.take();
    // The second read is of the scope, or of a repo.
    for (id, through_scope) in [(1, true), (2, false)] {
        let calls = &AtomicU32::new(0);
        let write = tables.transaction_with(Issue::partition("core"), async |tx| {
            let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
            let one = tx.get(key(1)).await?.unwrap();
            if call == 1 {
                issues.update(key(1), |issue| issue.comments += 1).await?;
            }
            if through_scope {
                tx.insert(&comment(id));
                return Ok((one.comments, tx.get(key(1)).await?.unwrap().comments));
            }
            let other = issues.reload(&one).await?;
            let seen = (one.comments, other.comments);
            tx.delete(other);
            Ok(seen)
        });
        assert_eq!(write.await.unwrap(), (id, id));
        assert_eq!(calls.load(Ordering::Relaxed), 2);
        // The update, and one transaction.
        assert_eq!(record.take().writes.len(), 2);
    }
}

#[tokio::test]
async fn an_entity_that_was_read_as_absent_is_not_saved_in_a_version_read_otherwise() {
    let (tables, _) = recorded();
    let issues = stored(&tables).await;
    let calls = &AtomicU32::new(0);
    let write = tables.transaction_with(Issue::partition("core"), async |tx| {
        let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
        let found = tx.get(key(2)).await?.is_some();
        if call == 1 {
            issues.insert(&issue(2)).await?;
        }
        tx.delete(issues.reload(&issue(2)).await?);
        Ok(found)
    });
    assert!(write.await.unwrap());
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn an_entity_that_was_read_is_not_inserted() {
    let (tables, record) = recorded();
    let comments = tables.repo::<Comment>();
    stored(&tables).await;
    comments.insert(&comment(1)).await.unwrap();
    record.take();
    let insert = tables.transaction_with(Comment::partition("core"), async |tx| {
        tx.get(comment(1).key()).await?;
        tx.insert(&comment(1));
        Ok(())
    });
    let Err(Error::AlreadyExists(rejection)) = insert.await else { panic!() };
    assert_eq!((rejection.entity, rejection.row_key.as_str()), ("Comment", "COMMENT:00001__00001"));
    assert!(record.take().writes.is_empty());
    // One that is deleted in between is read again.
    let calls = &AtomicU32::new(0);
    let insert = tables.transaction_with(Comment::partition("core"), async |tx| {
        calls.fetch_add(1, Ordering::Relaxed);
        let read = tx.load(comment(1).key()).await?;
        let found = read.is_some();
        if let Some(read) = read {
            comments.delete(read).await?;
        }
        tx.insert(&comment(1));
        Ok(found)
    });
    assert!(!insert.await.unwrap());
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn the_room_of_a_scope_counts_what_was_only_read() {
    let (tables, _) = recorded();
    stored(&tables).await;
    let write = tables.transaction_with(Issue::partition("core"), async |tx| {
        let before = tx.room();
        tx.get(key(1)).await?;
        assert_eq!(tx.room().operations, before.operations - 1);
        assert!(tx.room().bytes < before.bytes);
        let all = 0..u32::try_from(tx.room().operations).unwrap();
        all.for_each(|id| tx.insert(&comment(id)));
        assert_eq!((tx.len(), tx.room().operations), (99, 0));
        Ok(())
    });
    write.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_other_calls_ends_with_the_time_for_attempts() {
    let tables = Tables::new(Distant::new()).on_virtual_time(1);
    let issues = &stored(&tables).await;
    // Keeps the lock after its first conflict.
    let held = tables.transaction_with(Issue::partition("core"), async |tx| {
        let read = tx.load(key(1)).await?.unwrap();
        if read.comments > 0 {
            sleep(Duration::from_secs(20)).await;
            return Ok(());
        }
        sleep(Duration::from_millis(50)).await;
        tx.delete(read);
        Ok(())
    });
    let lost = tables.transaction_with(Issue::partition("core"), async |tx| {
        let read = tx.load(key(1)).await?.unwrap();
        sleep(Duration::from_millis(400)).await;
        tx.delete(read);
        Ok(())
    });
    let lost = async {
        let began = tokio::time::Instant::now();
        let ended = lost.retry_for(Duration::from_secs(2)).await;
        (ended, began.elapsed())
    };
    let other = async {
        sleep(Duration::from_millis(20)).await;
        issues.update(key(1), |issue| issue.comments = 1).await.unwrap();
    };
    let (held, (ended, took), ()) = futures_util::join!(held.into_future(), lost, other);
    held.unwrap();
    assert!(matches!(ended, Err(Error::Conflict(_))), "{ended:?}");
    assert!((1_990..2_010).contains(&took.as_millis()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn the_first_wait_for_other_calls_ends_with_the_time_for_attempts() {
    let tables = Tables::new(Distant::new()).on_virtual_time(1);
    let issues = &stored(&tables).await;
    // Keeps the lock after its first conflict.
    let held = tables.transaction_with(Issue::partition("core"), async |tx| {
        let read = tx.load(key(1)).await?.unwrap();
        if read.comments > 0 {
            sleep(Duration::from_secs(20)).await;
            return Ok(());
        }
        sleep(Duration::from_millis(50)).await;
        tx.delete(read);
        Ok(())
    });
    let other = async {
        sleep(Duration::from_millis(20)).await;
        issues.update(key(1), |issue| issue.comments = 1).await.unwrap();
    };
    let late = async {
        sleep(Duration::from_secs(1)).await;
        let insert = tables.transaction_with(Issue::partition("core"), async |tx| {
            tx.insert(&comment(1));
            Ok(())
        });
        let began = tokio::time::Instant::now();
        // It waits no longer, and has its one attempt.
        insert.retry_for(Duration::from_millis(500)).await.unwrap();
        began.elapsed()
    };
    let (held, (), took) = futures_util::join!(held.into_future(), other, late);
    held.unwrap();
    assert!((500..510).contains(&took.as_millis()), "{took:?}");
}

#[tokio::test]
async fn an_entity_loaded_outside_of_the_function_fails_at_the_second_attempt() {
    let (tables, _) = recorded();
    let issues = stored(&tables).await;
    let stale = issues.reload(&issue(1)).await.unwrap();
    issues.update(key(1), |issue| issue.comments = 1).await.unwrap();
    let calls = &AtomicU32::new(0);
    let write = tables.transaction_with(Issue::partition("core"), async |tx| {
        calls.fetch_add(1, Ordering::Relaxed);
        tx.require(&stale);
        tx.insert(&comment(1));
        Ok(())
    });
    assert!(matches!(write.await, Err(Error::Conflict(_))));
    assert_eq!((calls.load(Ordering::Relaxed), comments(&tables).await), (2, 0));
    // So does one that is gone.
    issues.delete_if(key(1), issues.reload(&stale).await.unwrap().etag()).await.unwrap();
    let write = tables.transaction_with(Issue::partition("core"), async |tx| {
        tx.require(&stale);
        tx.insert(&comment(1));
        Ok(())
    });
    assert!(matches!(write.await, Err(Error::NotFound(_))));
}

#[tokio::test]
async fn the_functions_error_returns_and_nothing_is_written() {
    #[derive(Debug, thiserror::Error)]
    enum CloseError {
        #[error("no")]
        No,
        #[error(transparent)]
        Table(#[from] Error),
    }
    let (tables, record) = recorded();
    stored(&tables).await;
    record.take();
    let write = tables.try_transaction_with(Issue::partition("core"), async |tx| {
        let issue = tx.load(key(1)).await?;
        tx.insert(&comment(1));
        if issue.is_some() { Err(CloseError::No) } else { Ok(()) }
    });
    assert!(matches!(write.await, Err(CloseError::No)));
    let rome = tables.try_transaction_with(Issue::partition("rome"), async |tx| {
        Ok::<_, CloseError>(tx.load(key(1)).await?.is_some())
    });
    let Err(CloseError::Table(Error::Transaction(error))) = rome.await else { panic!() };
    assert!(matches!(error, TransactionError::OtherPartition { entity: "Issue", .. }), "{error}");
    let label = Label { team: "core".into(), name: "bug".into() };
    let other = tables
        .transaction_with(Issue::partition("core"), async |tx| tx.get(label.key()).await.map(drop));
    let Err(Error::Transaction(error)) = other.await else { panic!() };
    assert!(matches!(error, TransactionError::OtherTable { entity: "Label", .. }), "{error}");
    let many = tables.transaction_with(Issue::partition("core"), async |tx| {
        tx.get(key(1)).await?;
        (0..100).for_each(|id| tx.insert(&comment(id)));
        Ok(())
    });
    let Err(Error::Transaction(error)) = many.await else { panic!() };
    // The condition for the issue is one too many.
    assert_eq!(error, TransactionError::TooManyOperations { found: 101, most: 100 });
    let nothing =
        tables.transaction_with(Issue::partition("core"), async |tx| tx.get(key(1)).await);
    assert_eq!(nothing.await.unwrap().unwrap(), issue(1));
    let slash = tables.transaction_with(Issue::partition("a/b"), async |_| Ok(()));
    assert!(matches!(slash.plan(), Err(Error::Key(_))));
    assert!(matches!(slash.await, Err(Error::Key(_))));
    assert!(record.take().writes.is_empty());
}

#[tokio::test(start_paused = true)]
async fn attempts_end_as_asked_and_the_plan_says_so() {
    let (tables, _) = recorded();
    let tables = tables.on_virtual_time(1);
    let issues = &stored(&tables).await;
    let calls = &AtomicU32::new(0);
    let lost = || {
        tables.transaction_with(Issue::partition("core"), async |tx| {
            calls.fetch_add(1, Ordering::Relaxed);
            let read = tx.load(key(1)).await?.unwrap();
            issues.update(key(1), |issue| issue.comments += 1).await?;
            tx.delete(read);
            Ok(())
        })
    };
    let plan = lost().attempts(3).plan().unwrap();
    let [Step::CommitReads { attempts: Some(3), partition_key, .. }] = &plan.steps[..] else {
        panic!("{plan}");
    };
    assert_eq!(partition_key, "core");
    assert!(plan.to_string().contains("for up to 30s, in at most 3 attempts"), "{plan}");
    assert!(matches!(lost().attempts(3).await, Err(Error::Conflict(_))));
    assert_eq!(calls.swap(0, Ordering::Relaxed), 3);
    assert!(matches!(lost().retry_for(Duration::ZERO).await, Err(Error::Conflict(_))));
    assert_eq!(calls.swap(0, Ordering::Relaxed), 1);
    let began = tokio::time::Instant::now();
    assert!(matches!(lost().await, Err(Error::Conflict(_))));
    let took = began.elapsed();
    assert!((30_000..30_010).contains(&took.as_millis()), "{took:?}");
}

#[tokio::test]
async fn a_repo_in_another_table_reads_and_writes_that_table() {
    let tables = Tables::in_memory().unwrap();
    let issues = tables.repo_in::<Issue>(TableName::new("archive").unwrap());
    issues.create_table().await.unwrap();
    issues.insert(&issue(1)).await.unwrap();
    let write = issues.transaction_with(Issue::partition("core"), async |tx| {
        let issue = tx.load(key(1)).await?.unwrap();
        tx.insert(&comment(1));
        tx.delete(issue);
        Ok(())
    });
    write.await.unwrap();
    assert_eq!(issues.list(Issue::partition("core")).count().await.unwrap(), 0);
}

/// A store that carries out one commit, and loses its answer.
#[derive(Debug)]
struct LosesAnswer(Arc<EmbeddedStore>, AtomicBool);

impl Middleware for LosesAnswer {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let etags = self.0.commit(table, batch).await;
        if self.1.swap(false, Ordering::Relaxed) {
            return Err(StoreError::no_answer("lost"));
        }
        etags
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_found_out_and_the_function_is_not_called_again() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    stored(&Tables::new(Arc::clone(&store))).await;
    let loses = || LosesAnswer(Arc::clone(&store), AtomicBool::new(true));
    let retry = Retry::new(RetryStrategy::Fixed { retries: 2, wait: Duration::from_millis(10) });
    let tables = Tables::new(loses()).layer(retry.write_id("WriteId")).unwrap();
    assert_eq!(add_comment(&tables).await.unwrap(), 1);
    let stored: Loaded<Issue> = tables.repo::<Issue>().reload(&issue(1)).await.unwrap();
    assert_eq!((stored.comments, comments(&tables).await), (1, 1));

    // Without retries, the caller learns that it may have taken effect. It did, once.
    let tables = Tables::new(loses());
    assert!(matches!(add_comment(&tables).await, Err(Error::Unavailable(_))));
    assert_eq!(comments(&tables).await, 2);

    let tables = Tables::new(loses()).layer(
        Retry::new(RetryStrategy::Fixed { retries: 2, wait: Duration::from_millis(10) })
            .write_id("WriteId"),
    );
    let issues = tables.unwrap().repo::<Issue>();
    let mut made = 0;
    let inserted = issues.update(key(2), |issue| issue.comments += 1).or_insert_with(|| {
        made += 1;
        issue(2)
    });
    let mut inserted = inserted.await.unwrap();
    assert_eq!((made, inserted.comments), (1, 0));
    inserted.comments = 5;
    issues.save(&mut inserted).await.unwrap();
    assert_eq!(issues.get(key(2)).await.unwrap().unwrap().comments, 5);
}

#[tokio::test]
async fn layers_see_every_request() {
    let (tables, record) = recorded_around(EmbeddedStore::in_memory().unwrap());
    let tables = tables.layer(Retry::interactive()).unwrap();
    stored(&tables).await;
    record.take();
    add_comment(&tables).await.unwrap();
    let requests = record.take();
    assert_eq!((requests.gets, requests.writes), (1, vec![3]));
}

#[tokio::test]
async fn a_function_may_borrow_in_a_spawned_task() {
    let (tables, _) = recorded();
    stored(&tables).await;
    let task = async move {
        let (issues, new) = (tables.repo::<Issue>(), issue(2));
        let borrowed = &new;
        let write = tables.transaction_with(new.partition(), async |tx| {
            let (read, other) =
                futures_util::try_join!(tx.get(key(1)), issues.get(key(1)).into_future())?;
            tx.insert(borrowed);
            Ok(read == other)
        });
        write.await
    };
    assert!(tokio::spawn(task).await.unwrap().unwrap());
}
