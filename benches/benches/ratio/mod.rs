//! Two figures of one run as a ratio, the only form that means something on a shared machine.

use criterion::Criterion;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where a benchmark keeps its figures.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("criterion")
}

/// Criterion as every benchmark here uses it.
pub fn criterion() -> Criterion {
    Criterion::default()
        .output_directory(&folder())
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(4))
        .configure_from_args()
}

/// Prints the medians of `group/baseline` and `group/subject`, their ratio, and whether it is at most
/// the goal.
pub fn print(group: &str, baseline: &str, subject: &str, goal: Option<f64>) {
    let (Some(base), Some(ours)) = (median(group, baseline), median(group, subject)) else {
        return;
    };
    let verdict = verdict(ours / base, goal);
    println!("{group}: {subject} {} / {baseline} {} = {verdict}", time(ours), time(base));
}

/// The ratio and its goal, as `benches/goals.sh` reads them.
pub fn verdict(ratio: f64, goal: Option<f64>) -> String {
    match goal {
        None => format!("{ratio:.2}"),
        Some(goal) if ratio <= goal => format!("{ratio:.2} (goal met: at most {goal})"),
        Some(goal) => format!("{ratio:.2} (goal missed: at most {goal})"),
    }
}

/// The median in nanoseconds.
fn median(group: &str, name: &str) -> Option<f64> {
    let file = folder().join(group).join(name).join("new/estimates.json");
    let estimates: serde_json::Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    estimates["median"]["point_estimate"].as_f64()
}

fn time(nanoseconds: f64) -> String {
    if nanoseconds < 1e3 {
        format!("{nanoseconds:.0} ns")
    } else if nanoseconds < 1e6 {
        format!("{:.1} µs", nanoseconds / 1e3)
    } else {
        format!("{:.2} ms", nanoseconds / 1e6)
    }
}
