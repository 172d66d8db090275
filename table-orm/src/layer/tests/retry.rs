//! What is retried, when, and what the call returns.

use super::script::{Answer, Script, failed, lost, row, status};
use super::table;
use crate::error::{Error, Rejection};
use crate::layer::{Layer, LayerError, Retry, RetryStrategy};
use crate::model::{ETag, Metadata, PARCEL_START};
use crate::property::{chunk_key, chunk_of};
use crate::store::{Action, Batch, ErrorCode, IfMatch, Operation, Store, StoreError, StoredRow};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

const SECOND: Duration = Duration::from_secs(1);

fn fixed(retries: u32) -> Retry {
    Retry::new(RetryStrategy::Fixed { retries, wait: SECOND })
}

fn around(retry: Retry, script: &Arc<Script>) -> Arc<dyn Store> {
    retry.around(Arc::clone(script) as Arc<dyn Store>).unwrap()
}

async fn get(retry: Retry, script: &Arc<Script>) -> Result<Option<StoredRow>, StoreError> {
    around(retry, script).get(&table(), "p", "r", None, Metadata::None).await
}

fn operation(row_key: &str, action: Action) -> Operation {
    Operation { row_key: row_key.into(), action }
}

fn insert(row_key: &str) -> Operation {
    operation(row_key, Action::Insert("{}".into()))
}

fn guarded(row_key: &str) -> Operation {
    operation(row_key, Action::Replace("{}".into(), IfMatch::ETag(ETag::new("old"))))
}

fn delete(row_key: &str) -> Operation {
    operation(row_key, Action::Delete(IfMatch::ETag(ETag::new("old"))))
}

async fn write(
    retry: Retry,
    script: &Arc<Script>,
    operation: Operation,
) -> Result<Option<ETag>, StoreError> {
    around(retry, script).write(&table(), "p", operation).await
}

async fn commit(
    retry: Retry,
    script: &Arc<Script>,
    operations: Vec<Operation>,
) -> Result<Vec<Option<ETag>>, StoreError> {
    let transaction = Batch { partition_key: "p".into(), operations };
    around(retry, script).commit(&table(), transaction).await
}

#[tokio::test(start_paused = true)]
async fn transient_faults_are_retried_after_the_strategys_wait() {
    let script = Script::new([503, 500, 429, 408].map(status));
    get(fixed(4), &script).await.unwrap();
    assert_eq!(script.times(), [0, 1000, 2000, 3000, 4000]);
}

#[tokio::test(start_paused = true)]
async fn the_last_fault_is_the_error_when_retries_run_out() {
    let script = Script::new([503, 502, 504].map(status));
    assert_eq!(get(fixed(2), &script).await.unwrap_err().status, 504);
    let script = Script::new([503].map(status));
    assert_eq!(get(Retry::new(RetryStrategy::None), &script).await.unwrap_err().status, 503);
    assert_eq!(script.times(), [0]);
}

#[tokio::test(start_paused = true)]
async fn throttling_is_left_to_a_caller_that_asks_for_it_and_other_faults_are_not() {
    for throttled in [429, 503] {
        let script = Script::new([500, throttled].map(status));
        let error = get(fixed(4).leave_throttling(), &script).await.unwrap_err();
        assert_eq!((error.status, script.times()), (throttled, vec![0, 1000]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_was_never_sent_is_not_ambiguous() {
    let unsent = |code: &ErrorCode| {
        Answer::Failed(StoreError { status: 0, ..StoreError::new(code.clone(), "") })
    };
    let connection = ErrorCode::CONNECTION_FAILED;
    let script = Script::new([unsent(&connection), unsent(&connection)]);
    let error = write(fixed(1), &script, insert("r")).await.unwrap_err();
    assert_eq!((error.code, script.times().len()), (connection.clone(), 2));
    let script = Script::new([unsent(&ErrorCode::CREDENTIAL_UNAVAILABLE)]);
    let error = write(fixed(4), &script, insert("r")).await.unwrap_err();
    assert_eq!((error.code, script.times().len()), (ErrorCode::CREDENTIAL_UNAVAILABLE, 1));
    // The first may have arrived.
    let script = Script::new([lost(), unsent(&connection)]);
    let error = write(fixed(1), &script, insert("r")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::AMBIGUOUS_WRITE);
}

#[tokio::test(start_paused = true)]
async fn a_row_of_which_each_name_is_sent_once_is_retried_until_it_may_have_arrived() {
    let value = chunk_key(&"0".repeat(48), 0);
    assert!(chunk_of(&value).is_some(), "{value}");
    for row_key in [value, format!("{PARCEL_START}a")] {
        let busy = || failed(ErrorCode::SERVER_BUSY);
        let script = Script::new([busy(), busy()]);
        commit(fixed(2), &script, vec![insert(&row_key), insert("r")]).await.unwrap();
        assert_eq!(script.times(), [0, 1000, 2000]);
        // The third would be a second insert of the name. It reads the row instead.
        let script = Script::new([busy(), lost(), Answer::Row(None)]);
        let error = write(fixed(5).write_id("Id"), &script, insert(&row_key)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::AMBIGUOUS_WRITE);
        let asked = script.asked();
        let inserts = asked.iter().filter(|(request, _)| request.starts_with("insert"));
        assert_eq!((inserts.count(), asked.len()), (2, 3), "{asked:?}");
        assert!(!asked.iter().any(|(request, _)| request.contains("Id")), "{asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rejections_are_not_retried() {
    for rejected in [400, 403, 404, 409, 412, 413, 501, 505] {
        let script = Script::new([status(rejected)]);
        assert_eq!(get(fixed(5), &script).await.unwrap_err().status, rejected);
        assert_eq!(script.times(), [0]);
    }
    let inner = StoreError { status: 408, ..StoreError::new(ErrorCode::new("Code"), "") };
    let script = Script::new([Answer::Failed(inner.at(1))]);
    let error = commit(fixed(5), &script, vec![insert("a"), insert("b")]).await.unwrap_err();
    assert_eq!((error.status, error.operation, script.times().len()), (408, Some(1), 1));
}

#[tokio::test(start_paused = true)]
async fn a_transaction_is_sent_again_after_an_inner_server_fault_or_throttling() {
    let busy = StoreError::new(ErrorCode::SERVER_BUSY, "").at(1);
    let inner = StoreError { status: 429, ..StoreError::new(ErrorCode::new("Code"), "") };
    let script = Script::new([Answer::Failed(busy), Answer::Failed(inner.at(1))]);
    commit(fixed(5), &script, vec![insert("a"), insert("b")]).await.unwrap();
    assert_eq!(script.times(), [0, 1000, 2000]);
}

#[tokio::test(start_paused = true)]
async fn only_the_first_transport_fault_is_retried_at_once() {
    let script = Script::new([lost(), lost(), status(503), lost()]);
    get(fixed(5), &script).await.unwrap();
    assert_eq!(script.times(), [0, 0, 1000, 2000, 3000]);
}

#[tokio::test(start_paused = true)]
async fn a_longer_retry_after_wins() {
    let after = |seconds| {
        let retry_after = Some(Duration::from_secs(seconds));
        Answer::Failed(StoreError { retry_after, ..StoreError::new(ErrorCode::SERVER_BUSY, "") })
    };
    let script = Script::new([after(30), after(0), lost()]);
    get(fixed(5), &script).await.unwrap();
    assert_eq!(script.times(), [0, 30_000, 31_000, 31_000]);
    let script = Script::new([after(u64::MAX)]);
    get(fixed(5), &script).await.unwrap();
    assert_eq!(script.times(), [0, 3_600_000], "an hour at most");
}

#[tokio::test(start_paused = true)]
async fn the_exponential_waits_lie_within_the_formula() {
    let script = Script::new([503; 5].map(status));
    get(Retry::interactive().seed(1), &script).await.unwrap();
    let times = script.times();
    let waits: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The timer's resolution adds up to 1 ms.
    let bounds = [(420, 581), (1060, 1541), (2340, 3461), (4900, 7301), (10_020, 14_981)];
    for (wait, (least, most)) in waits.iter().zip(bounds) {
        assert!((least..=most).contains(wait), "{waits:?}");
    }
    let again = Script::new([503; 5].map(status));
    get(Retry::interactive().seed(1), &again).await.unwrap();
    let shift = times[0].abs_diff(again.times()[0]);
    assert!(again.times().iter().zip(times).all(|(a, b)| a.abs_diff(b + shift) <= 1));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_ends_at_its_timeout_and_is_retried() {
    let slow = Answer::After(Duration::from_secs(9), Box::new(Answer::Done));
    let script = Script::new([slow]);
    get(fixed(5).attempt_timeout(Duration::from_secs(3)), &script).await.unwrap();
    assert_eq!(script.times(), [0, 3000]);
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_deadline() {
    let never = || Answer::After(Duration::from_secs(86_400), Box::new(Answer::Done));
    let script = Script::new([never(), never(), never()]);
    let start = Instant::now();
    let error = get(fixed(5).deadline(Duration::from_secs(10)), &script).await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::NO_ANSWER, 0));
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_wait_past_the_deadline_is_not_begun() {
    let script = Script::new([503; 9].map(status));
    let start = Instant::now();
    let error = get(fixed(9).deadline(Duration::from_millis(2500)), &script).await.unwrap_err();
    assert_eq!((error.status, start.elapsed().as_millis()), (503, 2000));
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_ends_it() {
    let script = Script::new([status(503), status(503), status(503), Answer::Done]);
    let store = around(fixed(9), &script);
    let call = timeout(Duration::from_millis(2500), store.list_tables());
    assert!(call.await.is_err());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(script.times(), [0, 1000, 2000]);
    store.list_tables().await.unwrap();
}

#[test]
fn invalid_settings_are_rejected() {
    let built = |retry: Retry| {
        let script: Arc<dyn Store> = super::bench::paused(async { Script::new([]) });
        retry.around(script).map(drop)
    };
    assert!(matches!(
        built(Retry::interactive().deadline(Duration::from_secs(29))),
        Err(LayerError::Deadline { .. })
    ));
    for retry in [
        Retry::interactive().deadline(Duration::ZERO),
        Retry::interactive().deadline(Duration::MAX),
        Retry::interactive().attempt_timeout(Duration::ZERO),
        Retry::new(RetryStrategy::None).attempt_timeout(Duration::MAX),
        fixed(0),
        fixed(1).write_id("RowKey"),
    ] {
        assert!(built(retry.clone()).is_err(), "{retry:?}");
    }
    assert_eq!(built(Retry::classic().write_id("WriteId")), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_write_finds_itself_by_its_id() {
    let cases = [
        (insert("r"), ErrorCode::ENTITY_ALREADY_EXISTS),
        (guarded("r"), ErrorCode::UPDATE_CONDITION_NOT_SATISFIED),
    ];
    for (operation, code) in cases {
        for fault in [lost(), status(500), status(504)] {
            let script = Script::new([fault, failed(code.clone()), Answer::Written(0)]);
            let etag = write(fixed(5).write_id("WriteId"), &script, operation.clone()).await;
            assert_eq!(etag.unwrap(), Some(ETag::new("ours")));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_write_over_the_same_version_is_a_true_conflict() {
    for operation in [guarded("r"), delete("r")] {
        let script = Script::new([
            lost(),
            failed(ErrorCode::UPDATE_CONDITION_NOT_SATISFIED),
            row(r#"{"WriteId":"theirs over old"}"#, "theirs"),
        ]);
        // A delete carries no id, but the row's id is evidence.
        let error = write(fixed(5).write_id("WriteId"), &script, operation).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::UPDATE_CONDITION_NOT_SATISFIED);
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_from_long_before_is_a_true_conflict_without_ids() {
    let answers = || {
        [
            lost(),
            failed(ErrorCode::ENTITY_ALREADY_EXISTS),
            row(r#"{"Timestamp":"2020-01-01T00:00:00.0000000Z"}"#, "old"),
        ]
    };
    let script = Script::at("2020-01-01T00:15:01Z", answers());
    let error = write(fixed(5), &script, insert("r")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ENTITY_ALREADY_EXISTS);
    // By the service's clock it may be ours, whatever the clock of this machine says.
    for script in [Script::at("2020-01-01T00:15:00Z", answers()), Script::new(answers())] {
        let error = write(fixed(5), &script, insert("r")).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::AMBIGUOUS_WRITE);
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_without_evidence_is_ambiguous_with_all_that_is_known() {
    let script = Script::new([
        status(500),
        failed(ErrorCode::ENTITY_ALREADY_EXISTS),
        row(r#"{"WriteId":"theirs"}"#, "theirs"),
    ]);
    let error = write(fixed(5).write_id("WriteId"), &script, insert("r")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::AMBIGUOUS_WRITE);
    let ambiguity = error.ambiguity().unwrap();
    assert_eq!((ambiguity.requests, ambiguity.lost.status), (2, 500));
    assert_eq!(ambiguity.answer.as_ref().unwrap().code, ErrorCode::ENTITY_ALREADY_EXISTS);
    assert_eq!(ambiguity.found[0].1.as_ref().unwrap().etag().unwrap(), ETag::new("theirs"));
    assert!(ambiguity.write_id.is_some() && ambiguity.unseen.is_none());
    let rejection = Rejection {
        entity: "Person",
        table: "People".into(),
        partition_key: "p".into(),
        row_key: "r".into(),
        index_row: None,
        operation: None,
        is_other_table: false,
        is_repeatable: false,
        is_read: false,
        cause: error,
    };
    let error = Error::rejected(rejection);
    assert!(matches!(error, Error::Ambiguous(_)));
    assert!(error.rejection().unwrap().cause.ambiguity().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_delete_that_finds_nothing_after_a_lost_answer_is_ambiguous() {
    let script = Script::new([lost(), failed(ErrorCode::RESOURCE_NOT_FOUND), Answer::Row(None)]);
    let error = write(fixed(5).write_id("WriteId"), &script, delete("r")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::AMBIGUOUS_WRITE);
    assert!(error.ambiguity().unwrap().found[0].1.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_without_retries_is_ambiguous_too() {
    let script = Script::new([lost(), Answer::Row(None)]);
    let none = Retry::new(RetryStrategy::None).write_id("WriteId");
    let error = write(none, &script, insert("r")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::AMBIGUOUS_WRITE);
    assert!(error.ambiguity().unwrap().answer.is_none());
}

#[tokio::test(start_paused = true)]
async fn rows_that_cannot_be_read_back_leave_it_ambiguous() {
    let script = Script::new([lost(), failed(ErrorCode::ENTITY_ALREADY_EXISTS), status(403)]);
    let error = write(fixed(5).write_id("WriteId"), &script, insert("r")).await.unwrap_err();
    let ambiguity = error.ambiguity().unwrap();
    assert_eq!(ambiguity.unseen.as_ref().unwrap().status, 403);
}

#[tokio::test(start_paused = true)]
async fn rejections_without_a_lost_answer_are_returned_without_reading_back() {
    let script =
        Script::new([failed(ErrorCode::SERVER_BUSY), failed(ErrorCode::ENTITY_ALREADY_EXISTS)]);
    let error = write(fixed(5).write_id("WriteId"), &script, insert("r")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ENTITY_ALREADY_EXISTS);
    let script = Script::new([lost(), failed(ErrorCode::INVALID_INPUT)]);
    let error = write(fixed(5).write_id("WriteId"), &script, insert("r")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::INVALID_INPUT, "the request was never valid");
    assert_eq!(script.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_row_is_evidence_for_a_whole_transaction() {
    let script = Script::new([
        lost(),
        failed(ErrorCode::RESOURCE_NOT_FOUND),
        Answer::Row(None),
        Answer::Written(0),
        row(r#"{"WriteId":"later over ours"}"#, "later"),
    ]);
    let operations = vec![delete("a"), insert("b"), guarded("c")];
    let etags = commit(fixed(5).write_id("WriteId"), &script, operations).await.unwrap();
    assert_eq!(etags[0], None);
    assert_eq!(etags[1], Some(ETag::new("ours")));
    let superseded = etags[2].clone().unwrap();
    assert!(superseded != ETag::new("later"), "a later version is not ours to overwrite");
}

#[tokio::test(start_paused = true)]
async fn creating_a_table_whose_answer_was_lost_is_ambiguous_when_it_exists() {
    let script = Script::new([lost(), failed(ErrorCode::TABLE_ALREADY_EXISTS)]);
    let error = around(fixed(5), &script).create_table(&table()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::AMBIGUOUS_WRITE);
    let script = Script::new([status(503)]);
    let error = around(Retry::new(RetryStrategy::None), &script).delete_table(&table()).await;
    assert_eq!(error.unwrap_err().code, ErrorCode::AMBIGUOUS_WRITE, "503 of a stranger");
}
