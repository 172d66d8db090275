//! `table-orm stress`: the rate that a partition sustains.
//!
//! Invariant: an account is not touched before somebody has agreed to what the test can cost.

mod arguments;

pub(crate) use arguments::Arguments;

use crate::consent::{ask, can_ask};
use crate::failure::Failure;
use crate::interrupt::interrupted;
use arguments::Target;
use std::fs::{self, File};
use std::io::{self, Write as _, stderr, stdout};
use std::path::{Path, PathBuf};
use table_orm::book::Prices;
use table_orm::stress::{Stress, StressBounds, StressError, StressReport};
use tokio::sync::oneshot;

/// Why a stress test did not run to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StressFailure {
    #[error(transparent)]
    Stress(#[from] StressError),
    #[error("there is no terminal to ask at, and nothing was sent; give --yes to agree to {0}")]
    NotAsked(String),
    #[error("nothing was sent, since the answer was not `y`")]
    Declined,
    #[error("--partition-rate, --account-rate and --latency are for the store `simulated`")]
    NotSimulated,
    #[error("the page `{}` cannot be written", .path.display())]
    Page { path: PathBuf, source: io::Error },
    #[error("the simulation ended early")]
    Ended,
    #[error("stopped; the report shows what was measured before")]
    Stopped,
}

impl StressFailure {
    fn page(path: &Path, source: io::Error) -> Self {
        Self::Page { path: path.to_owned(), source }
    }
}

impl From<StressFailure> for Failure {
    fn from(failure: StressFailure) -> Self {
        let exit_code = match failure {
            StressFailure::NotAsked(_)
            | StressFailure::NotSimulated
            | StressFailure::Stress(
                StressError::Setting { .. }
                | StressError::TooFewRequests { .. }
                | StressError::EmptyMix
                | StressError::TransactionBytes { .. },
            ) => 2,
            StressFailure::Stopped | StressFailure::Stress(StressError::Stopped) => 130,
            _ => 1,
        };
        Self::new(failure, exit_code)
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    if arguments.has_simulation() && arguments.store != Target::Simulated {
        return Err(StressFailure::NotSimulated.into());
    }
    let (as_json, page) = (arguments.json, arguments.html.clone());
    if let Some(path) = &page {
        can_be_written(path).map_err(|source| StressFailure::page(path, source))?;
    }
    let report = match &arguments.store {
        Target::Simulated => simulated(arguments).await?,
        Target::Store(store) => {
            let stress = arguments.of(Stress::new(store.open_bare()?));
            if store.account().is_some() && !arguments.yes {
                let cost = described(&stress.bounds().map_err(StressFailure::from)?);
                if !can_ask() {
                    return Err(StressFailure::NotAsked(cost).into());
                }
                if !ask(&format!("Stress {store} with {cost}?"))? {
                    return Err(StressFailure::Declined.into());
                }
            }
            stress.until(interrupted()).run().await.map_err(StressFailure::from)?
        }
    };
    if let Some(path) = &page {
        let written = fs::write(path, report.html());
        written.map_err(|source| StressFailure::page(path, source))?;
    }
    if as_json {
        writeln!(stdout(), "{}", report.json().map_err(io::Error::from)?)?;
    } else {
        write!(stdout(), "{report}")?;
    }
    if report.is_stopped { Err(StressFailure::Stopped.into()) } else { Ok(()) }
}

/// What a test can send, and what that costs.
fn described(bounds: &StressBounds) -> String {
    let prices = Prices::east_us_2();
    let Prices { date, currency, .. } = &prices;
    let price = bounds.price(&prices);
    format!(
        "{bounds}, {price:.2} {currency} without traffic at the retail prices of East US 2 on {date}"
    )
}

/// A page that cannot be written is known before the test. Until its end, nothing is left or changed there.
fn can_be_written(page: &Path) -> io::Result<()> {
    // A link is there, even if it leads nowhere.
    let is_new = page.symlink_metadata().is_err();
    File::options().append(true).create(true).open(page)?;
    if is_new { fs::remove_file(page) } else { Ok(()) }
}

/// Runs on virtual time, which a runtime of one thread has.
async fn simulated(arguments: Arguments) -> Result<StressReport, Failure> {
    let (stop, stopped) = oneshot::channel::<()>();
    let run = tokio::task::spawn_blocking(move || -> Result<StressReport, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()?;
        runtime.block_on(async {
            let stress = arguments.of(Stress::new(arguments.simulation().store()?));
            let stress = stress.until(async { drop(stopped.await) });
            Ok(stress.run().await.map_err(StressFailure::from)?)
        })
    });
    let mut run = std::pin::pin!(run);
    let ended = tokio::select! {
        ended = &mut run => ended,
        () = interrupted() => {
            // Without a receiver, it has just ended.
            let _ = stop.send(());
            run.await
        }
    };
    ended.map_err(|_| StressFailure::Ended)?
}

/// Shows a step where progress belongs.
fn show(partitions: u32, step: &table_orm::stress::StressStep) {
    // Nobody may be reading.
    let _ = writeln!(stderr(), "{partitions:>4}{step}");
}
