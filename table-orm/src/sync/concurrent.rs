//! Calls side by side.
//!
//! What polls them does not know the type of their answers. So the compiler builds it once, not for each type.
//!
//! Invariant: each answer of a `Concurrent<T>` is a `T`.

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use std::any::Any;
use std::iter;
use std::marker::PhantomData;

type Answer = Box<dyn Any + Send>;
type Next<'a> = Box<dyn FnMut() -> Option<BoxFuture<'a, Answer>> + Send + 'a>;

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
        Self { answers: in_order(next(calls), most), of: PhantomData }
    }

    /// At most `most` are under way. Answers come as the calls end.
    pub fn unordered<C>(calls: C, most: usize) -> Self
    where
        C: IntoIterator<Item: Future<Output = T> + Send + 'a, IntoIter: Send + 'a>,
    {
        Self { answers: unordered(next(calls), most), of: PhantomData }
    }

    /// The next answer; `None` after all of them.
    pub async fn next(&mut self) -> Option<T> {
        let answer = self.answers.next().await?;
        answer.downcast().ok().map(|answer| *answer)
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
    /// All answers, or the first error, which ends the calls that are under way.
    pub async fn try_all(mut self) -> Result<Vec<T>, E> {
        let mut all = Vec::new();
        while let Some(answer) = self.next().await {
            all.push(answer?);
        }
        Ok(all)
    }
}

fn next<'a, C>(calls: C) -> Next<'a>
where
    C: IntoIterator<Item: Future<Output: Send + 'static> + Send + 'a, IntoIter: Send + 'a>,
{
    let mut calls = calls.into_iter();
    Box::new(move || {
        let call = calls.next()?;
        Some(Box::pin(async move { Box::new(call.await) as Answer }))
    })
}

fn in_order(next: Next<'_>, most: usize) -> BoxStream<'_, Answer> {
    stream::iter(iter::from_fn(next)).buffered(most).boxed()
}

fn unordered(next: Next<'_>, most: usize) -> BoxStream<'_, Answer> {
    stream::iter(iter::from_fn(next)).buffer_unordered(most).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::time;

    /// A call that takes that long, and counts itself while it is under way.
    async fn call(seconds: u64, under_way: &AtomicUsize, most: &AtomicUsize) -> u64 {
        most.fetch_max(under_way.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        time::sleep(Duration::from_secs(seconds)).await;
        under_way.fetch_sub(1, Ordering::Relaxed);
        seconds
    }

    #[tokio::test(start_paused = true)]
    async fn answers_come_in_the_order_of_the_calls_or_as_they_end_and_no_more_are_under_way() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let calls = || [5, 1, 2, 1].map(|seconds| call(seconds, &now, &most));
        assert_eq!(Concurrent::in_order(calls(), 2).all().await, [5, 1, 2, 1]);
        assert_eq!(Concurrent::unordered(calls(), 2).all().await, [1, 2, 1, 5]);
        assert_eq!(most.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn the_first_error_in_order_ends_the_calls_and_later_ones_do_not_start() {
        let started = AtomicUsize::new(0);
        let calls = [Ok(1), Err("second"), Err("third"), Ok(4)].map(|answer| {
            let started = &started;
            async move {
                started.fetch_add(1, Ordering::Relaxed);
                answer
            }
        });
        assert_eq!(Concurrent::in_order(calls, 1).try_all().await, Err("second"));
        assert_eq!(started.load(Ordering::Relaxed), 2);
    }
}
