//! What an outage looks like from inside an app: sensors store readings while their service
//! throttles, fails, and loses a partition; the retry layer backs off and recovers.
//!
//! ```text
//! cargo run --example outage
//! cargo run --example outage -- --seed 7 --svg outage.svg
//! ```
//!
//! Everything is measured in this run: requests by a store around the one that fails, calls where
//! they are made.

mod chart;
mod load;
mod meter;
mod timeline;

use lexopt::ValueExt as _;
use load::Outcomes;
use meter::Meter;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use table_orm::embedded::{EmbeddedStore, OpenError};
use table_orm::layer::{FaultStore, Faults, LayerError, Retry, RetryStrategy};
use table_orm::{Error, TableName, Tables};
use timeline::{SLOT, Timeline};
use tokio::time::{Instant, sleep_until};

const HELP: &str = "\
outage: sensors store readings while their service fails, and what becomes of them

usage: cargo run --example outage -- [options]

  --seed NUMBER  which faults to inject; 17 by default
  --svg FILE     where the chart goes; `outage.svg` without it
  --help         this text
";

/// How many sensors store readings, each in a partition of its own.
const SENSORS: usize = 16;
/// When the outage begins and ends, and when the sensors stop.
const OUTAGE: (Duration, Duration) = (Duration::from_millis(1000), Duration::from_millis(2500));
/// When the partition that is offline for longer than the others comes back.
const AWAY: Duration = Duration::from_millis(4000);
const END: Duration = Duration::from_millis(5500);

/// Why the program ends early.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}; --help lists the options")]
    Arguments(#[from] lexopt::Error),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Layer(#[from] LayerError),
    #[error(transparent)]
    Store(#[from] Error),
    #[error("a sensor has stopped: {0}")]
    Sensor(#[from] tokio::task::JoinError),
    #[error("`{}` cannot be written: {source}; give --svg another path", .path.display())]
    Chart { path: PathBuf, source: io::Error },
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("outage: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let (mut seed, mut path) = (17, PathBuf::from("outage.svg"));
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            lexopt::Arg::Long("seed") => seed = parser.value()?.parse()?,
            lexopt::Arg::Long("svg") => path = parser.value()?.into(),
            lexopt::Arg::Long("help") | lexopt::Arg::Short('h') => {
                return Ok(io::stdout().write_all(HELP.as_bytes())?);
            }
            argument => return Err(argument.unexpected().into()),
        }
    }
    let mut out = io::stdout();
    let (timeline, outcomes) = live_through(seed, &mut out).await?;
    timeline.summary(&mut out)?;
    outcomes.report(&mut out)?;
    std::fs::write(&path, chart::svg(&timeline, OUTAGE))
        .map_err(|source| Failure::Chart { path: path.clone(), source })?;
    writeln!(out, "chart: {}", path.display())?;
    Ok(())
}

/// Lets the sensors work through an outage, and prints what happens while it lasts.
async fn live_through(seed: u64, out: &mut impl Write) -> Result<(Timeline, Outcomes), Failure> {
    // Has no fault except the partition that is offline.
    let service = Faults::seeded(seed).store(Arc::new(EmbeddedStore::in_memory()?))?;
    let flaky = Faults::seeded(seed)
        .throttled(0.5)
        .errors_before(0.1)
        .errors_after(0.1)
        .lost_replies(0.1)
        .store(Arc::new(service.clone()))?;
    flaky.disable();
    let meter = Meter::around(Arc::new(flaky.clone()));
    let strategy = RetryStrategy::Exponential {
        retries: 8,
        base: Duration::from_millis(100),
        min: Duration::from_millis(20),
        max: Duration::from_secs(1),
    };
    let retry = Retry::new(strategy).seed(seed).write_id("WriteId");
    let tables = Tables::new(meter.clone()).layer(retry)?;
    tables.repo::<load::Reading>().create_table().await?;

    meter.start();
    let start = Instant::now();
    let sensors = (0..SENSORS)
        .map(|sensor| {
            tokio::spawn(load::sensor(tables.clone(), meter.clone(), sensor, start + END))
        })
        .collect::<Vec<_>>();
    tokio::spawn(outage(flaky.clone(), service, start));

    writeln!(out, "{} sensors; one letter is a share of the requests of {SLOT:?}", SENSORS)?;
    timeline::legend(out)?;
    let mut slots = 0;
    while start.elapsed() < END {
        slots += 1;
        sleep_until(start + SLOT * slots).await;
        Timeline::of(&meter.events(), slots).line(slots - 1, OUTAGE, out)?;
    }
    let mut outcomes = Outcomes::default();
    for sensor in sensors {
        outcomes.add(sensor.await?);
    }
    outcomes.look(&tables).await?;
    let events = meter.events();
    let last = events.last().map_or(Duration::ZERO, |event| event.at);
    let slots = u32::try_from(last.as_millis() / SLOT.as_millis()).unwrap_or(u32::MAX) + 1;
    Ok((Timeline::of(&events, slots), outcomes))
}

/// The service fails for a while, and one partition is offline for longer than the others.
async fn outage(flaky: FaultStore, service: FaultStore, start: Instant) {
    sleep_until(start + OUTAGE.0).await;
    flaky.enable();
    if let Ok(table) = TableName::new("readings") {
        service.take_offline(&table, &load::sensor_name(0), AWAY - OUTAGE.0);
    }
    sleep_until(start + OUTAGE.1).await;
    flaky.disable();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_outage_is_seen_and_outlived() {
        let mut late = 0;
        for seed in 0..5 {
            let mut out = Vec::new();
            let (Timeline(slots), outcomes) = live_through(seed, &mut out).await.unwrap();
            assert!(outcomes.hold() && outcomes.acknowledged > 0, "{outcomes:?}");
            let at = |time: Duration| (time.as_millis() / SLOT.as_millis()) as usize;
            let of = |time: Duration| slots[at(time)];
            let (before, during) = (of(OUTAGE.0 - SLOT), of(OUTAGE.0));
            assert_eq!((before.throttled, before.failed, before.backing_off), (0, 0, 0));
            assert!(during.throttled > 0 && during.failed > 0 && during.backing_off > 0);
            assert!(during.answered < before.answered / 2);
            assert!(slots.iter().any(|slot| slot.answered > before.answered / 2));
            let after = &slots[at(OUTAGE.1 + SLOT)..at(AWAY)];
            late += after.iter().map(|slot| slot.throttled + slot.failed).sum::<usize>();
            let printed = String::from_utf8(out).unwrap();
            assert!(printed.lines().all(|line| line.chars().count() <= 100), "{printed}");
        }
        // A long `Retry-After` may keep every client from sending while one partition is offline.
        assert!(late > 0);
    }
}
