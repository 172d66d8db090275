//! What can be said on the command line.

use crate::store::{STORES, StoreName, StoreNameError};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use table_orm::stress::{Mix, SimulatedService, Stress, TargetScope};

const EXAMPLES: &str = "\
Examples:
  table-orm stress simulated                              # virtual time: the service's documented targets
  table-orm stress simulated --partition-rate 500 --html stress.html
  table-orm stress env:STORAGE --inserts 1 --entity-bytes 4096 --partitions 1   # asks first
  table-orm stress UseDevelopmentStorage=true --to 1000 --step 2 --hold 5 --yes

The test makes a table of its own and deletes it at the end. The rate rises step by step until 1 % of the
calls fail, or answers come later and later; the highest rate that is kept is then held. Rates are in
entities a second: one for each KiB of a larger entity, as the service counts.

The store `simulated` throttles as the service does, in memory and on virtual time.
";

/// The calls that show whether a simulation keeps a rate: of 5,000, 1 % are 50.
const ENOUGH_CALLS: u32 = 5000;

/// Where the test runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Simulated,
    Store(StoreName),
}

impl FromStr for Target {
    type Err = StoreNameError;

    fn from_str(text: &str) -> Result<Self, StoreNameError> {
        match text {
            "simulated" => Ok(Self::Simulated),
            text => Ok(Self::Store(text.parse()?)),
        }
    }
}

/// Finds the rate that a partition sustains
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{STORES}"))]
pub(crate) struct Arguments {
    /// A store, or `simulated`
    pub(super) store: Target,
    /// Share of reads of one row; without any share, 80 point reads to 20 upserts
    #[arg(long, value_name = "SHARE")]
    point_reads: Option<f64>,
    /// Share of reads of neighbouring rows
    #[arg(long, value_name = "SHARE")]
    range_reads: Option<f64>,
    /// Rows of such a read
    #[arg(long, value_name = "ROWS", default_value_t = 100, requires = "range_reads")]
    range_rows: u16,
    /// Share of inserts of new rows
    #[arg(long, value_name = "SHARE")]
    inserts: Option<f64>,
    /// Share of writes over a row
    #[arg(long, value_name = "SHARE")]
    upserts: Option<f64>,
    /// Share of transactions
    #[arg(long, value_name = "SHARE")]
    transactions: Option<f64>,
    /// Entities of a transaction
    #[arg(long, value_name = "ENTITIES", default_value_t = 100, requires = "transactions")]
    transaction_rows: u16,
    /// Bytes of an entity
    #[arg(long, value_name = "BYTES", default_value_t = 1024)]
    entity_bytes: usize,
    /// Rows that each partition has from the start
    #[arg(long, value_name = "ROWS", default_value_t = 1000)]
    rows: u32,
    /// Partitions that share the load after one was tested alone; 1 tests no others
    #[arg(long, value_name = "N", default_value_t = 16)]
    partitions: u32,
    /// The first rate, at most the highest of a partition and of all; a 16th of the highest if it is not given
    #[arg(long, value_name = "ENTITIES")]
    from: Option<f64>,
    /// The highest rate in one partition
    #[arg(long, value_name = "ENTITIES", default_value_t = 4000)]
    to: u32,
    /// The highest rate in many partitions
    #[arg(long, value_name = "ENTITIES", default_value_t = 30_000)]
    to_all: u32,
    /// The factor between one rate and the next
    #[arg(long, value_name = "FACTOR", default_value_t = 1.4)]
    growth: f64,
    /// How long each rate lasts; 10 if it is not given, and less where `simulated` has had enough calls
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    step: Option<Duration>,
    /// How long the highest rate has to be kept; 30 if it is not given, and less in the same case
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    hold: Option<Duration>,
    /// How long the store rests before each search
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    rest: Duration,
    /// Calls in flight at most
    #[arg(long, value_name = "CALLS", default_value_t = 1024)]
    in_flight: usize,
    /// Ends before it would send more requests
    #[arg(long, value_name = "REQUESTS", default_value_t = 5_000_000)]
    most_requests: u64,
    /// Ends before it would take longer
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = seconds)]
    most_time: Duration,
    /// A target of your own, for one partition
    #[arg(long, value_name = "ENTITIES")]
    target: Option<u32>,
    /// The load for which partitions are counted
    #[arg(long, value_name = "ENTITIES", default_value_t = 20_000)]
    load: u32,
    /// Of `simulated`: entities a second in one partition, 2000 if it is not given
    #[arg(long, value_name = "ENTITIES")]
    partition_rate: Option<u32>,
    /// Of `simulated`: entities a second in all, 20000 if it is not given
    #[arg(long, value_name = "ENTITIES")]
    account_rate: Option<u32>,
    /// Of `simulated`: the longest latency, 0.02 if it is not given
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    latency: Option<Duration>,
    /// Writes the report as a page with plots
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Prints the report as a JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Leaves the table there
    #[arg(long)]
    keep: bool,
    /// Does not ask
    #[arg(long)]
    pub(super) yes: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|time| Duration::try_from_secs_f64(time).ok());
    seconds.ok_or_else(|| "it is no number of seconds".to_owned())
}

impl Arguments {
    /// Whether an option is set that only a simulation has.
    pub(super) const fn has_simulation(&self) -> bool {
        self.partition_rate.is_some() || self.account_rate.is_some() || self.latency.is_some()
    }

    pub(super) fn simulation(&self) -> SimulatedService {
        let mut service = SimulatedService::default();
        if let Some(rate) = self.partition_rate {
            service = service.per_partition(rate);
        }
        if let Some(rate) = self.account_rate {
            service = service.per_account(rate);
        }
        match self.latency {
            Some(longest) => service.latency(longest),
            None => service,
        }
    }

    /// A test with these settings.
    pub(super) fn of(&self, stress: Stress) -> Stress {
        let mut stress = stress
            .mix(self.mix())
            .entity_bytes(self.entity_bytes)
            .rows(self.rows)
            .partitions(self.partitions)
            .growth(self.growth)
            .most_in_partition(self.to)
            .most_in_all(self.to_all)
            .rest(self.rest)
            .in_flight(self.in_flight)
            .most_requests(self.most_requests)
            .most_time(self.most_time)
            .expected_load(self.load)
            .on_step(super::show);
        if let Some(rate) = self.from {
            stress = stress.first_rate(rate);
        }
        // A simulation takes as long as its calls, and thousands of them show whether a rate is kept.
        if self.store == Target::Simulated && self.step.is_none() && self.hold.is_none() {
            stress = stress.enough_calls(ENOUGH_CALLS);
        }
        if let Some(time) = self.step {
            stress = stress.step_time(time);
        }
        if let Some(time) = self.hold {
            stress = stress.hold_time(time);
        }
        if let Some(rate) = self.target {
            stress = stress.target("your own", rate, TargetScope::Partition);
        }
        if self.keep { stress.keep_table() } else { stress }
    }

    fn mix(&self) -> Mix {
        let shares =
            [self.point_reads, self.range_reads, self.inserts, self.upserts, self.transactions];
        if shares.iter().all(Option::is_none) {
            return Mix::default();
        }
        let [points, ranges, inserts, upserts, transactions] =
            shares.map(Option::unwrap_or_default);
        Mix::empty()
            .point_reads(points)
            .range_reads(ranges, self.range_rows)
            .inserts(inserts)
            .upserts(upserts)
            .transactions(transactions, self.transaction_rows)
    }
}
