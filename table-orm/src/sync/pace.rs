//! Work spread over time.

use super::{Timer, TokenBucket};
use std::time::Duration;

/// Lets at most `per_second` items begin in a second, or any number of them without it.
#[derive(Debug)]
pub(crate) struct Pace {
    timer: Timer,
    per_second: Option<u32>,
    bucket: TokenBucket<f64>,
}

impl Pace {
    pub fn begin(timer: Timer, per_second: Option<u32>) -> Self {
        Self { timer, per_second, bucket: TokenBucket::new(timer.now().as_secs_f64()) }
    }

    /// Waits until the next items are due.
    pub fn due(&mut self, items: usize) -> impl Future<Output = ()> + Send + use<> {
        let timer = self.timer;
        let wait = self.per_second.map(|per_second| {
            let now = timer.now().as_secs_f64();
            let due = self.bucket.take(now, items as f64 / f64::from(per_second));
            Duration::from_secs_f64(due - now)
        });
        async move {
            if let Some(wait) = wait {
                timer.sleep(wait).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn items_keep_their_rate_after_a_wait() {
        let timer = Timer::tokio();
        let mut pace = Pace::begin(timer, Some(10));
        for _ in 0..3 {
            timer.sleep(Duration::from_secs(5)).await;
            let began = timer.now();
            for _ in 0..6 {
                pace.due(1).await;
            }
            let took = (timer.now() - began).as_millis();
            assert!((495..=510).contains(&took), "{took}");
        }
    }
}
