//! What a stress test can send at most.

use crate::book::{MONTH, Prices};
use crate::figures::grouped;
use serde::Serialize;
use std::fmt;

/// What a stress test can send at most: it ends before it would send more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StressBounds {
    /// Requests. An account bills each as a transaction.
    pub requests: u64,
    /// GiB of rows that are sent or returned.
    pub gib_moved: f64,
    /// GiB of rows that are stored until the table is deleted.
    pub gib_stored: f64,
    /// How long it takes, without loading the table. The last answers of each step take up to a minute.
    pub seconds: f64,
    /// The same for a store that answers each call within its step.
    pub seconds_if_prompt: f64,
}

impl StressBounds {
    /// Returns what an account charges at most for the requests, and for the rows while the test runs, in the currency
    /// of the prices. Traffic out of the region and the time of loading come on top.
    ///
    /// ```
    /// use table_orm::book::Prices;
    /// use table_orm::embedded::EmbeddedStore;
    /// use table_orm::stress::Stress;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let stress = Stress::new(EmbeddedStore::in_memory()?).most_requests(1_000_000);
    /// let price = stress.bounds()?.price(&Prices::east_us_2());
    /// assert!(price > 0.0 && price < 0.1, "{price} USD");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn price(&self, prices: &Prices) -> f64 {
        let months = self.seconds / MONTH;
        self.requests as f64 / 10_000.0 * prices.per_10_000_transactions
            + self.gib_stored * months * prices.per_gib_month
    }
}

impl fmt::Display for StressBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, gib_moved, gib_stored, seconds, seconds_if_prompt } = self;
        let minutes = |seconds: &f64| (seconds / 60.0).ceil();
        write!(
            f,
            "at most {} billed transactions, {gib_moved:.2} GiB sent and returned, {gib_stored:.2} GiB \
             stored meanwhile, {:.0} minutes beside loading the table, or {:.0} if answers come late",
            grouped(*requests),
            minutes(seconds_if_prompt),
            minutes(seconds)
        )
    }
}
