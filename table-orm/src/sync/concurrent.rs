//! Calls side by side.
//!
//! Answers are boxed as `dyn Any`, so the compiler builds what polls the calls once, not for each type of answer.
//!
//! Invariant: each answer of a `Concurrent<T>` is a `T`.

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use std::any::Any;
use std::iter;
use std::marker::PhantomData;

type Answer = Box<dyn Any + Send>;
type NextCall<'a> = Box<dyn FnMut() -> Option<BoxFuture<'a, Answer>> + Send + 'a>;

/// Calls of which some are under way at a time. The others start when there is room.
pub(crate) struct Concurrent<'a, T> {
    answers: BoxStream<'a, Answer>,
    of: PhantomData<fn() -> T>,
}

impl<'a, T: Send + 'static> Concurrent<'a, T> {
    /// At most `most` are under way. Answers come in the order of the calls.
    pub fn in_order<C>(calls: C, most: usize) -> Self
    where
        C: IntoIterator<Item: Future<Output = T> + Send + 'a, IntoIter: Send + 'a>,
    {
        Self { answers: poll_in_order(next_call(calls), most), of: PhantomData }
    }

    /// At most `most` are under way. Answers come as the calls end.
    pub fn unordered<C>(calls: C, most: usize) -> Self
    where
        C: IntoIterator<Item: Future<Output = T> + Send + 'a, IntoIter: Send + 'a>,
    {
        Self { answers: poll_unordered(next_call(calls), most), of: PhantomData }
    }

    /// The next answer; `None` after all of them.
    pub async fn next(&mut self) -> Option<T> {
        match self.answers.next().await?.downcast() {
            Ok(answer) => Some(*answer),
            Err(_) => unreachable!("each answer is a `T`"),
        }
    }

    /// All answers.
    pub async fn all(mut self) -> Vec<T> {
        let mut all = Vec::new();
        while let Some(answer) = self.next().await {
            all.push(answer);
        }
        all
    }
}

impl<T: Send + 'static, E: Send + 'static> Concurrent<'_, Result<T, E>> {
    /// All answers, or the first error that comes. An error drops the calls that are under way.
    pub async fn try_all(mut self) -> Result<Vec<T>, E> {
        let mut all = Vec::new();
        while let Some(answer) = self.next().await {
            all.push(answer?);
        }
        Ok(all)
    }
}

/// What starts the next call, if there is one.
fn next_call<'a, C>(calls: C) -> NextCall<'a>
where
    C: IntoIterator<Item: Future<Output: Send + 'static> + Send + 'a, IntoIter: Send + 'a>,
{
    let mut calls = calls.into_iter();
    Box::new(move || {
        let call = calls.next()?;
        Some(Box::pin(async move { Box::new(call.await) as Answer }))
    })
}

fn poll_in_order(next: NextCall<'_>, most: usize) -> BoxStream<'_, Answer> {
    stream::iter(iter::from_fn(next)).buffered(most).boxed()
}

fn poll_unordered(next: NextCall<'_>, most: usize) -> BoxStream<'_, Answer> {
    stream::iter(iter::from_fn(next)).buffer_unordered(most).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::time::{Instant, sleep};

    /// A call that takes that long, and counts itself while it is under way.
    async fn call(seconds: u64, under_way: &AtomicUsize, most: &AtomicUsize) -> u64 {
        most.fetch_max(under_way.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        sleep(Duration::from_secs(seconds)).await;
        under_way.fetch_sub(1, Ordering::Relaxed);
        seconds
    }

    #[tokio::test(start_paused = true)]
    async fn answers_come_in_the_order_of_the_calls_or_as_they_end_and_as_many_as_asked_run() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let calls = || [5, 1, 2, 1].map(|seconds| call(seconds, &now, &most));
        assert_eq!(Concurrent::in_order(calls(), 2).all().await, [5, 1, 2, 1]);
        assert_eq!(most.swap(0, Ordering::Relaxed), 2);
        assert_eq!(Concurrent::unordered(calls(), 2).all().await, [1, 2, 1, 5]);
        assert_eq!(most.swap(0, Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_error_in_order_drops_calls_under_way_and_later_ones_are_not_made() {
        let calls = [
            (1, Ok("first")),
            (3, Err("slow")),
            (1, Err("fast")),
            (9, Ok("long")),
            (1, Ok("last")),
        ];
        let made = AtomicUsize::new(0);
        let calls = calls.into_iter().map(|(seconds, answer)| {
            made.fetch_add(1, Ordering::Relaxed);
            async move {
                sleep(Duration::from_secs(seconds)).await;
                answer
            }
        });
        let start = Instant::now();
        assert_eq!(Concurrent::in_order(calls, 3).try_all().await, Err("slow"));
        assert_eq!(made.load(Ordering::Relaxed), 4);
        assert_eq!(start.elapsed().as_secs(), 3);
    }
}
