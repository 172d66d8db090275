//! How much a stress test can send, by its settings.

use super::calls::{Calls, FIRST_CALLS};
use super::climb::{HOLDS, RESTS};
use super::report::Bounds;
use super::rows::{READ_FRAME, rows_of_a_load};
use super::settings::Stress;
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
    /// assert!(stress.bounds().requests < 20_300); // with those that load the table
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        // Rows count least where they are written, and have most bytes where they are read.
        let (least, most, growth) = match &self.calls {
            Calls::Rows(mix) => (
                mix.entities_per_call(self.entity_bytes.saturating_sub(READ_FRAME)),
                mix.rows_per_call(),
                mix.growth(),
            ),
            Calls::Typed(_) => (1.0, 1.0, 1.0),
        };
        let (mut entities, mut time) = (0.0, Duration::ZERO);
        for search in self.phases() {
            let mut rate = search.first;
            while rate < search.most {
                entities += rate * self.step_time.as_secs_f64();
                time += self.step_time;
                rate *= self.growth;
            }
            // The highest rate, once more where it is not kept, and the holds.
            let last = 2 * self.step_time + HOLDS as u32 * self.hold_time;
            entities += search.most * last.as_secs_f64();
            time += last + RESTS as u32 * self.rest;
        }
        let calls = (entities / least).ceil().min(self.most_requests as f64);
        let loaded = f64::from(self.loaded_rows()) * f64::from(self.partitions);
        let bytes = self.entity_bytes as f64;
        let transaction = f64::from(rows_of_a_load(self.entity_bytes));
        // Those between searches, and those that create and delete the table.
        let others = f64::from(FIRST_CALLS) + 2.0 * RESTS as f64 + 2.0;
        Bounds {
            requests: (calls + (loaded / transaction).ceil() + others) as u64,
            gib_moved: bytes * (calls * most + loaded) / GIB,
            gib_stored: bytes * (calls * growth + loaded) / GIB,
            seconds: time.min(self.most_time).as_secs_f64(),
        }
    }

    /// How many rows each partition has from the start.
    pub(super) fn loaded_rows(&self) -> u32 {
        match &self.calls {
            Calls::Rows(mix) => self.rows.max(mix.least_rows().into()),
            Calls::Typed(_) => 0,
        }
    }
}
