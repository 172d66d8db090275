//! What decides on faults, and carries out requests with them.
//!
//! Invariant: each kind of request samples its random numbers in a fixed order, even while faults
//! are disabled, so that a seed replays.

use super::fault::{self, InjectedFault};
use super::script::RequestCounts;
use super::settings::Faults;
use crate::layer::LayerError;
use crate::store::StoreError;
use crate::sync::Random;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

#[derive(Debug)]
pub(super) struct Injector {
    pub(super) faults: Faults,
    pub(super) random: Random,
    disabled: AtomicBool,
    injected: AtomicU64,
    counts: Mutex<RequestCounts>,
}

impl Injector {
    pub(super) fn new(faults: Faults) -> Result<Self, LayerError> {
        faults.check()?;
        Ok(Self {
            random: Random::seeded(faults.seed),
            faults,
            disabled: AtomicBool::new(false),
            injected: AtomicU64::new(0),
            counts: Mutex::default(),
        })
    }

    pub(super) fn disable(&self, disabled: bool) {
        self.disabled.store(disabled, Ordering::Relaxed);
    }

    pub(super) fn is_disabled(&self) -> bool {
        self.disabled.load(Ordering::Relaxed)
    }

    pub(super) fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    pub(super) fn happens(&self, probability: f64) -> bool {
        self.random.unit() < probability && !self.is_disabled()
    }

    fn time(&self, most: Duration) -> Duration {
        most.mul_f64(self.random.unit())
    }

    /// The fault by the probabilities, whether or not faults are enabled.
    pub(super) fn sample(&self) -> Option<InjectedFault> {
        InjectedFault::sample(&self.faults, &self.random)
    }

    /// Counts a request. Returns the fault that the script has for it.
    pub(super) fn scripted(&self, operation: &'static str) -> Option<InjectedFault> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.next(operation, &self.faults.script).map(InjectedFault::from)
    }

    /// Carries out a request with its fault.
    pub(super) async fn apply<T, E>(
        &self,
        fault: Option<InjectedFault>,
        to_error: impl Fn(StoreError) -> E + Send,
        next: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        self.injected.fetch_add(fault.is_some().into(), Ordering::Relaxed);
        if self.happens(self.faults.slow) {
            sleep(self.time(self.faults.slowest)).await;
        }
        if let Some(error) = fault.as_ref().and_then(|fault| fault.error_before(&self.random)) {
            return Err(to_error(error));
        }
        let answer = next.await;
        if self.happens(self.faults.slow) {
            sleep(self.time(self.faults.slowest)).await;
        }
        match fault.as_ref().and_then(InjectedFault::error_after) {
            Some(error) => Err(to_error(error)),
            None => answer,
        }
    }

    /// As [`apply`](Self::apply), for a write, which may also be late.
    pub(super) async fn apply_to_write<T: Send + 'static, E: Send + 'static>(
        &self,
        fault: Option<InjectedFault>,
        to_error: impl Fn(StoreError) -> E + Send,
        next: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        if fault != Some(InjectedFault::Late) {
            return self.apply(fault, to_error, next).await;
        }
        self.injected.fetch_add(1, Ordering::Relaxed);
        let delay = self.time(self.faults.latest.unwrap_or(self.faults.slowest));
        tokio::spawn(async move {
            sleep(delay).await;
            next.await
        });
        Err(to_error(fault::no_answer()))
    }
}
