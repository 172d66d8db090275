//! Processes that each run one test of the binary that started them.

use std::process::{Child, Command};

/// What tells a test that it runs in a worker, and what for.
const GIVEN: &str = "TABLE_ORM_WORKER";

/// A process that ends with this value at the latest.
pub struct Worker(Child);

impl Worker {
    /// Runs the test of that name in a process of its own, where [`given`] returns that text.
    pub fn start(test: &str, given: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(GIVEN, given);
        Self(command.spawn().unwrap())
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Waits for its end: whether its test passed.
    pub fn passed(&mut self) -> bool {
        self.0.wait().unwrap().success()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What the worker was started with; none in the process of the tests.
pub fn given() -> Option<String> {
    std::env::var(GIVEN).ok()
}
