//! How far a command is: a bar on a terminal, plain lines elsewhere. Both go to stderr.

use crate::counted;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::io::{IsTerminal as _, Write as _, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a plain line is printed.
const PLAIN: Duration = Duration::from_secs(10);

/// The progress of a command, in rows.
pub(crate) struct Progress {
    what: &'static str,
    bar: ProgressBar,
    /// The rows that were there before.
    before: u64,
    started: Instant,
    /// When the last plain line was printed; `None` on a terminal.
    printed: Option<Mutex<Instant>>,
}

impl Progress {
    /// Begins to show how many rows are done; of how many, if that is known.
    pub(crate) fn new(what: &'static str, total: Option<u64>) -> Self {
        Self::resumed(what, total, 0)
    }

    /// The same for a command that goes on after rows that are done.
    pub(crate) fn resumed(what: &'static str, total: Option<u64>, before: u64) -> Self {
        let started = Instant::now();
        let printed = (!stderr().is_terminal()).then(|| Mutex::new(started));
        let bar = match printed {
            Some(_) => ProgressBar::hidden(),
            None => ProgressBar::no_length(),
        };
        let bar = bar.with_message(what);
        bar.enable_steady_tick(Duration::from_millis(250));
        let progress = Self { what, bar, before, started, printed };
        match total {
            Some(rows) => progress.lengthen(rows),
            None => progress.style("  {msg} {human_pos} rows, {per_sec}"),
        }
        progress.bar.set_position(before);
        progress.bar.reset_eta();
        progress
    }

    /// Sets the total.
    pub(crate) fn lengthen(&self, rows: u64) {
        if self.bar.length() != Some(rows) {
            self.bar.set_length(rows);
            self.style("  {msg} {bar:28} {percent:>3} %  {per_sec}, {eta} left");
        }
    }

    fn style(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
    }

    /// Adds rows that are done.
    pub(crate) fn add(&self, rows: u64) {
        self.reach(self.bar.position() + rows);
    }

    /// Sets the number of rows that are done.
    pub(crate) fn reach(&self, rows: u64) {
        self.bar.set_position(rows);
        let Some(printed) = &self.printed else { return };
        let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        if printed.elapsed() >= PLAIN {
            *printed = Instant::now();
            let of = self.bar.length().map(|total| format!(" of {}", HumanCount(total)));
            let (what, done, of) = (self.what, HumanCount(rows), of.unwrap_or_default());
            // Nobody may be reading.
            let _ = writeln!(
                stderr(),
                "{what} {done}{of} {}",
                counted::rows(self.bar.length().unwrap_or(rows))
            );
        }
    }

    /// Prints a line, above the bar.
    pub(crate) fn print(&self, message: &str) {
        // Nobody may be reading.
        self.bar.suspend(|| drop(writeln!(stderr(), "{message}")));
    }

    /// Clears the bar; returns the rows done since the start, and how fast that was.
    pub(crate) fn finish(self) -> (u64, String) {
        let rows = self.bar.position().saturating_sub(self.before);
        self.bar.finish_and_clear();
        (rows, speed(rows, self.started.elapsed()))
    }
}

/// Rows in that time.
pub(crate) fn speed(rows: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(f64::EPSILON);
    format!("{} rows/s, {seconds:.1} s", HumanCount((rows as f64 / seconds) as u64))
}
