//! A process that hands events on until it is killed, and writes into a file that all processes share what it does.

use super::Order;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use support::worker;
use table_orm::outbox::{Event, HandlerError};
use table_orm::{ScanPermit, Tables};
use tokio::time::sleep;

/// The lease on a partition: others take over after this time.
const LEASE: Duration = Duration::from_millis(600);

/// What a process is told to do.
#[derive(Serialize, Deserialize)]
pub struct Task {
    pub connection_string: String,
    /// Where it writes what it does.
    pub log: PathBuf,
    /// How many events it takes before it gets stuck in the next one, if it does.
    pub stuck_after: Option<u64>,
}

/// What a process does with an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Line {
    Begins(String, u64),
    Took(String, u64),
    /// It has the lease, and never ends.
    Stuck(String, u64),
}

/// A file to which several processes append: the order of its lines is the order in which they came.
struct Log(File);

impl Log {
    fn add(&self, line: &Line) {
        let text = format!("{}\n", serde_json::to_string(line).unwrap());
        (&self.0).write_all(text.as_bytes()).unwrap();
        // To the process that started this one, too.
        std::io::stdout().write_all(format!("\n{text}").as_bytes()).unwrap();
    }
}

/// Runs only in worker processes.
#[tokio::test]
async fn worker_hands_on_until_it_is_killed() {
    let Some(task) = worker::task() else { return };
    let Task { connection_string, log, stuck_after } = serde_json::from_str(&task).unwrap();
    let log = Log(OpenOptions::new().append(true).open(log).unwrap());
    let orders = Tables::from_connection_string(&connection_string).unwrap().repo::<Order>();
    let taken = std::sync::atomic::AtomicU64::new(0);
    let handler = async |event: Event| {
        let Event { partition_key, number, .. } = event;
        log.add(&Line::Begins(partition_key.clone(), number));
        let count = taken.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        if stuck_after.is_some_and(|most| count >= most) {
            log.add(&Line::Stuck(partition_key, number));
            std::future::pending::<()>().await;
        } else {
            // What a handler sends takes some time.
            sleep(Duration::from_millis(1)).await;
            log.add(&Line::Took(partition_key, number));
        }
        Ok::<_, HandlerError>(())
    };
    loop {
        let permit = ScanPermit::because("test");
        let dispatch = orders.outbox().dispatch(permit, handler).lease(LEASE).removed_at_once(4);
        dispatch.await.all().unwrap();
        // Others have the rest, or there is none.
        sleep(Duration::from_millis(20)).await;
    }
}
