//! What a stress test does, and its limits.

use super::calls::{Call, Calls, Load};
use super::error::{StressError, within};
use super::mix::Mix;
use super::report::{DEFAULT_TARGETS, StressStep, StressTarget, TargetScope};
use super::step::Stop;
use crate::entity::TableEntity;
use crate::error::Error;
use crate::layer::rate::MAX_RATE;
use crate::layer::{Layer, LayerError};
use crate::model::{ACCOUNT_TARGET, PARTITION_TARGET, TableName};
use crate::store::Store;
use crate::tables::Tables;
use futures_util::FutureExt as _;
use std::fmt;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

/// The longest of each time.
const MAX_TIME: Duration = Duration::from_secs(7 * 24 * 3600);
/// The sizes of an entity: the keys fit the least, and many properties the most.
const ENTITY_BYTES: (f64, f64) = (256.0, 262_144.0);
/// The first rate, as a part of the highest.
const FIRST: f64 = 1.0 / 16.0;

/// Called after each step, with the number of partitions.
pub(super) type OnStep = dyn Fn(u32, &StressStep) + Send + Sync;
type AddLayer = Box<dyn FnOnce(Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> + Send>;

/// A stress test. `run` carries it out.
///
/// By default it sends 80 % point reads and 20 % upserts of 1 KiB to one partition, and then to 16.
///
/// ```
/// use table_orm::stress::{Mix, SimulatedService, Stress};
/// use table_orm::{TableEntity, Tables};
///
/// #[derive(Debug, TableEntity)]
/// #[table(name = "readings", partition = "{sensor}", row = "{number:012}")]
/// struct Reading { sensor: String, #[table(max = 999_999_999_999)] number: u64, celsius: f64 }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::time::pause();
/// let service = SimulatedService::default().per_partition(100).store()?;
/// let stress = Stress::new(service).entities(|call| Reading {
///     sensor: format!("sensor-{}", call.partition),
///     number: call.number,
///     celsius: 20.5,
/// });
/// let report = stress.partitions(1).most_in_partition(200).run().await?;
/// assert!(report.sustained_in_partition().is_some_and(|rate| rate.entities_per_second > 90.0));
/// # Ok(())
/// # }
/// ```
#[must_use = "a stress test does nothing until `run`"]
pub struct Stress {
    pub(super) store: Arc<dyn Store>,
    pub(super) layers: Vec<AddLayer>,
    pub(super) calls: Calls,
    /// Before the calls of an app.
    pub(super) load: Option<Load>,
    pub(super) entity_bytes: usize,
    pub(super) rows: u32,
    pub(super) partitions: u32,
    pub(super) first: Option<f64>,
    pub(super) growth: f64,
    pub(super) most_in_partition: f64,
    pub(super) most_in_all: f64,
    pub(super) step_time: Duration,
    pub(super) hold_time: Duration,
    pub(super) enough_calls: Option<u32>,
    pub(super) rest: Duration,
    pub(super) in_flight: usize,
    pub(super) most_requests: u64,
    pub(super) most_time: Duration,
    pub(super) targets: Vec<StressTarget>,
    pub(super) expected: f64,
    pub(super) keeps_table: bool,
    pub(super) stop: Stop,
    pub(super) on_step: Box<OnStep>,
}

impl fmt::Debug for Stress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stress").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Stress {
    /// Starts a test of a store. Give it the bare store of an account, such as
    /// [`AzureStore`](crate::azure::AzureStore): a layer that retries or waits hides what the service does.
    pub fn new(store: impl Store + 'static) -> Self {
        let of = |(name, rate, scope): (&str, u32, TargetScope)| StressTarget {
            name: name.to_owned(),
            entities_per_second: rate.into(),
            scope,
        };
        Self {
            store: Arc::new(store),
            layers: Vec::new(),
            calls: Calls::Rows(Mix::default()),
            load: None,
            entity_bytes: 1024,
            rows: 1000,
            partitions: 16,
            first: None,
            growth: 1.4,
            most_in_partition: 2.0 * f64::from(PARTITION_TARGET),
            most_in_all: 1.5 * f64::from(ACCOUNT_TARGET),
            step_time: Duration::from_secs(10),
            hold_time: Duration::from_secs(30),
            enough_calls: None,
            rest: Duration::from_secs(5),
            in_flight: 1024,
            most_requests: 5_000_000,
            most_time: Duration::from_secs(3600),
            targets: DEFAULT_TARGETS.map(of).into(),
            expected: ACCOUNT_TARGET.into(),
            keeps_table: false,
            stop: pending().boxed().shared(),
            on_step: Box::new(|_, _| {}),
        }
    }

    /// Reads and writes rows that the test makes up, in these shares.
    pub fn mix(mut self, mix: Mix) -> Self {
        self.calls = Calls::Rows(mix);
        self
    }

    /// Sets the bytes of such a row in a page, 256 to 262,144: its JSON with its keys and its timestamp.
    pub const fn entity_bytes(mut self, bytes: usize) -> Self {
        self.entity_bytes = bytes;
        self
    }

    /// Sets how many such rows each partition has from the start, 1 to 1,000,000; at least as many as one
    /// call reads or writes are loaded.
    pub const fn rows(mut self, rows: u32) -> Self {
        self.rows = rows;
        self
    }

    /// Inserts entities that a function makes, each with keys of its own. Entities for one
    /// [`partition`](Call::partition) have one PartitionKey, and those for others have others: the test calls the
    /// function to check that before it sends anything.
    pub fn entities<E: TableEntity + Send + Sync + 'static>(
        mut self,
        generate: impl Fn(Call) -> E + Send + Sync + 'static,
    ) -> Self {
        self.calls = Calls::entities(generate);
        self
    }

    /// Makes calls of the app. `start` returns the function that makes one: it is called with the tables
    /// and the name of the table that the test has created.
    ///
    /// ```
    /// # use table_orm::stress::{SimulatedService, Stress};
    /// # use table_orm::DynamicEntity;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # tokio::time::pause();
    /// # let store = SimulatedService::default().per_partition(100).store()?;
    /// let stress = Stress::new(store).calls(|tables, table| {
    ///     let readings = tables.table(table);
    ///     move |call| {
    ///         let readings = readings.clone();
    ///         async move {
    ///             let key = (format!("sensor-{}", call.partition), (call.number % 500).to_string());
    ///             readings.insert_or_replace(&DynamicEntity::new(key.0, key.1)).await.map(drop)
    ///         }
    ///     }
    /// });
    /// # stress.partitions(1).most_in_partition(200).run().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn calls<C, F>(
        mut self,
        start: impl FnOnce(&Tables, TableName) -> C + Send + 'static,
    ) -> Self
    where
        C: Fn(Call) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        self.calls = Calls::typed(start);
        self
    }

    /// Loads what calls of the app read, before the first of them. Its requests are retried, and not
    /// counted.
    pub fn load<F>(mut self, load: impl FnOnce(Tables, TableName) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        self.load = Some(Box::new(move |tables, table| load(tables, table).boxed()));
        self
    }

    /// Adds a layer that calls go through, such as the app's own retries. What it sends again is counted.
    pub fn layer(mut self, layer: impl Layer + Send + 'static) -> Self {
        self.layers.push(Box::new(move |store| layer.around(store)));
        self
    }

    /// Sets how many partitions share the load after one was tested alone; with 1, no others are tested.
    pub const fn partitions(mut self, partitions: u32) -> Self {
        self.partitions = partitions;
        self
    }

    /// Sets the first rate, in entities a second, 0.01 to the highest; by default a 16th of the highest.
    pub const fn first_rate(mut self, entities: f64) -> Self {
        self.first = Some(entities);
        self
    }

    /// Sets the factor between one rate and the next, 1.05 to 4; 1.4 by default.
    pub const fn growth(mut self, factor: f64) -> Self {
        self.growth = factor;
        self
    }

    /// Sets the highest rate in one partition, in entities a second; 4,000 by default.
    pub fn most_in_partition(mut self, entities: u32) -> Self {
        self.most_in_partition = entities.into();
        self
    }

    /// Sets the highest rate in many partitions, in entities a second; 30,000 by default.
    pub fn most_in_all(mut self, entities: u32) -> Self {
        self.most_in_all = entities.into();
        self
    }

    /// Sets how long each rate of the ramp lasts; 10 s by default.
    pub const fn step_time(mut self, time: Duration) -> Self {
        self.step_time = time;
        self
    }

    /// Sets how long the highest rate has to be kept; 30 s by default.
    pub const fn hold_time(mut self, time: Duration) -> Self {
        self.hold_time = time;
        self
    }

    /// Ends each rate early, once it has had that many calls, 1 or more, but not before a third of its time. On virtual time,
    /// calls are what takes time: with 5,000, a [`SimulatedService`](super::SimulatedService) is found to keep the
    /// same rates. By default each rate has its whole time, as a real service may take a burst for some seconds.
    pub const fn enough_calls(mut self, calls: u32) -> Self {
        self.enough_calls = Some(calls);
        self
    }

    /// Sets how long the store rests after the load and between phases; 5 s by default.
    pub const fn rest(mut self, time: Duration) -> Self {
        self.rest = time;
        self
    }

    /// Sets the most calls in flight, 1 to 65,536; 1,024 by default.
    pub const fn in_flight(mut self, calls: usize) -> Self {
        self.in_flight = calls;
        self
    }

    /// Ends the test before it would send more requests; 5,000,000 by default.
    pub const fn most_requests(mut self, requests: u64) -> Self {
        self.most_requests = requests;
        self
    }

    /// Ends the test before it would take longer; an hour by default. Loading the table may take as long again.
    pub const fn most_time(mut self, time: Duration) -> Self {
        self.most_time = time;
        self
    }

    /// Compares with a target of your own, too.
    pub fn target(
        mut self,
        name: impl Into<String>,
        entities_per_second: u32,
        scope: TargetScope,
    ) -> Self {
        let entities_per_second = entities_per_second.into();
        self.targets.push(StressTarget { name: name.into(), entities_per_second, scope });
        self
    }

    /// Sets the load for which the report counts shards, in entities a second; 20,000 by default.
    pub fn expected_load(mut self, entities: u32) -> Self {
        self.expected = entities.into();
        self
    }

    /// Leaves the table there at the end.
    pub const fn keep_table(mut self) -> Self {
        self.keeps_table = true;
        self
    }

    /// Stops the test when that completes, such as a signal. The report then has what was measured so
    /// far, and the table is deleted.
    pub fn until(mut self, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        self.stop = stop.boxed().shared();
        self
    }

    /// Calls a function after each step, with the number of partitions.
    pub fn on_step(mut self, report: impl Fn(u32, &StressStep) + Send + Sync + 'static) -> Self {
        self.on_step = Box::new(report);
        self
    }

    pub(super) fn check(&self) -> Result<(), StressError> {
        let most = f64::from(MAX_RATE);
        within("the size of an entity", self.entity_bytes as f64, ENTITY_BYTES.0, ENTITY_BYTES.1)?;
        if let Calls::Rows(mix) = &self.calls {
            mix.check(self.entity_bytes)?;
        }
        within("the rows of a partition", self.rows.into(), 1.0, 1e6)?;
        within("the number of partitions", self.partitions.into(), 1.0, 1000.0)?;
        for search in self.phases() {
            self.calls.check_partitions(search.partitions)?;
        }
        within("the highest rate in a partition", self.most_in_partition, 1.0, most)?;
        within("the highest rate in all", self.most_in_all, 1.0, most)?;
        within(
            "the calls that are enough",
            self.enough_calls.map_or(1.0, f64::from),
            1.0,
            f64::from(u32::MAX),
        )?;
        if let Some(first) = self.first {
            let highest = self.phases().iter().map(|search| search.most).fold(most, f64::min);
            within("the first rate", first, 0.01, highest)?;
        }
        within("the factor between rates", self.growth, 1.05, 4.0)?;
        within("the most calls in flight", self.in_flight as f64, 1.0, 65_536.0)?;
        within("the expected load", self.expected, 1.0, 1e9)?;
        let (most, least) = (self.most_requests, self.loading_requests() as u64 + 1);
        if most < least {
            return Err(StressError::TooFewRequests { most, least });
        }
        for target in &self.targets {
            within("a target", target.entities_per_second, 1.0, 1e9)?;
        }
        let times = [
            ("the seconds of a step", self.step_time, 0.1),
            ("the seconds of a hold", self.hold_time, 0.1),
            ("the seconds of a rest", self.rest, 0.0),
            ("the most seconds", self.most_time, 1.0),
        ];
        times.into_iter().try_for_each(|(name, time, least)| {
            within(name, time.as_secs_f64(), least, MAX_TIME.as_secs_f64())
        })
    }

    /// The searches, one after the other.
    pub(super) fn phases(&self) -> Vec<Search> {
        let search = |partitions, most: f64| Search {
            partitions,
            first: self.first.unwrap_or(FIRST * most),
            most,
        };
        let mut phases = vec![search(1, self.most_in_partition)];
        if self.partitions > 1 {
            phases.push(search(self.partitions, self.most_in_all));
        }
        phases
    }
}

/// The rates of a search, in entities a second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search {
    pub partitions: u32,
    pub first: f64,
    pub most: f64,
}
