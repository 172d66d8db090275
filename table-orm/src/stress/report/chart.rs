//! Plots of a phase, as SVG.

use super::figures::{Phase, Step};
use super::format::number;
use super::verdict::Target;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::io;
use std::ops::Range;

/// In pixels. On a phone, its text is then as large as that of the page.
const SIZE: (u32, u32) = (420, 290);
const FONT: &str = "sans-serif";

const SENT: RGBColor = RGBColor(110, 110, 110);
const TOOK: RGBColor = RGBColor(11, 87, 208);
const REFUSED: RGBColor = RGBColor(197, 34, 31);
const TARGET: RGBColor = RGBColor(26, 127, 55);
const MIDDLE: RGBColor = RGBColor(224, 142, 11);

/// A percentile of a step.
type Latency = fn(&Step) -> f64;
type PlotError = DrawingAreaErrorKind<io::Error>;
type Area<'s> = DrawingArea<SVGBackend<'s>, Shift>;

/// Entities a second over time: what was sent, what the store took, targets, and the first 503.
pub(super) fn rates(phase: &Phase, targets: &[&Target]) -> Result<String, PlotError> {
    drawn(|area| {
        let rates = phase.steps.iter().flat_map(|step| [step.offered, step.entities_per_second]);
        let top = 1.15 * rates.fold(1.0, f64::max);
        let time = time(phase);
        let mut chart = ChartBuilder::on(area)
            .caption("Entities a second", (FONT, 18))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(time.clone(), 0.0..top)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .x_desc("seconds")
            .x_labels(5)
            .x_label_formatter(&|seconds| number(*seconds))
            .y_labels(6)
            .label_style((FONT, 14))
            .y_label_formatter(&|rate| number(*rate))
            .draw()?;
        for target in targets.iter().filter(|target| target.entities_per_second < top) {
            let rate = target.entities_per_second;
            let line = [(time.start, rate), (time.end, rate)];
            chart
                .draw_series(LineSeries::new(line, TARGET))?
                .label(format!("target {}", number(rate)))
                .legend(|at| key(at, TARGET));
        }
        let sent = levels(phase, |step| step.offered);
        chart
            .draw_series(LineSeries::new(sent, SENT.stroke_width(2)))?
            .label("sent")
            .legend(|at| key(at, SENT));
        let took = levels(phase, |step| step.entities_per_second);
        chart
            .draw_series(LineSeries::new(took, TOOK.stroke_width(3)))?
            .label("took")
            .legend(|at| key(at, TOOK));
        if let Some(first) = phase.first_refusal {
            chart
                .draw_series(LineSeries::new([(first.at, 0.0), (first.at, top)], REFUSED))?
                .label("first 503")
                .legend(|at| key(at, REFUSED));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .label_font((FONT, 14))
            .draw()
    })
}

/// Percentiles of latency over time, on a logarithmic scale.
pub(super) fn latencies(phase: &Phase) -> Result<String, PlotError> {
    drawn(|area| {
        let most = phase.steps.iter().map(|step| step.latency.max).fold(1.0, f64::max);
        let least = phase.steps.iter().map(|step| step.latency.p50).fold(most, f64::min).max(0.1);
        // From one power of ten to another: these have labels.
        let power = |exponent: f64| 10_f64.powf(exponent);
        let (lower, upper) = (least.log10().floor(), (most.log10() + 0.3).ceil());
        let scale = (power(lower)..power(upper)).log_scale();
        let mut chart = ChartBuilder::on(area)
            .caption("Latency in ms", (FONT, 18))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(time(phase), scale)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .x_desc("seconds")
            .x_labels(5)
            .x_label_formatter(&|seconds| number(*seconds))
            .y_labels(6)
            .label_style((FONT, 14))
            .y_label_formatter(&|millis| match millis {
                10.0.. => number(*millis),
                _ => format!("{millis:.1}"),
            })
            .draw()?;
        let lines: [(&str, RGBColor, Latency); 3] = [
            ("p50", TOOK, |step| step.latency.p50),
            ("p99", MIDDLE, |step| step.latency.p99),
            ("max", REFUSED, |step| step.latency.max),
        ];
        for (name, colour, value) in lines {
            let points = levels(phase, |step| value(step).max(0.1));
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
                .label(name)
                .legend(move |at| key(at, colour));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .label_font((FONT, 14))
            .draw()
    })
}

fn drawn(draw: impl FnOnce(&Area<'_>) -> Result<(), PlotError>) -> Result<String, PlotError> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        draw(&area)?;
        area.present()?;
    }
    Ok(svg)
}

/// From the first step to the end of the last.
fn time(phase: &Phase) -> Range<f64> {
    let start = phase.steps.first().map_or(0.0, |step| step.at);
    let end = phase.steps.last().map_or(start, |step| step.at + step.seconds);
    start..end.max(start + 1.0)
}

/// A value over time that is constant in each step.
fn levels(phase: &Phase, value: impl Fn(&Step) -> f64) -> Vec<(f64, f64)> {
    let ends = |step: &Step| [(step.at, value(step)), (step.at + step.seconds, value(step))];
    phase.steps.iter().flat_map(ends).collect()
}

/// The line beside a name.
fn key((x, y): (i32, i32), colour: RGBColor) -> PathElement<(i32, i32)> {
    PathElement::new([(x, y), (x + 14, y)], colour.stroke_width(3))
}
