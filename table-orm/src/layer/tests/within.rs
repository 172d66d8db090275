//! Deadlines of calls: what a call that is dropped at its deadline may have written.

use super::script::{Answer, Script, failed, lost};
use super::table;
use crate::error::{DeadlineExceeded, Error};
use crate::layer::{ConcurrencyLimit, Layer, RateLimit, Retry, RetryStrategy};
use crate::store::{ErrorCode, Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use crate::tables::Tables;
use crate::{DynamicEntity, Within as _};
use futures_util::future::join;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

fn tables(script: &Arc<Script>) -> Tables {
    Tables::new(Arc::clone(script) as Arc<dyn Store>)
}

fn after(seconds: u32, answer: Answer) -> Answer {
    Answer::After(seconds * SECOND, Box::new(answer))
}

async fn insert(tables: &Tables, row_key: &str) -> Result<(), Error> {
    tables.table(table()).insert(&DynamicEntity::new("p", row_key)).await.map(drop)
}

/// The deadline's error of an insert within two seconds, and whether it may have written.
async fn late(tables: &Tables) -> DeadlineExceeded {
    match insert(tables, "r").within(2 * SECOND).await {
        Err(Error::Deadline(late)) => late,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_deadline_and_one_in_time_is_untouched() {
    let script = Script::new([after(1, Answer::Done), after(9, Answer::Done)]);
    let start = Instant::now();
    insert(&tables(&script), "r").within(2 * SECOND).await.unwrap();
    assert!(late(&tables(&script)).await.may_have_written);
    assert_eq!(start.elapsed(), 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_was_sent_may_have_taken_effect_and_a_read_has_not() {
    let script = Script::new([after(9, Answer::Done), after(9, Answer::Done)]);
    let table = tables(&script).table(table());
    let read = table.get("p", "r").within(2 * SECOND).await;
    let Err(Error::Deadline(read)) = read else { panic!("{read:?}") };
    assert!(read.wrote_nothing());
    assert_eq!(read.to_string(), "the call did not end within 2s; nothing was written");
    let late = late(&tables(&script)).await;
    assert!(!late.wrote_nothing() && late.to_string().contains("may have taken effect"));
    assert!(Error::Deadline(late).is_unavailable());
}

#[tokio::test(start_paused = true)]
async fn a_write_that_still_waits_for_a_limit_or_a_rate_has_no_effect() {
    let script = Script::new([after(9, Answer::Done)]);
    let limited = tables(&script).layer(ConcurrencyLimit::in_flight(1).per_partition(1)).unwrap();
    let limited = limited.layer(Retry::interactive()).unwrap();
    let (_, late_call) = join(insert(&limited, "first"), late(&limited)).await;
    assert!(late_call.wrote_nothing(), "{late_call:?}");
    let script = Script::new([]);
    let paced = tables(&script).layer(RateLimit::default().per_partition(1)).unwrap();
    for row in 0..5 {
        let soon = insert(&paced, &row.to_string()).within(SECOND / 10).await;
        assert!(row == 0 || matches!(soon, Err(Error::Deadline(late)) if late.wrote_nothing()));
    }
    assert_eq!(script.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_waits_for_its_retry_is_as_its_attempts_were() {
    let slowly = Retry::new(RetryStrategy::Fixed { retries: 3, wait: 9 * SECOND });
    for (answer, may_have_written) in [
        (failed(ErrorCode::SERVER_BUSY), false),
        (failed(ErrorCode::INTERNAL_ERROR), true),
        (
            Answer::Failed(StoreError {
                status: 0,
                ..StoreError::new(ErrorCode::CONNECTION_FAILED, "")
            }),
            false,
        ),
    ] {
        // The first transport fault is retried at once.
        let again = failed(ErrorCode::SERVER_BUSY);
        let script = Script::new([answer, again]);
        let retried = tables(&script).layer(slowly.clone()).unwrap();
        assert_eq!(late(&retried).await.may_have_written, may_have_written);
    }
    let script = Script::new([lost(), failed(ErrorCode::SERVER_BUSY)]);
    let retried = tables(&script).layer(slowly).unwrap();
    assert!(late(&retried).await.may_have_written, "the first attempt may have arrived");
}

#[tokio::test(start_paused = true)]
async fn a_call_of_several_requests_counts_those_that_took_effect() {
    let script = Script::new([Answer::Done, Answer::Done, after(9, Answer::Done)]);
    let tables = tables(&script);
    let call = async {
        for row in 0..9 {
            insert(&tables, &row.to_string()).within(5 * SECOND).await?;
        }
        Ok(())
    };
    let Err(Error::Deadline(late)) = call.within(3 * SECOND).await else { panic!() };
    assert_eq!((late.written, late.may_have_written), (2, true));
    let call = async {
        insert(&tables, "r").await?;
        sleep(9 * SECOND).await;
        Ok::<_, Error>(())
    };
    let Err(Error::Deadline(late)) = call.within(3 * SECOND).await else { panic!() };
    assert_eq!((late.written, late.may_have_written, late.wrote_nothing()), (1, false, false));
}

#[tokio::test(start_paused = true)]
async fn time_that_a_limit_holds_a_request_back_is_no_time_of_the_service() {
    // Ten requests of 5 s, one at a time, behind retries that give an attempt 6 s and a call 7 s.
    let script = Script::new((0..10).map(|_| after(5, Answer::Done)));
    let retry = Retry::new(RetryStrategy::None).attempt_timeout(6 * SECOND).deadline(7 * SECOND);
    let store =
        ConcurrencyLimit::in_flight(1).around(Arc::clone(&script) as Arc<dyn Store>).unwrap();
    let tables = Tables::new(retry.around(store).unwrap());
    let calls = (0..10).map(|row| {
        let tables = tables.clone();
        tokio::spawn(async move { insert(&tables, &row.to_string()).await })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    assert_eq!(script.times().last(), Some(&45_000));
}

/// A layer that is still at work after its write took effect.
#[derive(Debug)]
struct Audit(Arc<dyn Store>);

impl Middleware for Audit {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let answer = next.await;
        sleep(9 * SECOND).await;
        answer
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_took_effect_counts_while_a_layer_above_is_at_work() {
    let retried = Retry::interactive().around(Script::new([Answer::Done])).unwrap();
    assert!(late(&Tables::new(Audit(retried))).await.may_have_written);
}

#[tokio::test(start_paused = true)]
async fn a_call_counts_for_the_deadline_of_the_call_that_awaits_it() {
    let script = Script::new([after(9, Answer::Done)]);
    let tables = tables(&script);
    // Made before the outer call.
    let inner = Box::pin(insert(&tables, "r").within(20 * SECOND));
    let Err(Error::Deadline(late)) = inner.within(SECOND).await else { panic!() };
    assert!(late.may_have_written);
}
