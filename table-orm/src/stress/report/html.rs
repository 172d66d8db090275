//! The report as one page, which loads nothing.

use super::chart;
use super::figures::{Phase, StressStep};
use super::stress_report::StressReport;
use crate::figures::{bytes, escaped, grouped, rounded};
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");

impl StressReport {
    /// Returns the report as a page with plots, complete in one file: it loads nothing.
    #[must_use]
    pub fn html(&self) -> String {
        let title = escaped(&format!("Stress test of {}", self.store));
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title><style>\n{STYLE}</style></head><body>\n<h1>{title}</h1>\n\
             <p>{}</p>\n",
            escaped(&self.described())
        );
        self.add_verdicts(&mut page);
        for phase in &self.phases {
            self.add_phase(&mut page, phase);
        }
        add(&mut page, format_args!("<p>{}</p>\n</body></html>\n", escaped(&self.spent())));
        page
    }

    fn add_verdicts(&self, page: &mut String) {
        page.push_str("<h2>Targets</h2>\n<ul class=\"verdicts\">\n");
        for verdict in &self.verdicts {
            let class = match verdict.is_met {
                Some(true) => "met",
                Some(false) => "unmet",
                None => "unknown",
            };
            let text = escaped(&verdict.to_string());
            add(page, format_args!("<li class=\"{class}\">{text}</li>\n"));
        }
        page.push_str("</ul>\n");
        if let Some(shards) = &self.shards {
            add(page, format_args!("<p>{shards}.</p>\n"));
        }
    }

    fn add_phase(&self, page: &mut String, phase: &Phase) {
        add(
            page,
            format_args!("<h2>{}</h2>\n<p>{}</p>\n", phase.name(), escaped(&phase.described())),
        );
        let targets: Vec<_> = self
            .verdicts
            .iter()
            .map(|verdict| &verdict.target)
            .filter(|target| target.scope.is_of(phase.partitions))
            .collect();
        page.push_str("<div class=\"plots\">\n");
        for plot in [chart::rates(phase, &targets), chart::latencies(phase)] {
            // A plot in text cannot fail to be written; without it, the table below has its figures.
            add(page, format_args!("<figure>{}</figure>\n", plot.unwrap_or_default()));
        }
        page.push_str("</div>\n<div class=\"scroll\"><table>\n<thead><tr>");
        for name in COLUMNS {
            add(page, format_args!("<th>{name}</th>"));
        }
        page.push_str("</tr></thead>\n<tbody>\n");
        for step in &phase.steps {
            page.push_str("<tr>");
            for (name, cell) in COLUMNS.into_iter().zip(cells(step)) {
                add(page, format_args!("<td data-name=\"{name}\">{}</td>", escaped(&cell)));
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</tbody></table></div>\n");
    }
}

const COLUMNS: [&str; 17] = [
    "step",
    "at",
    "sent, entities/s",
    "took, entities/s",
    "requests/s",
    "failed",
    "throttled",
    "retries",
    "errors",
    "p50 ms",
    "p90 ms",
    "p99 ms",
    "p99.9 ms",
    "max ms",
    "up",
    "down",
    "outcome",
];

fn cells(step: &StressStep) -> [String; 17] {
    let [p50, p90, p99, p999, most] = step.latencies().map(|millis| format!("{millis:.1}"));
    let errors: Vec<_> =
        step.errors.iter().map(|(code, count)| format!("{count} {code}")).collect();
    [
        step.kind.name().to_owned(),
        format!("{:.0} s", step.at),
        rounded(step.offered),
        rounded(step.entities_per_second),
        rounded(step.requests_per_second),
        format!("{:.1} %", step.failed_percent()),
        grouped(step.throttled),
        grouped(step.retries),
        if errors.is_empty() { "0".to_owned() } else { errors.join(", ") },
        p50,
        p90,
        p99,
        p999,
        most,
        bytes(step.bytes_up),
        bytes(step.bytes_down),
        step.outcome.name().to_owned(),
    ]
}

/// Adds text, which a string always takes.
fn add(page: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = page.write_fmt(text);
}
