//! One request for one page: when it may be sent, and when it is sent again.

use super::shared::Shared;
use super::state::ScanState;
use crate::error::{Error, Rejection, Result};
use crate::query::{RowQuery, Span};
use crate::store::{Page, StoreError};
use crate::sync::Backoff;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// The first wait after a 503, doubled for each one more of the same page.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// No wait is longer, unless the service asks for it.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// No wait is longer where a pacer sets the rate.
const LONGEST_PACED_WAIT: Duration = Duration::from_millis(400);
/// A page throttled this often in a row ends the scan.
const MOST_THROTTLED: u32 = 100;

/// Fetches one page. Sends the request again while the service throttles it.
pub(in crate::scan) async fn fetch<T: Send>(
    shared: &Shared<T>,
    request: &RowQuery,
    partition: Option<&str>,
) -> Result<Page> {
    let paced = shared.rules.is_adaptive();
    let longest = if paced { LONGEST_PACED_WAIT } else { LONGEST_WAIT };
    let mut backoff = Backoff::new(FIRST_WAIT, longest);
    loop {
        let in_flight = if paced { Some(pace(shared, partition).await) } else { None };
        let issued = {
            let mut state = shared.lock();
            state.pace.requests += 1;
            state.pace.now()
        };
        let answer = shared.source.store.query(&shared.source.alive.only(request)).await;
        drop(in_flight);
        let throttled = match answer {
            Ok(page) => return Ok(page),
            Err(throttled) if throttled.is_throttling() => throttled,
            Err(other) => return Err(error(shared, request, other)),
        };
        let wait = {
            let mut state = shared.lock();
            state.pace.throttled += 1;
            let now = state.pace.now();
            if paced {
                state.pace.limiter.throttled(now, partition, issued);
            }
            state.pace.wait(&mut backoff)
        };
        shared.wake();
        if backoff.waits() == MOST_THROTTLED {
            return Err(error(shared, request, throttled));
        }
        sleep(throttled.retry_after.map_or(wait, |asked| asked.max(wait))).await;
    }
}

/// A request in flight, until this is dropped, which also happens when it is cancelled.
struct InFlight<'a, T>(&'a Shared<T>);

impl<T> Drop for InFlight<'_, T> {
    fn drop(&mut self) {
        self.0.lock().pace.limiter.leave();
        self.0.work.notify_waiters();
    }
}

/// Waits until a request may go.
async fn pace<'a, T: Send>(shared: &'a Shared<T>, partition: Option<&str>) -> InFlight<'a, T> {
    shared.wait(|state| state.pace.limiter.enter().then_some(())).await;
    let in_flight = InFlight(shared);
    let partition = {
        let mut state = shared.lock();
        let (now, rows) = (state.pace.now(), state.ranges.learned.page_rows());
        let at = state.pace.limiter.reserve_partition(now, partition, rows);
        instant(&state, at)
    };
    if let Some(at) = partition {
        sleep_until(at).await;
    }
    let account = {
        let mut state = shared.lock();
        let (now, rows) = (state.pace.now(), state.ranges.learned.page_rows());
        let at = state.pace.limiter.reserve_account(now, rows);
        instant(&state, at)
    };
    if let Some(at) = account {
        sleep_until(at).await;
    }
    in_flight
}

/// The moment that is `at` seconds from the start; `None` once it has passed.
fn instant<T>(state: &ScanState<T>, at: f64) -> Option<Instant> {
    let wait = at - state.pace.now();
    (wait > 0.0).then(|| Instant::now() + Duration::from_secs_f64(wait))
}

fn error<T>(shared: &Shared<T>, request: &RowQuery, cause: StoreError) -> Error {
    let partition_key = match &request.keys.partition {
        Span::Exact(key) => key.clone(),
        _ => String::new(),
    };
    Error::rejected(Rejection {
        entity: shared.source.entity,
        table: request.table.as_str().to_owned(),
        partition_key,
        row_key: String::new(),
        index_row: None,
        operation: None,
        is_other_table: false,
        is_repeatable: false,
        is_read: true,
        cause,
    })
}
