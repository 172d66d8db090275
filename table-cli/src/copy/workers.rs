//! A copy by processes of this program: a coordinator, and workers on one machine or on several.

use super::arguments::Arguments;
use super::shared::SharedCopy;
use super::stable_hash::hash;
use super::{CopyFailure, check, check_target, is_over, total};
use crate::progress::{Progress, speed};
use crate::store::create;
use std::future::pending;
use std::io::{self, Read};
use std::path::Path;
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use table_orm::azure::AzureQueues;
use table_orm::azure::ConnectError;
use table_orm::queue::{QueueError, QueueErrorKind, Queues as _};
use table_orm::repo::Table;
use table_orm::scan::distributed::{DistributedScanError, DistributedStatus};
use table_orm::{Error, TableName, Tables};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The table of the copies in progress.
const CONTROL: &str = "tablecopies";
/// The environment variables that name the stores to workers.
const FROM: &str = "TABLE_ORM_COPY_FROM";
const TO: &str = "TABLE_ORM_COPY_TO";
/// The environment variable that makes a worker stop when stdin ends.
const PARENT: (&str, &str) = ("TABLE_ORM_COPY_PARENT", "stdin");
/// How long workers have to finish the pages they are at.
const PATIENCE: Duration = Duration::from_secs(10);

/// The reason why workers have not completed the copy.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    #[error("no queue of the target's account can be used: {0}")]
    Connect(#[from] ConnectError),
    #[error("the queue of the copy cannot be deleted: {0}")]
    Queue(#[from] QueueError),
    #[error(
        "no copy of `{0}` to `{1}` between these accounts is in progress, so there is nothing to work \
         on; begin it with --workers"
    )]
    NotBegun(TableName, TableName),
    #[error("no worker can be started: {0}")]
    Start(#[source] io::Error),
    #[error(
        "the workers have ended, and {0} ranges are not copied; their messages say why, and the \
         same command continues from there"
    )]
    Ended(u64),
    #[error(
        "{ranges} ranges were put aside, because each attempt failed{}; the same command tries \
         them again", .error.as_ref().map(|error| format!(", the last time with: {error}")).unwrap_or_default()
    )]
    Poisoned { ranges: u64, error: Option<String> },
}

/// A copy that processes share, with the queues it goes through.
struct Job {
    copy: SharedCopy,
    queues: AzureQueues,
    queue: String,
}

impl Job {
    async fn open(
        arguments: &Arguments,
        source: &Table,
        target: &Table,
    ) -> Result<Self, CopyFailure> {
        let to = arguments.to.account().unwrap_or_default();
        let queues = AzureQueues::from_connection_string(to).map_err(WorkersError::from)?;
        let tables = Tables::from_connection_string(to)?;
        let control = TableName::new(CONTROL).map_err(Error::from)?;
        create(&tables, &control).await?;
        let [table, copy] = [&arguments.table, arguments.copy()].map(TableName::as_str);
        let hash = hash(&[&arguments.from.name()?, &table.to_lowercase(), &copy.to_lowercase()]);
        let (id, queue) =
            (format!("{table:.28}-to-{copy:.28}-{hash:016x}"), format!("copy-{hash:016x}"));
        let copy = SharedCopy::new(
            [source, target, &tables.table(control)],
            queues.clone(),
            (&id, &queue),
            arguments.readers,
            arguments.writers,
        );
        Ok(Self { copy, queues, queue })
    }

    /// Its progress; `None` before it has begun.
    async fn status(&self) -> Result<Option<DistributedStatus>, Error> {
        match self.copy.scan.status().await {
            Ok(status) => Ok(Some(status)),
            Err(Error::DistributedScan(DistributedScanError::NotStarted(_))) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn remove(&self) -> Result<(), CopyFailure> {
        self.copy.scan.remove().await?;
        for queue in [self.queue.clone(), format!("{}-poison", self.queue)] {
            match self.queues.delete(&queue).await {
                Err(error) if error.kind != QueueErrorKind::QueueNotFound => {
                    return Err(WorkersError::Queue(error).into());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Does a worker's part of the copy.
pub async fn work(
    arguments: Arguments,
    source: Table,
    target: Table,
    stop: impl Future<Output = ()>,
) -> Result<(), CopyFailure> {
    let job = Job::open(&arguments, &source, &target).await?;
    let started = Instant::now();
    let stop = async {
        tokio::select! {
            () = stop => {}
            () = let_go() => {}
        }
    };
    let report = job.copy.work(stop).await.map_err(|error| incomplete(&arguments, error))?;
    arguments.say_copied(report.rows, &speed(report.rows, started.elapsed()));
    match report.complete {
        true => {
            arguments.report(report.rows, &Ok(None));
            Ok(())
        }
        false => Err(stopped()),
    }
}

/// The failure of a worker whose work ends with that error.
pub fn incomplete(arguments: &Arguments, error: Error) -> CopyFailure {
    match error {
        Error::DistributedScan(DistributedScanError::NotStarted(_)) => {
            let (table, copy) = (arguments.table.clone(), arguments.copy().clone());
            WorkersError::NotBegun(table, copy).into()
        }
        error => CopyFailure::Incomplete(error),
    }
}

/// Starts workers, watches them, checks the copy, and tidies up.
pub async fn coordinate(
    arguments: Arguments,
    source: Table,
    target: Table,
    workers: usize,
    stop: impl Future<Output = ()>,
) -> Result<(), CopyFailure> {
    let job = Job::open(&arguments, &source, &target).await?;
    let resumed = job.status().await?.is_some();
    check_target(&arguments, &target, resumed).await?;
    job.copy.scan.start().await?;
    job.copy.scan.redrive().await?;
    let mut stop = pin!(stop);
    let copied = copy(&arguments, &source, &job, workers, stop.as_mut()).await?;
    let checked = check(&arguments, [&source, &target], stop, stopped).await;
    arguments.report(copied, &checked);
    if is_over(&checked) {
        job.remove().await?;
    }
    checked.map(drop)
}

async fn copy(
    arguments: &Arguments,
    source: &Table,
    job: &Job,
    workers: usize,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<u64, CopyFailure> {
    let total = tokio::select! {
        total = total(arguments, source) => total?,
        () = stop.as_mut() => return Err(stopped()),
    };
    let before = job.status().await?.unwrap_or_default().rows;
    let progress = Progress::resumed("copying", total, before);
    let mut children = Workers::default();
    for _ in 0..workers {
        children.add(start(arguments, workers).map_err(WorkersError::Start)?);
    }
    let stopped_early = tokio::select! {
        () = children.ended(|message| progress.print(message)) => Ok(false),
        () = stop.as_mut() => Ok(true),
        error = async {
            loop {
                sleep(Duration::from_secs(1)).await;
                match job.status().await {
                    Ok(status) => reach(&progress, total, &status.unwrap_or_default()),
                    Err(error) => return error,
                }
            }
        } => Err(error),
    };
    // Those that do not stop in time are killed with their handles.
    children.ask_to_stop();
    drop(timeout(PATIENCE, children.ended(|message| progress.print(message))).await);
    let stopped_early = stopped_early?;
    let status = job.status().await?.unwrap_or_default();
    reach(&progress, total, &status);
    let (copied, speed) = progress.finish();
    arguments.say_copied(copied, &speed);
    match status {
        _ if stopped_early => Err(stopped()),
        DistributedStatus { open: 0, poisoned: 0, .. } => Ok(copied),
        DistributedStatus { open: 0, poisoned: ranges, poisoned_ranges, .. } => {
            let error = poisoned_ranges.into_iter().find_map(|range| range.error);
            Err(WorkersError::Poisoned { ranges, error }.into())
        }
        DistributedStatus { open, .. } => Err(WorkersError::Ended(open).into()),
    }
}

/// Shows how far the copy is; where its rows were not counted, as the ranges let it estimate.
fn reach(progress: &Progress, total: Option<u64>, status: &DistributedStatus) {
    let estimate = status.rows_left.map(|left| status.rows + left);
    if let Some(total) = total.or(estimate) {
        progress.lengthen(total);
    }
    progress.reach(status.rows);
}

/// Starts one of `workers` workers; it is killed when its handle is dropped.
fn start(arguments: &Arguments, workers: usize) -> io::Result<Child> {
    worker(&std::env::current_exe()?, arguments, workers).spawn()
}

/// The command that starts one of `workers` workers.
pub fn worker(program: &Path, arguments: &Arguments, workers: usize) -> Command {
    let Arguments { from, to, table, readers, writers, .. } = arguments;
    let share = |requests: &usize| requests.div_ceil(workers).to_string();
    let mut command = Command::new(program);
    command.arg("copy");
    // Everyone on the machine may see command lines, and connection strings have keys.
    for (option, variable, store) in [("--from", FROM, from), ("--to", TO, to)] {
        command.args([option, &format!("env:{variable}")]);
        command.env(variable, store.account().unwrap_or_default());
    }
    command
        .arg("--worker")
        .args(["--table", table.as_str(), "--to-table", arguments.copy().as_str()])
        .args(["--readers", &share(readers), "--writers", &share(writers)])
        .env(PARENT.0, PARENT.1)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Workers that were started; they are killed when this is dropped.
#[derive(Default)]
pub struct Workers {
    /// Taken from the workers, because waiting for one closes its pipe.
    pipes: Vec<ChildStdin>,
    waits: JoinSet<(u32, io::Result<ExitStatus>)>,
}

impl Workers {
    pub fn add(&mut self, mut worker: Child) {
        self.pipes.extend(worker.stdin.take());
        let process = worker.id().unwrap_or_default();
        self.waits.spawn(async move { (process, worker.wait().await) });
    }

    /// Asks those that still work to stop.
    fn ask_to_stop(&mut self) {
        self.pipes.clear();
    }

    /// Waits for all of them to end. They print their own messages, unless a signal ends them.
    pub async fn ended(&mut self, report: impl Fn(&str)) {
        while let Some(end) = self.waits.join_next().await {
            match end {
                Ok((process, Ok(status))) if status.code().is_none() => report(&format!(
                    "worker {process} was killed ({status}); the other workers take over what it was copying"
                )),
                _ => {}
            }
        }
    }
}

/// Ends when the coordinator that has started this process closes its stdin, or has ended. Never ends
/// for a worker started by hand, whose stdin may be anything.
async fn let_go() {
    match std::env::var(PARENT.0) {
        Ok(parent) if parent == PARENT.1 => end_of(io::stdin()).await,
        _ => pending().await,
    }
}

/// Waits for the end of the input, in a thread that nobody waits for: a runtime would not end
/// before a read of its own.
pub async fn end_of(mut input: impl Read + Send + 'static) {
    let (sender, ended) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        drop(io::copy(&mut input, &mut io::sink()));
        drop(sender);
    });
    drop(ended.await);
}

fn stopped() -> CopyFailure {
    CopyFailure::Stopped(format!("continues from where the table `{CONTROL}` has it"))
}
