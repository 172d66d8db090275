//! Plots of a phase, as SVG.

use super::figures::{Phase, StressStep};
use super::verdict::StressTarget;
use crate::figures::rounded;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::io;
use std::ops::Range;

/// In pixels. On a phone, its text is then as large as that of the page.
const SIZE: (u32, u32) = (420, 290);
const FONT: &str = "sans-serif";

const SENT: RGBColor = RGBColor(110, 110, 110);
const TOOK: RGBColor = RGBColor(11, 87, 208);
const ALARM: RGBColor = RGBColor(197, 34, 31);
const TARGET: RGBColor = RGBColor(26, 127, 55);
const MIDDLE: RGBColor = RGBColor(224, 142, 11);

type PlotError = DrawingAreaErrorKind<io::Error>;
type Area<'s> = DrawingArea<SVGBackend<'s>, Shift>;
/// A plot over time.
type Plot<'p, 's, Y> = ChartContext<'p, SVGBackend<'s>, Cartesian2d<RangedCoordf64, Y>>;

/// Entities a second over time: what was sent, what the store took, targets, and the first 503.
pub(super) fn rates(phase: &Phase, targets: &[&StressTarget]) -> Result<String, PlotError> {
    drawn(|area| {
        let rates = phase.steps.iter().flat_map(|step| [step.offered, step.entities_per_second]);
        let top = 1.15 * rates.fold(1.0, f64::max);
        let time = time(phase);
        let mut chart =
            builder(area, "Entities a second").build_cartesian_2d(time.clone(), 0.0..top)?;
        mesh(&mut chart, &|rate| rounded(*rate))?;
        for target in targets.iter().filter(|target| target.entities_per_second < top) {
            let rate = target.entities_per_second;
            let points = vec![(time.start, rate), (time.end, rate)];
            line(&mut chart, &format!("target {}", rounded(rate)), points, TARGET, 1)?;
        }
        line(&mut chart, "sent", levels(phase, |step| step.offered), SENT, 2)?;
        line(&mut chart, "took", levels(phase, |step| step.entities_per_second), TOOK, 3)?;
        if let Some(first) = phase.first_throttled {
            line(&mut chart, "first 503", vec![(first.at, 0.0), (first.at, top)], ALARM, 1)?;
        }
        legend(&mut chart)
    })
}

/// Percentiles of latency over time, on a logarithmic scale.
pub(super) fn latencies(phase: &Phase) -> Result<String, PlotError> {
    drawn(|area| {
        let most = phase.steps.iter().map(|step| step.latencies()[4]).fold(1.0, f64::max);
        let least = phase.steps.iter().map(|step| step.latencies()[0]).fold(most, f64::min);
        // From one power of ten to another: these have labels.
        let power = |exponent: f64| 10_f64.powf(exponent);
        let (lower, upper) = (least.max(0.1).log10().floor(), (most.log10() + 0.3).ceil());
        let scale = (power(lower)..power(upper)).log_scale();
        let mut chart = builder(area, "Latency in ms").build_cartesian_2d(time(phase), scale)?;
        mesh(&mut chart, &|millis| match millis {
            10.0.. => rounded(*millis),
            _ => format!("{millis:.1}"),
        })?;
        for (name, colour, at) in [("p50", TOOK, 0), ("p99", MIDDLE, 2), ("max", ALARM, 4)] {
            let points = levels(phase, |step| step.latencies()[at].max(0.1));
            line(&mut chart, name, points, colour, 2)?;
        }
        legend(&mut chart)
    })
}

/// The frame of a plot.
fn builder<'p, 's>(area: &'p Area<'s>, caption: &str) -> ChartBuilder<'p, 's, SVGBackend<'s>> {
    let mut chart = ChartBuilder::on(area);
    chart.caption(caption, (FONT, 18)).margin(10).x_label_area_size(40).y_label_area_size(60);
    chart
}

/// Its lines and labels: seconds across, and values upwards.
fn mesh<'s, Y>(chart: &mut Plot<'_, 's, Y>, label: &dyn Fn(&f64) -> String) -> Result<(), PlotError>
where
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_desc("seconds")
        .x_labels(5)
        .x_label_formatter(&|seconds| rounded(*seconds))
        .y_labels(6)
        .label_style((FONT, 14))
        .y_label_formatter(label)
        .draw()
}

/// A line with its name in the legend.
fn line<'s, Y>(
    chart: &mut Plot<'_, 's, Y>,
    name: &str,
    points: Vec<(f64, f64)>,
    colour: RGBColor,
    width: u32,
) -> Result<(), PlotError>
where
    Y: Ranged<ValueType = f64> + 'static,
{
    let key = move |(x, y)| PathElement::new([(x, y), (x + 14, y)], colour.stroke_width(3));
    chart.draw_series(LineSeries::new(points, colour.stroke_width(width)))?.label(name).legend(key);
    Ok(())
}

fn legend<'p, 's: 'p, Y>(chart: &mut Plot<'p, 's, Y>) -> Result<(), PlotError>
where
    Y: Ranged<ValueType = f64> + 'static,
{
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .label_font((FONT, 14))
        .draw()
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
fn levels(phase: &Phase, value: impl Fn(&StressStep) -> f64) -> Vec<(f64, f64)> {
    let ends = |step: &StressStep| [(step.at, value(step)), (step.at + step.seconds, value(step))];
    phase.steps.iter().flat_map(ends).collect()
}
