//! How many requests a connection may send again in all, so that retries make no outage worse.
//!
//! The form is that of the "retry quota" of the AWS SDKs ("Retry behavior", standard mode): a bucket of
//! tokens that a retry takes from and a success fills. A retry costs [`RETRY`], or [`UNANSWERED`] if no
//! answer came, because that held a connection for long. A call that succeeds by a retry gets back what
//! the retry cost, and one that succeeds at once pays in [`SUCCESS`]; a rejection, too, shows that the
//! service works. So of an outage the service sees at first the retries of a full bucket, and then each
//! call once.
//!
//! Throttling costs nothing: it shows that the service is there and protects itself, and
//! [`RateLimit`](crate::layer::RateLimit) slows down by it.

use crate::store::StoreError;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The tokens of a full bucket by default.
pub const DEFAULT_BUDGET: u32 = 500;
const RETRY: u32 = 5;
const UNANSWERED: u32 = 10;
const SUCCESS: u32 = 1;

/// The retries that are left to a connection.
#[derive(Debug)]
pub(super) struct Budget {
    most: u32,
    tokens: Mutex<u32>,
}

/// What the last retry of a call cost.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost(Option<u32>);

impl Budget {
    pub(super) const fn new(most: u32) -> Self {
        Self { most, tokens: Mutex::new(most) }
    }

    /// Pays for a retry after that fault. `None` if too little is left.
    pub(super) fn pay(&self, fault: &StoreError) -> Option<Cost> {
        let cost = match fault.status {
            _ if fault.is_throttling() => 0,
            0 => UNANSWERED,
            _ => RETRY,
        };
        let mut tokens = self.tokens();
        *tokens = tokens.checked_sub(cost)?;
        Some(Cost(Some(cost)))
    }

    /// A call succeeded, at once or after a retry of that cost.
    pub(super) fn succeeded(&self, last: Cost) {
        let mut tokens = self.tokens();
        *tokens = tokens.saturating_add(last.0.unwrap_or(SUCCESS)).min(self.most);
    }

    fn tokens(&self) -> MutexGuard<'_, u32> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ErrorCode;

    #[test]
    fn successes_pay_for_a_fifth_of_their_number() {
        let budget = Budget::new(20);
        let fault = StoreError::new(ErrorCode::INTERNAL_ERROR, "");
        for _ in 0..4 {
            assert!(budget.pay(&fault).is_some());
        }
        assert!(budget.pay(&fault).is_none());
        for _ in 0..5 {
            budget.succeeded(Cost::default());
        }
        assert!(budget.pay(&fault).is_some() && budget.pay(&fault).is_none());
    }

    #[test]
    fn the_largest_budget_stays_full() {
        let budget = Budget::new(u32::MAX);
        budget.succeeded(Cost::default());
        assert_eq!(*budget.tokens(), u32::MAX);
    }

    #[test]
    fn a_retry_that_helps_costs_nothing_and_one_without_an_answer_costs_double() {
        let budget = Budget::new(20);
        let lost = StoreError::no_answer("");
        for _ in 0..100 {
            let paid = budget.pay(&lost).unwrap();
            budget.succeeded(paid);
        }
        assert!(budget.pay(&lost).is_some() && budget.pay(&lost).is_some());
        assert!(budget.pay(&lost).is_none());
        let busy = StoreError::new(ErrorCode::SERVER_BUSY, "");
        assert!(budget.pay(&busy).is_some(), "throttling costs nothing");
    }
}
