//! Processes that each run one test of the binary that started them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The variable that holds a worker's task.
const TASK: &str = "TABLE_ORM_WORKER";
/// The line that a worker prints when it is ready.
const READY: &str = "the worker is ready";

/// A process that ends with this value at the latest.
pub struct Worker {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Worker {
    /// Runs the test of that name in a process of its own, where [`task`] returns that text.
    pub fn start(test: &str, task: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(TASK, task)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, output }
    }

    /// Waits until it is [`ready`].
    pub fn wait_until_ready(&mut self) {
        assert!(self.is_ready(), "the worker ended before it was ready");
    }

    /// Waits until it is [`ready`], or ends. Returns whether it is ready.
    pub fn is_ready(&mut self) -> bool {
        let mut lines = self.output.by_ref().lines().map(Result::unwrap);
        lines.any(|line| line == READY)
    }

    /// Its next line of output; `None` after its end.
    pub fn line(&mut self) -> Option<String> {
        self.output.by_ref().lines().next().map(Result::unwrap)
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Waits for its end: whether its test passed.
    pub fn passed(&mut self) -> bool {
        // Reads to the end. Otherwise the worker would wait for a reader.
        self.output.by_ref().lines().map_while(Result::ok).for_each(drop);
        self.process.wait().unwrap().success()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// This worker's task; `None` in the process of the tests.
pub fn task() -> Option<String> {
    std::env::var(TASK).ok()
}

/// Tells the starter of this worker that it is ready.
pub fn ready() {
    std::io::stdout().write_all(format!("\n{READY}\n").as_bytes()).unwrap();
}
