//! How much a stress test can send, by its settings.

use super::calls::{Calls, FIRST_CALLS};
use super::climb::{HOLDS, RESTS, length};
use super::error::StressError;
use super::mix::rows_of_a_transaction;
use super::report::StressBounds;
use super::rows::READ_FRAME;
use super::settings::Stress;
use super::step::LAST_ANSWERS;
use std::time::Duration;

/// The bytes of a GiB.
const GIB: f64 = (1_u64 << 30) as f64;

impl Stress {
    /// Returns what [`run`](Self::run) can send at most, without sending anything.
    ///
    /// A call of the app counts as one request that stores one entity of
    /// [`entity_bytes`](Self::entity_bytes). What layers send again, and what the app loads, comes on top.
    ///
    /// ```
    /// use table_orm::embedded::EmbeddedStore;
    /// use table_orm::stress::Stress;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let stress = Stress::new(EmbeddedStore::in_memory()?).most_requests(20_000);
    /// assert!(stress.bounds()?.requests < 20_300); // with those that load the table
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A setting is outside its limits.
    pub fn bounds(&self) -> Result<StressBounds, StressError> {
        self.check()?;
        // Rows count least where they are written, and have most bytes where they are read.
        let (least, largest, most, growth) = match &self.calls {
            Calls::Rows(mix) => (
                mix.entities_per_call(self.entity_bytes.saturating_sub(READ_FRAME)),
                mix.entities_per_call(self.entity_bytes.saturating_add(READ_FRAME)),
                mix.rows_per_call(),
                mix.growth(),
            ),
            // What they count is known once some were made.
            Calls::Typed { .. } => (1.0, f64::INFINITY, 1.0, 1.0),
        };
        let (mut calls, mut steps_sent) = (0.0, 0);
        let (mut time, mut rests) = (Duration::ZERO, Duration::ZERO);
        let mut add = |steps: u32, rate: f64, whole: Duration| {
            // The more an entity counts, the fewer calls are made, and the later they are enough.
            let shortest = length(whole, rate / least, self.enough_calls);
            calls += f64::from(steps) * (rate * shortest.as_secs_f64() / least).ceil();
            steps_sent += steps;
            time += steps * length(whole, rate / largest, self.enough_calls);
        };
        for search in self.phases() {
            // Each rate is tried once more where it is not kept.
            let mut rate = search.first;
            while rate < search.most {
                add(2, rate, self.step_time);
                rate *= self.growth;
            }
            add(2, search.most, self.step_time);
            add(HOLDS, search.most, self.hold_time);
            rests += RESTS * self.rest;
        }
        let late = time + steps_sent * LAST_ANSWERS;
        let calls = calls.min(self.most_requests as f64);
        let loaded = f64::from(self.loaded_rows()) * f64::from(self.partitions);
        let bytes = self.entity_bytes as f64;
        // Those between searches, and those that create and delete the table.
        let others = f64::from(FIRST_CALLS) + 2.0 * f64::from(RESTS) + 2.0;
        Ok(StressBounds {
            requests: (calls + self.loading_requests() + others) as u64,
            gib_moved: bytes * (calls * most + loaded) / GIB,
            gib_stored: bytes * (calls * growth + loaded) / GIB,
            // A step that begins ends in time, but for its last answers. Rests are as long as they are.
            seconds: (late.min(self.most_time + LAST_ANSWERS) + rests).as_secs_f64(),
            // A store that answers needs one rest of them.
            seconds_if_prompt: (time.min(self.most_time) + rests / RESTS).as_secs_f64(),
        })
    }

    /// The transactions that load the table: each has rows of one partition.
    pub(super) fn loading_requests(&self) -> f64 {
        let transaction = f64::from(rows_of_a_transaction(self.entity_bytes));
        f64::from(self.partitions) * (f64::from(self.loaded_rows()) / transaction).ceil()
    }

    /// How many rows each partition has from the start.
    pub(super) fn loaded_rows(&self) -> u32 {
        match &self.calls {
            Calls::Rows(mix) => self.rows.max(mix.least_rows().into()),
            Calls::Typed { .. } => 0,
        }
    }
}
