//! A future that wakes itself is polled again at once.
//!
//! A body of hyper wakes its own connection for each piece. A runtime of several threads then puts the task behind all
//! others, and wakes another thread to take it, which costs more than to store a row.
//!
//! Invariant: no wake is lost. One that comes during a poll is followed by a poll; any other goes to the task.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// After so many polls in a row, the task gives way to others.
const MOST_POLLS: usize = 8;

/// A future that wakes itself now and then.
pub(super) struct SameTask<F> {
    future: Pin<Box<F>>,
    wakes: Arc<Wakes>,
    waker: Waker,
}

impl<F> SameTask<F> {
    pub(super) fn new(future: F) -> Self {
        let wakes = Arc::new(Wakes::default());
        Self { future: Box::pin(future), waker: Arc::clone(&wakes).into(), wakes }
    }
}

impl<F: Future> Future for SameTask<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        this.wakes.set_task(cx.waker());
        for _ in 0..MOST_POLLS {
            this.wakes.polling.store(true, SeqCst);
            // What woke it until here is answered by this poll.
            this.wakes.woken.store(false, SeqCst);
            let polled = this.future.as_mut().poll(&mut Context::from_waker(&this.waker));
            this.wakes.polling.store(false, SeqCst);
            if polled.is_ready() || !this.wakes.woken.swap(false, SeqCst) {
                return polled;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[derive(Default)]
struct Wakes {
    /// Whether the future is being polled.
    polling: AtomicBool,
    /// Whether it was woken since that poll began.
    woken: AtomicBool,
    /// The task to wake at other times.
    task: Mutex<Option<Waker>>,
}

impl Wakes {
    fn set_task(&self, waker: &Waker) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *task {
            Some(task) => task.clone_from(waker),
            None => *task = Some(waker.clone()),
        }
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, SeqCst);
        if self.polling.load(SeqCst) {
            return;
        }
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    /// A future that wakes itself so often before it is ready.
    fn waking(mut times: usize) -> impl Future<Output = ()> {
        poll_fn(move |cx| {
            if times == 0 {
                return Poll::Ready(());
            }
            times -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        })
    }

    #[test]
    fn a_future_that_wakes_itself_wakes_no_task_until_it_has_had_its_polls() {
        let count = Arc::new(Count::default());
        let waker = Arc::clone(&count).into();
        let mut cx = Context::from_waker(&waker);
        assert!(Box::pin(SameTask::new(waking(MOST_POLLS - 1))).as_mut().poll(&mut cx).is_ready());
        assert_eq!(count.0.load(SeqCst), 0);
        let mut longer = Box::pin(SameTask::new(waking(MOST_POLLS)));
        assert!(longer.as_mut().poll(&mut cx).is_pending());
        assert_eq!(count.0.load(SeqCst), 1);
        assert!(longer.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn a_wake_between_two_polls_wakes_the_task() {
        let count = Arc::new(Count::default());
        let waker = Arc::clone(&count).into();
        let (kept, polls) = (Arc::new(Mutex::new(None)), AtomicUsize::new(0));
        let future = poll_fn(|cx| {
            polls.fetch_add(1, SeqCst);
            *kept.lock().unwrap() = Some(cx.waker().clone());
            Poll::<()>::Pending
        });
        let mut future = Box::pin(SameTask::new(future));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        kept.lock().unwrap().take().unwrap().wake();
        assert_eq!(count.0.load(SeqCst), 1);
        let before = polls.load(SeqCst);
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!((count.0.load(SeqCst), polls.load(SeqCst) - before), (1, 1));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_of_another_thread_is_lost() {
        for _ in 0..2_000 {
            let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
            let sends = std::thread::spawn(move || (0..3).try_for_each(|it| sender.send(it)));
            let read = tokio::spawn(SameTask::new(async move {
                let mut sum = 0;
                while let Some(number) = receiver.recv().await {
                    sum += number;
                    tokio::task::yield_now().await;
                }
                sum
            }));
            assert_eq!(read.await.unwrap(), 3);
            sends.join().unwrap().unwrap();
        }
    }
}
