//! A worker: takes a range, reads it page by page to its end, then takes or steals the next.

use super::commit::Committed;
use super::page_keys::PageKeys;
use super::place::Place;
use super::skip::Skipping;
use super::state::{Admission, Next, Rules, State};
use crate::error::{Error, Rejection, Result};
use crate::query::RowQuery;
use crate::store::{Page, Store, StoreError};
use serde_json::value::RawValue;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

/// The first wait after a 503, doubled for each one more of the same page.
const FIRST_WAIT: f64 = 0.1;
/// No wait is longer, unless the service asks for it.
const LONGEST_WAIT: f64 = 5.0;
/// A page refused this often in a row ends the scan.
const MOST_REFUSALS: u32 = 100;

/// Reads rows of a page: its body, and those rows of it that lie in the range.
pub(super) type ReadRows<T> = fn(usize, &[u8], &[&RawValue], bool) -> Result<Vec<T>>;

/// What the workers and the consumer of a scan share.
pub(super) struct Shared<T> {
    pub store: Arc<dyn Store>,
    /// For error messages.
    pub entity: &'static str,
    /// The key template that the rows are written from.
    pub row: usize,
    pub read: ReadRows<T>,
    /// Whether rows that cannot be read are left out.
    pub skip: Option<Skipping<T>>,
    pub state: Mutex<State<T>>,
    /// There may be work, or room for more.
    pub work: Notify,
    /// There may be a page, an error or the end.
    pub pages: Notify,
}

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("store", &self.store).finish_non_exhaustive()
    }
}

impl<T> Shared<T> {
    pub fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.work.notify_waiters();
        self.pages.notify_one();
    }

    /// Waits until `ready` finds something under the lock.
    async fn wait<R>(&self, mut ready: impl FnMut(&mut State<T>) -> Option<R>) -> R {
        loop {
            let mut change = std::pin::pin!(self.work.notified());
            change.as_mut().enable();
            if let Some(found) = ready(&mut self.lock()) {
                return found;
            }
            change.await;
        }
    }
}

/// Works until nothing is left. An error ends the scan.
pub(super) async fn work<T: Send>(shared: Arc<Shared<T>>) {
    let mut lost = Lost(Some(Arc::clone(&shared)));
    if let Err(error) = ranges(&shared).await {
        shared.lock().failed.get_or_insert(error);
    }
    lost.0 = None;
    shared.wake();
}

/// Ends the scan when a worker is lost, as by a panic in reading a row.
struct Lost<T>(Option<Arc<Shared<T>>>);

impl<T> Drop for Lost<T> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.lock().failed.get_or_insert(super::ScanError::WorkerLost.into());
            shared.wake();
        }
    }
}

async fn ranges<T: Send>(shared: &Shared<T>) -> Result<()> {
    loop {
        shared.lock().hungry += 1;
        let next = shared.wait(|state| match state.next() {
            Next::Scan(place) => Some(Some(place)),
            Next::End => Some(None),
            Next::Wait => None,
        });
        let Some(mut place) = next.await else { return Ok(()) };
        if !shared.lock().ready.is_empty() {
            shared.work.notify_waiters();
        }
        while let Some(then) = page(shared, &place).await? {
            place = then;
        }
    }
}

/// Reads one page of a range; returns the range to go on with.
async fn page<T: Send>(shared: &Shared<T>, place: &Place) -> Result<Option<Place>> {
    let admitted = shared.wait(|state| match state.admit(place) {
        Admission::Go(request, partition) => Some(Some((request, partition))),
        Admission::Park => Some(None),
        Admission::Wait => None,
    });
    let Some((request, partition)) = admitted.await else {
        shared.wake();
        return Ok(None);
    };
    let page = fetch(shared, &request, partition.as_deref()).await?;
    let mut keys = PageKeys::read(&page.body)?;
    let tried = shared.skip.as_ref().map(|skip| {
        let rows = skip.tried(shared.row, &page.body, keys.first(keys.len()));
        (skip, rows)
    });
    if let Some((_, rows)) = &tried {
        let unread = rows.iter().enumerate().filter(|(_, row)| row.is_err());
        keys = keys.without(unread.map(|(place, _)| place).collect());
    }
    let committed = {
        let mut state = shared.lock();
        state.answered(partition.as_deref(), keys.len());
        state.commit(place, &keys, page.continuation)?
    };
    let Committed { keep, .. } = committed;
    let rows = match (keep, tried) {
        (0, _) => Vec::new(),
        (_, Some((skip, rows))) => skip.rows(rows, keep)?,
        _ => (shared.read)(shared.row, &page.body, keys.first(keep), keep == keys.len())?,
    };
    let then = {
        let mut state = shared.lock();
        state.push(place, &committed, rows);
        if committed.ended { committed.then } else { Some(place.clone()) }
    };
    shared.wake();
    Ok(then)
}

/// One page, asked for until the service does not throttle it.
pub(super) async fn fetch<T: Send>(
    shared: &Shared<T>,
    request: &RowQuery,
    partition: Option<&str>,
) -> Result<Page> {
    let paced = shared.lock().rules.is_adaptive();
    let mut refusals = 0;
    loop {
        let under_way = if paced { Some(pace(shared, partition).await) } else { None };
        let issued = {
            let mut state = shared.lock();
            state.report.requests += 1;
            state.now()
        };
        let answer = shared.store.query(request).await;
        drop(under_way);
        let refused = match answer {
            Ok(page) => return Ok(page),
            Err(refused) if refused.is_throttling() => refused,
            Err(refused) => return Err(error(shared, request, refused)),
        };
        let wait = {
            let mut state = shared.lock();
            state.report.throttled += 1;
            let now = state.now();
            if paced {
                state.limiter.refused(now, partition, issued);
            }
            // The pacer, where there is one, takes over from long waits.
            let doublings = refusals.min(if paced { 2 } else { 6 });
            let wait = (FIRST_WAIT * f64::from(1 << doublings)).min(LONGEST_WAIT);
            Duration::from_secs_f64(wait * state.jitter())
        };
        shared.wake();
        refusals += 1;
        if refusals == MOST_REFUSALS {
            return Err(error(shared, request, refused));
        }
        sleep(refused.retry_after.map_or(wait, |asked| asked.max(wait))).await;
    }
}

/// A request under way, until this is dropped: also where it is given up.
struct UnderWay<'a, T>(&'a Shared<T>);

impl<T> Drop for UnderWay<'_, T> {
    fn drop(&mut self) {
        self.0.lock().limiter.leave();
        self.0.work.notify_waiters();
    }
}

/// Waits for the turn of a request.
async fn pace<'a, T: Send>(shared: &'a Shared<T>, partition: Option<&str>) -> UnderWay<'a, T> {
    shared.wait(|state| state.limiter.enter().then_some(())).await;
    let under_way = UnderWay(shared);
    let partition = {
        let mut state = shared.lock();
        let (now, rows) = (state.now(), state.page_rows());
        let at = state.limiter.reserve_partition(now, partition, rows);
        turn(&state, at)
    };
    if let Some(at) = partition {
        sleep_until(at).await;
    }
    let account = {
        let mut state = shared.lock();
        let (now, rows) = (state.now(), state.page_rows());
        let at = state.limiter.reserve_account(now, rows);
        turn(&state, at)
    };
    if let Some(at) = account {
        sleep_until(at).await;
    }
    under_way
}

fn turn<T>(state: &State<T>, at: f64) -> Option<Instant> {
    let wait = at - state.now();
    (wait > 0.0).then(|| Instant::now() + Duration::from_secs_f64(wait))
}

fn error<T>(shared: &Shared<T>, request: &RowQuery, cause: StoreError) -> Error {
    let partition_key = match &request.keys.partition {
        crate::query::Span::Exact(key) => key.clone(),
        _ => String::new(),
    };
    Error::rejected(Rejection {
        entity: shared.entity,
        table: request.table.as_str().to_owned(),
        partition_key,
        row_key: String::new(),
        index_row: None,
        operation: None,
        cause,
    })
}

/// The rules of a scan under way, for its checkpoint.
impl<T> Shared<T> {
    pub fn rules(&self) -> Rules {
        self.lock().rules.clone()
    }
}
