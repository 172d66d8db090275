//! Calls that are dropped on their way.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Polls a call that often, then drops it. Returns what it returned if it ended before.
pub async fn poll_times<T>(call: impl Future<Output = T>, polls: usize) -> Option<T> {
    let (mut running, mut left) = (pin!(call), polls);
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        running.as_mut().poll(context).map(Some)
    })
    .await
}
