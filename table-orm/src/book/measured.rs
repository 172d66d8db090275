//! What was measured beside what was planned, as the cells of a table.

use super::report::{BookReport, PatternReport};
use super::units::{at_least, number, rate, within};
use crate::figures::grouped;
use crate::layer::MeasuredPattern;

/// The names of the columns.
pub(super) const COLUMNS: [&str; 16] = [
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
    "Bytes up",
    "Bytes up, measured",
    "Bytes down",
    "Bytes down, measured",
];

impl BookReport {
    /// The names that were measured, and that no pattern has.
    pub(super) fn unplanned(&self) -> impl Iterator<Item = String> {
        let is_planned = |name: &str| self.patterns.iter().any(|pattern| pattern.name == name);
        let names = self.measured.iter().map(|measured| measured.name);
        names.filter(move |name| !is_planned(name)).map(ToOwned::to_owned)
    }

    /// A line for each measured pattern, and for each that no call measured. The cells of what is not known are empty.
    pub(super) fn measured_cells(&self) -> impl Iterator<Item = [String; COLUMNS.len()]> {
        let measured = self.measured.iter().map(|measured| {
            let planned = self.patterns.iter().find(|pattern| pattern.name == *measured.name);
            cells(measured.name, planned, Some(measured))
        });
        let is_measured =
            |planned: &PatternReport| self.measured.iter().any(|one| *one.name == planned.name);
        let planned = self.patterns.iter().filter(move |planned| !is_measured(planned));
        measured.chain(planned.map(|planned| cells(&planned.name, Some(planned), None)))
    }
}

fn cells(
    name: &str,
    planned: Option<&PatternReport>,
    measured: Option<&MeasuredPattern>,
) -> [String; COLUMNS.len()] {
    let cell = |text: Option<String>| text.unwrap_or_default();
    let of_call = |all: fn(&MeasuredPattern) -> u64| {
        let of =
            |one: &MeasuredPattern| number(all(one) as f64 / one.calls.max(1) as f64).into_owned();
        cell(measured.map(of))
    };
    let ms = |micros: fn(&MeasuredPattern) -> u64| {
        cell(measured.map(|one| format!("{} ms", number(micros(one) as f64 / 1000.0))))
    };
    [
        name.to_owned(),
        cell(planned.map(|planned| rate(planned.per_second))),
        cell(measured.map(|measured| rate(measured.per_second))),
        cell(planned.map(|planned| at_least(planned.requests, planned.at_least))),
        of_call(|one| one.requests),
        cell(planned.map(|planned| grouped(planned.rows_matching))),
        of_call(|one| one.rows_returned),
        cell(planned.map(|planned| grouped(planned.rows_written))),
        of_call(|one| one.rows_written),
        cell(planned.map(|planned| within(planned.within_ms))),
        ms(|one| one.latency_us.p50),
        ms(|one| one.latency_us.p99),
        cell(planned.map(|planned| grouped(planned.bytes_up))),
        of_call(|one| one.bytes_up),
        cell(planned.map(|planned| grouped(planned.bytes_down))),
        of_call(|one| one.bytes_down),
    ]
}
