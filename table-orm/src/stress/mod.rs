//! Finds the rate that one partition sustains, and that many sustain together.
//!
//! [`Stress`] creates a table of its own, loads it, and sends calls at a rate that rises step by step, until
//! the store rejects or fails 1 % of them or falls behind. It then holds the highest rate that the store
//! keeps. [`StressReport`] has the figures of each step, compares what was sustained with the service's
//! targets, and says over how many partitions a load has to be spread.
//!
//! Calls start when their rate says, whatever became of earlier ones (an open loop), so a slow store
//! shows as latency. Nothing is retried and nothing waits, unless you add a [layer](crate::layer).
//!
//! ```
//! use table_orm::stress::{SimulatedService, Stress};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! tokio::time::pause(); // nothing takes real time
//! let service = SimulatedService::default().per_partition(200).store()?;
//! let report = Stress::new(service).partitions(1).most_in_partition(400).run().await?;
//! let rate = report.sustained_in_partition().ok_or("no rate was kept")?;
//! assert!((190.0..210.0).contains(&rate.entities_per_second));
//! let shards = report.shards.ok_or("no rate was kept")?;
//! assert!((95..=105).contains(&shards.least)); // for 20,000 a second
//! # Ok(())
//! # }
//! ```
//!
//! Entities are counted as the service's targets count them: a transaction counts its operations, a query
//! the rows that it looks at, and each request at least one for each KiB of its rows.

mod bounds;
mod calls;
mod climb;
mod error;
mod meter;
mod mix;
mod report;
mod rows;
mod settings;
#[cfg(feature = "embedded")]
mod simulated;
mod step;
mod test_run;
#[cfg(test)]
#[cfg(feature = "embedded")]
mod tests;

pub use crate::figures::Percentiles;
pub use calls::Call;
pub use error::StressError;
pub use mix::Mix;
pub use report::{
    Ending, FirstThrottled, Phase, Shards, StepKind, StepOutcome, StressBounds, StressReport,
    StressStep, StressTarget, Sustained, TargetScope, UnknownVerdict, Verdict,
};
pub use settings::Stress;
#[cfg(feature = "embedded")]
pub use simulated::SimulatedService;
