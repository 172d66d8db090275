//! The sensors, and the outcomes of their readings.

use crate::meter::{Meter, What};
use std::io::{self, Write};
use std::time::Duration;
use table_orm::{Error, ScanPermit, TableEntity, Tables};
use tokio::time::{Instant, sleep};

/// How long a sensor rests between two readings.
const REST: Duration = Duration::from_millis(15);

/// One reading of one sensor.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{number:06}")]
pub struct Reading {
    /// The sensor's name.
    pub sensor: String,
    /// The reading's number.
    #[table(max = 999_999)]
    pub number: u32,
    /// What it read.
    pub celsius: f64,
}

/// The name of a sensor.
pub fn sensor_name(sensor: usize) -> String {
    format!("sensor-{sensor:02}")
}

/// What the sensors know about their readings, and what is stored.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Acknowledged.
    pub acknowledged: usize,
    /// Not stored: the call gave up.
    pub failed: usize,
    /// Stored or not: the call does not know.
    pub ambiguous: usize,
    /// Rows found afterwards.
    pub stored: usize,
}

/// Stores readings one after another until `end`.
pub async fn sensor(tables: Tables, meter: Meter, sensor: usize, end: Instant) -> Outcomes {
    let readings = tables.repo::<Reading>();
    let mut outcomes = Outcomes::default();
    for number in 0.. {
        if Instant::now() >= end {
            break;
        }
        let celsius = 20.0 + f64::from(number % 50) / 10.0;
        let reading = Reading { sensor: sensor_name(sensor), number, celsius };
        meter.record(What::Called);
        let answer = readings.insert(&reading).await;
        meter.record(What::Returned);
        match answer {
            Ok(_) => outcomes.acknowledged += 1,
            Err(Error::Ambiguous(_)) => outcomes.ambiguous += 1,
            Err(_) => outcomes.failed += 1,
        }
        sleep(REST).await;
    }
    outcomes
}

impl Outcomes {
    /// Adds the counts of another sensor.
    pub const fn add(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.failed += other.failed;
        self.ambiguous += other.ambiguous;
        self.stored += other.stored;
    }

    /// Counts the rows that are stored.
    ///
    /// # Errors
    /// The store's error.
    pub async fn look(&mut self, tables: &Tables) -> Result<(), Error> {
        let permit = ScanPermit::because("every reading is counted");
        self.stored = tables.repo::<Reading>().scan(permit).count().await?.rows as usize;
        Ok(())
    }

    /// Whether every acknowledged reading is stored, and no failed one is.
    pub const fn hold(&self) -> bool {
        self.acknowledged <= self.stored && self.stored <= self.acknowledged + self.ambiguous
    }

    /// Writes the counts in one line.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn report(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { acknowledged, failed, ambiguous, stored } = self;
        let verdict = if self.hold() { "none lost" } else { "READINGS ARE LOST" };
        writeln!(
            out,
            "readings: {acknowledged} acknowledged, {failed} given up, {ambiguous} not known; \
             {stored} stored: {verdict}"
        )
    }
}
