//! How far the program is, on a terminal.

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// A progress bar of rows; not shown unless stderr is a terminal.
pub fn progress(what: &'static str, rows: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::no_length().with_message(what);
    bar.enable_steady_tick(Duration::from_millis(250));
    match rows {
        Some(rows) => lengthen(&bar, rows),
        None => style(&bar, "  {msg} {human_pos} rows, {per_sec}"),
    }
    bar
}

/// Shows how many of `rows` rows are done.
fn lengthen(bar: &ProgressBar, rows: u64) {
    bar.set_length(rows);
    style(bar, "  {msg} {bar:28} {percent:>3} %  {per_sec}, {eta} left");
}

fn style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

pub fn speed(rows: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(f64::EPSILON);
    format!("{} rows/s, {seconds:.1} s", HumanCount((rows as f64 / seconds) as u64))
}

/// Shows how far a copy is, counted from the rows that existed before.
pub struct CopyProgress {
    bar: ProgressBar,
    before: u64,
    started: Instant,
}

impl CopyProgress {
    pub fn new(total: Option<u64>, before: u64) -> Self {
        let bar = progress("copying", total);
        bar.set_position(before);
        bar.reset_eta();
        Self { bar, before, started: Instant::now() }
    }

    /// Adds copied rows.
    pub fn add(&self, rows: u64) {
        self.bar.inc(rows);
    }

    /// Sets the number of copied rows, and the total.
    #[cfg(feature = "azure")]
    pub fn reach(&self, rows: u64, total: Option<u64>) {
        if let Some(total) = total.filter(|total| self.bar.length() != Some(*total)) {
            lengthen(&self.bar, total);
        }
        self.bar.set_position(rows);
    }

    /// Clears the bar; returns a summary of the copy.
    pub fn finish(self) -> String {
        let (copied, elapsed) =
            (self.bar.position().saturating_sub(self.before), self.started.elapsed());
        self.bar.finish_and_clear();
        copied_rows(copied, elapsed)
    }
}

/// The summary of rows copied in that time.
pub fn copied_rows(rows: u64, elapsed: Duration) -> String {
    format!("copied {} rows: {}", HumanCount(rows), speed(rows, elapsed))
}
