//! Processes that each run one test of the binary that started them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The variable that holds what a worker is for.
const TASK: &str = "TABLE_ORM_WORKER";
/// What a worker says at the moment that its starter waits for.
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
        let mut lines = self.output.by_ref().lines().map(Result::unwrap);
        assert!(lines.any(|line| line == READY), "the worker ended before it was ready");
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Waits for its end: whether its test passed.
    pub fn passed(&mut self) -> bool {
        // To the end, or it would wait for a reader.
        self.output.by_ref().lines().map_while(Result::ok).for_each(drop);
        self.process.wait().unwrap().success()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What this worker is for; `None` in the process of the tests.
pub fn task() -> Option<String> {
    std::env::var(TASK).ok()
}

/// Says to the starter of this worker that the moment has come.
pub fn ready() {
    std::io::stdout().write_all(format!("\n{READY}\n").as_bytes()).unwrap();
}
