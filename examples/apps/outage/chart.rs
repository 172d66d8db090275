//! The timeline as an SVG chart: requests above, waiting calls below.

use crate::timeline::{SLOT, Slot, Timeline};
use std::fmt::Write as _;
use std::time::Duration;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
/// The positions of the panels of requests and of waiting calls.
const REQUESTS: Panel = Panel { top: 60.0, bottom: 250.0 };
const WAITING: Panel = Panel { top: 300.0, bottom: 380.0 };

/// The height of a bar's part.
type Count = fn(&Slot) -> usize;

/// The parts of a bar, and their colours.
const PARTS: [(&str, &str, Count); 3] = [
    ("answered", "#3a7d44", |slot| slot.answered),
    ("throttled", "#e08e0b", |slot| slot.throttled),
    ("failed or lost", "#b3261e", |slot| slot.failed),
];

/// A part of the chart, from its top to its bottom.
struct Panel {
    top: f64,
    bottom: f64,
}

impl Panel {
    /// The height of a value, where `most` fills the panel.
    fn height(&self, value: usize, most: usize) -> f64 {
        (self.bottom - self.top) * value as f64 / most.max(1) as f64
    }
}

/// The text of the chart.
pub fn svg(timeline: &Timeline, (from, to): (Duration, Duration)) -> String {
    let slots = &timeline.0;
    let slot_width = (WIDTH - LEFT - RIGHT) / slots.len().max(1) as f64;
    let x = |time: Duration| LEFT + slot_width * time.as_secs_f64() / SLOT.as_secs_f64();
    let requests = |slot: &Slot| PARTS.iter().map(|(_, _, part)| part(slot)).sum::<usize>();
    let most_requests = slots.iter().map(requests).max().unwrap_or_default();
    let most_waiting = slots.iter().map(|slot| slot.backing_off).max().unwrap_or_default();

    let mut body = String::new();
    let mut add = |element: std::fmt::Arguments<'_>| {
        // Writing to a string does not fail.
        let _ = writeln!(body, "{element}");
    };
    add(format_args!(
        r##"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" fill="#f3e3e1"/>"##,
        x(from),
        REQUESTS.top,
        x(to) - x(from),
        WAITING.bottom - REQUESTS.top
    ));
    add(format_args!(
        r#"<text x="{:.1}" y="{:.1}">outage</text>"#,
        x(from) + 4.0,
        REQUESTS.top + 12.0
    ));
    for (index, slot) in (0..).zip(slots) {
        let left = x(SLOT * index);
        let mut bottom = REQUESTS.bottom;
        for (_, colour, part) in PARTS {
            let height = REQUESTS.height(part(slot), most_requests);
            bottom -= height;
            add(format_args!(
                r#"<rect x="{left:.1}" y="{bottom:.1}" width="{:.1}" height="{height:.1}" fill="{colour}"/>"#,
                slot_width * 0.9
            ));
        }
        let height = WAITING.height(slot.backing_off, most_waiting);
        add(format_args!(
            r##"<rect x="{left:.1}" y="{:.1}" width="{:.1}" height="{height:.1}" fill="#35508c"/>"##,
            WAITING.bottom - height,
            slot_width * 0.9
        ));
    }
    for (panel, most, title) in [
        (REQUESTS, most_requests, format!("requests in {} ms", SLOT.as_millis())),
        (WAITING, most_waiting, "calls that wait for their next attempt".to_owned()),
    ] {
        add(format_args!(
            r#"<path d="M{LEFT} {:.1}V{:.1}H{:.1}" fill="none" stroke="black"/>"#,
            panel.top,
            panel.bottom,
            WIDTH - RIGHT
        ));
        add(format_args!(r#"<text x="{LEFT}" y="{:.1}">{title}</text>"#, panel.top - 8.0));
        add(format_args!(
            r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{most}</text>"#,
            LEFT - 6.0,
            panel.top + 10.0
        ));
        add(format_args!(
            r#"<text x="{:.1}" y="{:.1}" text-anchor="end">0</text>"#,
            LEFT - 6.0,
            panel.bottom
        ));
    }
    let seconds = (SLOT * u32::try_from(slots.len()).unwrap_or(u32::MAX)).as_secs();
    for second in 0..=seconds {
        add(format_args!(
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{second} s</text>"#,
            x(Duration::from_secs(second)),
            WAITING.bottom + 18.0
        ));
    }
    for (index, (name, colour, _)) in PARTS.iter().enumerate() {
        let left = 420.0 + 140.0 * index as f64;
        add(format_args!(r#"<rect x="{left}" y="18" width="12" height="12" fill="{colour}"/>"#));
        add(format_args!(r#"<text x="{}" y="29">{name}</text>"#, left + 18.0));
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         fill=\"white\"/>\n{body}</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_what_they_count() {
        let slot = Slot { answered: 10, throttled: 5, failed: 5, backing_off: 2 };
        let half = Slot { answered: 10, ..Slot::default() };
        let svg = svg(&Timeline(vec![slot, half]), (SLOT, SLOT * 2));
        let bars = |colour: &str, height: f64| {
            let bar = format!(r#"height="{height:.1}" fill="{colour}"/>"#);
            svg.matches(&bar).count()
        };
        let full = REQUESTS.bottom - REQUESTS.top;
        assert_eq!(bars("#3a7d44", full / 2.0), 2);
        assert_eq!((bars("#e08e0b", full / 4.0), bars("#b3261e", full / 4.0)), (1, 1));
        assert_eq!(bars("#35508c", WAITING.bottom - WAITING.top), 1);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn a_run_without_events_has_a_chart() {
        assert!(!svg(&Timeline(Vec::new()), (SLOT, SLOT)).contains("NaN"));
    }
}
