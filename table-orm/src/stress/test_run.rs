//! A stress test from the creation of its table to its deletion.

use super::calls::{Call, Calls, FIRST_CALLS, Load, MakeCall, Start};
use super::climb::Climb;
use super::error::StressError;
use super::meter::Meter;
use super::mix::{Mix, rows_of_a_transaction};
use super::report::{
    Ending, Phase, Shards, StressBounds, StressReport, StressTarget, TargetScope, Verdict,
};
use super::rows::Rows;
use super::settings::Stress;
use super::step::Driver;
use crate::error::Error;
use crate::layer::{Layer as _, Retry};
use crate::model::TableName;
use crate::store::Store;
use crate::sync::Random;
use crate::tables::Tables;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How often, and after which time, a call before the load is made again.
const TRIES: u32 = 60;
const TRY_AFTER: Duration = Duration::from_secs(2);

impl Stress {
    /// Creates a table named `stress` and 16 random digits, finds the rates that the store keeps, and deletes the
    /// table. Needs a tokio runtime with its time driver.
    ///
    /// Do not drop the future while it runs: the table would stay. Stop it with [`until`](Self::until).
    ///
    /// # Errors
    /// A setting is outside its limits, the table cannot be created or loaded, or the first calls fail
    /// without any load. Later refusals and failures are in the report.
    pub async fn run(mut self) -> Result<StressReport, StressError> {
        let bounds = self.bounds()?;
        let patient = Retry::interactive().around(Arc::clone(&self.store))?;
        let below = Meter::new(Arc::clone(&self.store));
        let mut layered: Arc<dyn Store> = Arc::new(below.clone());
        for add in std::mem::take(&mut self.layers) {
            layered = add(layered)?;
        }
        let above = Meter::new(layered);
        let tables = Tables::new(Arc::clone(&patient));
        let table = TableName::checked(&format!("stress{:016x}", Random::from_system().next()));
        tables.create(&table).await.map_err(StressError::Create)?;
        let keeps_table = self.keeps_table;
        let run = Run { patient, below, above, table: table.clone() };
        let measured = run.measure(self, bounds).await;
        if keeps_table && measured.is_ok() {
            let report = measured?;
            return Ok(StressReport { table_left: Some("as you asked".to_owned()), ..report });
        }
        match (measured, tables.delete(&table).await) {
            (measured, Ok(())) => measured,
            (Ok(report), Err(error)) => {
                Ok(StressReport { table_left: Some(error.to_string()), ..report })
            }
            (Err(cause), Err(source)) => Err(StressError::Left {
                table: table.to_string(),
                cause: Box::new(cause),
                source: Box::new(source),
            }),
        }
    }
}

/// A test whose table exists.
struct Run {
    /// The store, with retries.
    patient: Arc<dyn Store>,
    below: Meter,
    above: Meter,
    table: TableName,
}

/// Calls that can begin.
struct Started {
    make: MakeCall,
    name: String,
    entity_bytes: Option<usize>,
    entities_per_call: f64,
    requests_per_call: f64,
}

impl Run {
    async fn measure(
        self,
        stress: Stress,
        bounds: StressBounds,
    ) -> Result<StressReport, StressError> {
        let (searches, loaded) = (stress.phases(), stress.loaded_rows());
        let Stress { calls, load, entity_bytes, partitions, stop, rest, .. } = stress;
        let start = async {
            match calls {
                Calls::Rows(mix) => self.load(mix, loaded, entity_bytes, partitions).await,
                Calls::Typed { start, .. } => self.first_calls(start, load, partitions).await,
            }
        };
        let calls = tokio::select! {
            calls = timeout(stress.most_time, start) => {
                let seconds = stress.most_time.as_secs_f64();
                calls.map_err(|_| StressError::LoadTime { seconds })??
            }
            () = stop.clone() => return Err(StressError::Stopped),
        };
        let driver = Driver {
            make: calls.make,
            partitions: 1,
            in_flight: stress.in_flight,
            stop,
            next: FIRST_CALLS.into(),
        };
        let started = Instant::now();
        let mut climb = Climb {
            driver,
            above: self.above,
            below: self.below,
            entities_per_call: calls.entities_per_call,
            requests_per_call: calls.requests_per_call,
            growth: stress.growth,
            step_time: stress.step_time,
            hold_time: stress.hold_time,
            enough_calls: stress.enough_calls,
            most_requests: stress.most_requests,
            most_time: stress.most_time,
            started,
            requests: 0,
            on_step: &*stress.on_step,
        };
        let mut phases: Vec<Phase> = Vec::new();
        let mut is_stopped = false;
        for search in searches {
            is_stopped = climb.rest(rest).await;
            if is_stopped {
                break;
            }
            let phase = climb.search(search).await;
            let ending = phase.ending;
            phases.push(phase);
            is_stopped = ending == Ending::Stopped;
            if matches!(ending, Ending::Stopped | Ending::MostRequests | Ending::MostTime) {
                break;
            }
        }
        let tested = |scope: TargetScope| phases.iter().find(|phase| scope.is_of(phase.partitions));
        let verdict = |target: StressTarget| {
            let phase = tested(target.scope);
            Verdict::new(target, phase)
        };
        // A test that ended early does not know what a partition sustains.
        let is_found = |phase: &&Phase| matches!(phase.ending, Ending::Found | Ending::MostRate);
        let sustained =
            |scope| tested(scope).filter(is_found).and_then(|phase: &Phase| phase.sustained);
        let in_partition = sustained(TargetScope::Partition);
        let together = sustained(TargetScope::All);
        Ok(StressReport {
            store: store_name(&*self.patient),
            table: self.table.to_string(),
            calls: calls.name,
            entity_bytes: calls.entity_bytes,
            entities_per_call: calls.entities_per_call,
            in_flight: stress.in_flight,
            verdicts: stress.targets.into_iter().map(verdict).collect(),
            shards: in_partition.and_then(|rate| Shards::of(stress.expected, rate, together)),
            bounds,
            requests: climb.requests,
            seconds: started.elapsed().as_secs_f64(),
            is_stopped,
            table_left: None,
            phases,
        })
    }

    /// Loads the rows of a mix.
    async fn load(
        &self,
        mix: Mix,
        loaded: u32,
        entity_bytes: usize,
        partitions: u32,
    ) -> Result<Started, StressError> {
        let store: Arc<dyn Store> = Arc::new(self.above.clone());
        let rows = Rows { store, table: self.table.clone(), mix, loaded, entity_bytes };
        let most = rows_of_a_transaction(entity_bytes);
        for partition in 0..partitions {
            for first in (0..loaded).step_by(most as usize) {
                let some = first..loaded.min(first + most);
                let load = || rows.load(&*self.patient, partition, some.clone());
                patiently(load).await.map_err(StressError::Load)?;
            }
        }
        // What each kind of call counts.
        let mut entities_per_call = 0.0;
        for (kind, share) in mix.kinds() {
            let first = || rows.call_of(kind, Call { number: 0, partition: 0 });
            patiently(first).await.map_err(StressError::Call)?;
            entities_per_call += share * self.below.take().entities as f64;
        }
        let rows = Arc::new(rows);
        Ok(Started {
            make: Arc::new(move |call| Box::pin(Arc::clone(&rows).call(call))),
            name: mix.to_string(),
            entity_bytes: Some(entity_bytes),
            // A layer may answer without the store.
            entities_per_call: entities_per_call.max(1.0),
            requests_per_call: 1.0,
        })
    }

    /// Loads what calls of the app read, and makes a few, to learn what they count.
    async fn first_calls(
        &self,
        start: Box<Start>,
        load: Option<Load>,
        partitions: u32,
    ) -> Result<Started, StressError> {
        if let Some(load) = load {
            let tables = Tables::new(Arc::clone(&self.patient));
            load(tables, self.table.clone()).await.map_err(StressError::Load)?;
        }
        let make = start(&Tables::new(self.above.clone()), self.table.clone());
        let (mut entities, mut requests) = (0, 0);
        for number in 0..FIRST_CALLS {
            let call = Call { number: number.into(), partition: number % partitions };
            patiently(|| make(call)).await.map_err(StressError::Call)?;
            let counts = self.below.take();
            entities += counts.entities;
            requests += counts.requests - counts.throttled;
        }
        if requests == 0 {
            return Err(StressError::NoRequests { calls: FIRST_CALLS });
        }
        let per_call = |count: u64| (count as f64 / f64::from(FIRST_CALLS)).max(1.0);
        Ok(Started {
            make,
            name: "calls of the app".to_owned(),
            entity_bytes: None,
            entities_per_call: per_call(entities),
            requests_per_call: per_call(requests),
        })
    }
}

/// Makes a call again while the store is busy with what was loaded.
async fn patiently<F>(call: impl Fn() -> F) -> Result<(), Error>
where
    F: Future<Output = Result<(), Error>>,
{
    for _ in 0..TRIES {
        match call().await {
            Err(error) if is_throttled(&error) => sleep(TRY_AFTER).await,
            answer => return answer,
        }
    }
    call().await
}

fn is_throttled(error: &Error) -> bool {
    error.rejection().is_some_and(|rejection| rejection.cause.is_throttling())
}

/// The system of a store, and where it is.
fn store_name(store: &dyn Store) -> String {
    let backend = store.backend();
    let place = backend.namespace.or(backend.address);
    place.map_or_else(|| backend.system.to_string(), |place| format!("{}, {place}", backend.system))
}
