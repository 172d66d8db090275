//! The access pattern that a call serves, by the name that the app gives it.
//!
//! Invariant: the name is that of the task that makes the call, and of those that it awaits. Other tasks have none.

use super::measurements::Measurements;
use std::future::IntoFuture;
use std::sync::{Arc, OnceLock};
use tokio::time::Instant;

tokio::task_local! {
    static CALL: Call;
}

/// The call that this task makes.
#[derive(Clone)]
struct Call {
    pattern: &'static str,
    /// The measurements that saw its first request.
    measured: Arc<OnceLock<Arc<Measurements>>>,
}

/// Makes a call as that access pattern: the spans of its requests have the name as `table_orm.pattern`, and so do
/// the metrics; a [`Measure`](super::Measure) counts them. Use the names of your [`book`](crate::book), which shows
/// what was measured beside what was planned.
///
/// All requests of a scan have the name of the call that sends the first of them. A page that is read ahead has the
/// name of the call that took the page before it. Work that no call awaits is not named: that of a
/// [`Writer`](crate::repo::Writer), and what brings rows in other partitions in step after a write.
///
/// ```
/// use table_orm::layer::as_pattern;
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, PartialEq, TableEntity)]
/// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
/// # struct Track { album: String, number: u8, title: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tracks = Tables::in_memory()?.repo::<Track>();
/// # tracks.create_table().await?;
/// let key = Track::partition("Blue").row().number(1);
/// assert_eq!(as_pattern("one track", tracks.get(key)).await?, None);
/// # Ok(())
/// # }
/// ```
pub async fn as_pattern<C: IntoFuture>(name: &'static str, call: C) -> C::Output {
    let (measured, start) = (Arc::new(OnceLock::new()), Instant::now());
    let this = Call { pattern: name, measured: Arc::clone(&measured) };
    let output = CALL.scope(this, call.into_future()).await;
    if let Some(measurements) = measured.get() {
        measurements.called(name, start.elapsed());
    }
    output
}

/// Work of this call in a task of its own: its requests have the name of the pattern, and the span of this task.
pub(crate) fn in_this_call<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let call = CALL.try_with(Clone::clone).ok();
    #[cfg(feature = "tracing")]
    let work = tracing::Instrument::in_current_span(work);
    async move {
        match call {
            Some(call) => CALL.scope(call, work).await,
            None => work.await,
        }
    }
}

/// The name of the pattern that this task serves. Its call counts in the measurements that ask first.
pub(super) fn measured_in(measurements: &Arc<Measurements>) -> Option<&'static str> {
    let call = CALL.try_with(Clone::clone).ok()?;
    call.measured.get_or_init(|| Arc::clone(measurements));
    Some(call.pattern)
}

/// The name of the pattern that this task serves.
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub(super) fn pattern() -> Option<&'static str> {
    CALL.try_with(|call| call.pattern).ok()
}
