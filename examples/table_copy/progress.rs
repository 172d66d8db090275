//! How far the program is, on a terminal.

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::time::Duration;

/// A progress bar of rows; not shown unless stderr is a terminal.
pub fn progress(what: &'static str, rows: Option<u64>) -> ProgressBar {
    let (bar, template) = match rows {
        Some(rows) => {
            (ProgressBar::new(rows), "  {msg} {bar:28} {percent:>3} %  {per_sec}, {eta} left")
        }
        None => (ProgressBar::no_length(), "  {msg} {human_pos} rows, {per_sec}"),
    };
    let bar = bar.with_message(what);
    bar.enable_steady_tick(Duration::from_millis(250));
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

pub fn speed(rows: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(f64::EPSILON);
    format!("{} rows/s, {seconds:.1} s", HumanCount((rows as f64 / seconds) as u64))
}
