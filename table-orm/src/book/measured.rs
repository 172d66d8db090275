//! What was measured beside what was planned, as the cells of a table.

use super::report::BookReport;
use super::text::{at_least, number, rate, within};
use crate::figures::grouped;
use crate::layer::MeasuredPattern;

/// The names of the columns.
pub(super) const COLUMNS: [&str; 12] = [
    "Pattern",
    "Calls",
    "Calls measured",
    "Requests",
    "Requests measured",
    "Matching",
    "Rows returned",
    "Rows written",
    "Rows written, measured",
    "Within",
    "Median measured",
    "99 % measured",
];

impl BookReport {
    /// A line for each measured pattern. The planned cells of a pattern that the book does not have are empty.
    pub(super) fn measured_cells(&self) -> impl Iterator<Item = [String; COLUMNS.len()]> {
        self.measured.iter().map(|measured| {
            let MeasuredPattern { name, calls, per_second, latency_us, .. } = measured;
            let planned = self.patterns.iter().find(|pattern| pattern.name == *name);
            let cell = |text: Option<String>| text.unwrap_or_default();
            let of_call = |all: u64| number(all as f64 / (*calls).max(1) as f64).into_owned();
            let ms = |micros: u64| format!("{} ms", number(micros as f64 / 1000.0));
            [
                (*name).to_owned(),
                cell(planned.map(|planned| rate(planned.per_second))),
                rate(*per_second),
                cell(planned.map(|planned| at_least(planned.requests, planned.at_least))),
                of_call(measured.requests),
                cell(planned.map(|planned| grouped(planned.rows_matching))),
                of_call(measured.rows_returned),
                cell(planned.map(|planned| grouped(planned.rows_written))),
                of_call(measured.rows_written),
                cell(planned.map(|planned| within(planned.within_ms))),
                ms(latency_us.p50),
                ms(latency_us.p99),
            ]
        })
    }
}
