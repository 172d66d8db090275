//! Why a stress test cannot run.

use crate::error::Error;
use crate::layer::LayerError;

/// Why a stress test cannot run. Throttling and failures under load are no such errors: they are in the
/// report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StressError {
    /// A setting is outside its limits. Nothing was sent.
    #[error("{name} must be {least} to {most}, not {given}; nothing was sent")]
    Setting {
        /// Which setting.
        name: &'static str,
        /// The rejected value.
        given: f64,
        /// The least that is accepted.
        least: f64,
        /// The most that is accepted.
        most: f64,
    },
    /// The test may send fewer requests than load its table, or none. Nothing was sent.
    #[error(
        "the test may send {most} requests, and needs {least} to load its table and begin; nothing was sent. Allow \
         more, or load fewer rows"
    )]
    TooFewRequests {
        /// The most requests.
        most: u64,
        /// Those that it needs.
        least: u64,
    },
    /// A mix has neither reads nor writes. Nothing was sent.
    #[error("the mix has no share above 0, so there is nothing to send; give at least one share")]
    EmptyMix,
    /// A transaction of the mix exceeds the 4 MiB of a request. Nothing was sent.
    #[error(
        "a transaction of {rows} entities of {bytes} bytes exceeds the 4 MiB of a request, and nothing was \
         sent; take fewer or smaller ones"
    )]
    TransactionBytes {
        /// Its entities.
        rows: u16,
        /// The bytes of each.
        bytes: usize,
    },
    /// The generated entities are in more or fewer partitions than the test has. Nothing was sent.
    #[error(
        "the entities for a test of {asked} partitions are in {found}, so it would measure another load; nothing was \
         sent. Make the PartitionKey from `call.partition` alone; `calls` takes calls that write elsewhere"
    )]
    Partitions {
        /// The partitions of the test: one at first, and then as many as were asked for.
        asked: u32,
        /// Those of the entities.
        found: usize,
    },
    /// A layer refuses its settings. Nothing was sent.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The table could not be created. Nothing else was sent.
    #[error("the table of the stress test could not be created: {0}")]
    Create(#[source] Error),
    /// Rows could not be loaded, so nothing was measured. The table was deleted.
    #[error("the table could not be loaded, so nothing was measured: {0}")]
    Load(#[source] Error),
    /// The table was not loaded within the most time, so nothing was measured. The table was deleted.
    #[error(
        "the table was not loaded within {seconds:.0} s, so nothing was measured; load fewer rows, or allow more time"
    )]
    LoadTime {
        /// The most time.
        seconds: f64,
    },
    /// The first calls failed, before there was any load. The table was deleted.
    #[error("the first calls failed, without any load, so nothing was measured: {0}")]
    Call(#[source] Error),
    /// The first calls succeeded and sent no request, so nothing of the store was measured. The table was deleted.
    #[error(
        "the first {calls} calls sent no request to the store, so nothing was measured; make calls that await their \
         requests, through the tables that `calls` gives"
    )]
    NoRequests {
        /// How many calls.
        calls: u32,
    },
    /// The test was stopped before anything was measured. The table was deleted.
    #[error("the stress test was stopped before anything was measured")]
    Stopped,
    /// The test ended early, and its table could not be deleted.
    #[error("{cause}; the table `{table}` could not be deleted ({source}), delete it yourself")]
    Left {
        /// The table.
        table: String,
        /// Why the test ended.
        cause: Box<Self>,
        /// Why the table is still there.
        source: Box<Error>,
    },
}

/// Checks a number.
pub(super) fn within(
    name: &'static str,
    given: f64,
    least: f64,
    most: f64,
) -> Result<(), StressError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(StressError::Setting { name, given, least, most })
}
