//! Policies of an app's own: they decide what is retried, and not what is known of a write.

use super::bench::{Outcome, insert, replace};
use super::script::{Answer, Script, failed, lost, row, status};
use super::table;
use crate::layer::retry::{MAX_RETRIES, RetryPolicy};
use crate::layer::{Layer, Retry};
use crate::model::{ETag, Metadata};
use crate::store::{Batch, ErrorCode, Operation, Store, StoreError};
use std::sync::Arc;
use std::time::Duration;

/// Retries everything, rejections too, that often.
#[derive(Debug)]
struct Everything(u32);

impl RetryPolicy for Everything {
    fn wait(&self, _: &StoreError, retry: u32, _: f64) -> Option<Duration> {
        (retry <= self.0).then_some(Duration::from_secs(1))
    }
}

async fn write(retries: u32, script: &Arc<Script>, operation: Operation) -> Outcome {
    let retry = Retry::by(Everything(retries)).budget(None);
    let store = retry.around(Arc::clone(script) as Arc<dyn Store>).unwrap();
    match store.write(&table(), "p", operation).await {
        Ok(etag) => Outcome::Done(etag),
        Err(error) if error.code == ErrorCode::AMBIGUOUS_WRITE => Outcome::Ambiguous,
        Err(error) => Outcome::Rejected(error.code),
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_decides_what_is_sent_again_and_when() {
    let script = Script::new([404, 400, 409].map(status));
    assert_eq!(write(3, &script, insert("r", 1)).await, Outcome::Done(Some(ETag::new("written"))));
    assert_eq!(script.times(), [0, 1000, 2000, 3000]);
}

#[tokio::test(start_paused = true)]
async fn a_rejection_that_a_policy_retries_is_not_ambiguous() {
    let taken = || failed(ErrorCode::ENTITY_ALREADY_EXISTS);
    let script = Script::new([taken(), taken(), taken()]);
    let outcome = write(2, &script, insert("r", 1)).await;
    assert_eq!(outcome, Outcome::Rejected(ErrorCode::ENTITY_ALREADY_EXISTS));
}

#[tokio::test(start_paused = true)]
async fn no_policy_turns_a_lost_answer_into_a_conflict_with_itself() {
    let rejected = [ErrorCode::ENTITY_ALREADY_EXISTS, ErrorCode::UPDATE_CONDITION_NOT_SATISFIED];
    let writes = || [insert("r", 1), replace("r", 1, ETag::new("old"))];
    for (operation, code) in writes().into_iter().zip(rejected) {
        for after in 0..4 {
            let mut answers: Vec<_> = (0..4).map(|_| failed(code.clone())).collect();
            answers[after] = lost();
            answers.push(row(r#"{"V":2}"#, "theirs"));
            let script = Script::new(answers);
            assert_eq!(write(3, &script, operation.clone()).await, Outcome::Ambiguous, "{after}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_answers_400_does_not_undo_a_lost_write() {
    for (code, expected) in [
        (ErrorCode::NO_ERROR_CODE, Outcome::Ambiguous),
        (ErrorCode::INVALID_INPUT, Outcome::Rejected(ErrorCode::INVALID_INPUT)),
    ] {
        let rejected = StoreError { status: 400, ..StoreError::new(code, "") };
        let script = Script::new([lost(), Answer::Failed(rejected), Answer::Row(None)]);
        assert_eq!(write(1, &script, insert("r", 1)).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_ambiguous_outcome_from_below_stays_ambiguous_when_it_is_retried() {
    let ambiguous = || {
        let error = StoreError::no_answer("");
        Answer::Failed(StoreError { code: ErrorCode::AMBIGUOUS_WRITE, ..error })
    };
    let taken = failed(ErrorCode::ENTITY_ALREADY_EXISTS);
    let script = Script::new([ambiguous(), taken, row(r#"{"V":2}"#, "theirs")]);
    assert_eq!(write(1, &script, insert("r", 1)).await, Outcome::Ambiguous);
}

#[tokio::test(start_paused = true)]
async fn a_policy_without_an_end_ends() {
    let script = Script::new((0..1000).map(|_| status(500)));
    let retry = Retry::by(Everything(u32::MAX)).budget(None);
    let store = retry.around(Arc::clone(&script) as Arc<dyn Store>).unwrap();
    store.get(&table(), "p", "r", None, Metadata::None).await.unwrap_err();
    assert_eq!(script.asked().len(), 1 + usize::try_from(MAX_RETRIES).unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_lost_insert_whose_rows_are_all_there_says_so() {
    let taken = || failed(ErrorCode::ENTITY_ALREADY_EXISTS);
    let commit = async |answers: Vec<Answer>| {
        let script = Script::new(answers);
        let retry = Retry::by(Everything(1));
        let store = retry.around(Arc::clone(&script) as Arc<dyn Store>).unwrap();
        let operations = vec![insert("a", 1), insert("b", 2)];
        let error = store.commit(&table(), Batch { partition_key: "p".into(), operations }).await;
        let error = error.unwrap_err();
        assert_eq!(error.code, ErrorCode::AMBIGUOUS_WRITE);
        error.ambiguity().unwrap().identical
    };
    let there = |body: &str| row(body, "now");
    assert!(commit(vec![lost(), taken(), there(r#"{"V":1}"#), there(r#"{"V":2}"#)]).await);
    assert!(!commit(vec![lost(), taken(), there(r#"{"V":1}"#), there(r#"{"V":3}"#)]).await);
    assert!(!commit(vec![lost(), taken(), there(r#"{"V":1}"#), Answer::Row(None)]).await);
    let refused = || status(403);
    assert!(!commit(vec![lost(), taken(), there(r#"{"V":1}"#), refused()]).await);
}
