//! Numbers for a reader: in the units of a book.

use super::pattern::MONTH;
use crate::figures::{grouped, rounded};
use std::borrow::Cow;

/// A number for a reader: without a fraction from 100 on.
pub(super) fn number(number: f64) -> Cow<'static, str> {
    match number {
        0.0 => "0".into(),
        number if number >= 100.0 => rounded(number).into(),
        number if number >= 1.0 => format!("{number:.1}").into(),
        number if number >= 0.01 => format!("{number:.2}").into(),
        _ => "below 0.01".into(),
    }
}

/// A number of requests that may be more.
pub(super) fn at_least(number: u64, more: bool) -> String {
    if more { format!("{} or more", grouped(number)) } else { grouped(number) }
}

/// The price of requests of which there may be more.
pub(super) fn least_price(least: f64, more: bool) -> String {
    if more { format!("{} or more", price(least)) } else { price(least) }
}

/// The time in which a call must be answered; empty for a call without one.
pub(super) fn within(ms: Option<u64>) -> String {
    ms.map_or_else(String::new, |ms| format!("{} ms", grouped(ms)))
}

/// The share of a target, in percent.
pub(super) fn share(rows_per_second: f64, target: f64) -> String {
    format!("{:.1} %", 100.0 * rows_per_second / target + 0.0)
}

/// A price.
pub(super) fn price(price: f64) -> String {
    // The sum of nothing is -0.
    let price = price + 0.0;
    if price >= 100.0 {
        return rounded(price);
    }
    if price > 0.0 && price < 0.005 { "below 0.01".to_owned() } else { format!("{price:.2}") }
}

/// How often, in the unit that fits.
pub(super) fn rate(per_second: f64) -> String {
    let units = [(1.0, "s"), (3_600.0, "h"), (86_400.0, "day"), (MONTH, "month")];
    let fits = units.into_iter().find(|(seconds, _)| per_second * seconds >= 0.995);
    match fits {
        Some((seconds, unit)) => {
            let calls = format!("{:.1}", per_second * seconds);
            format!("{}/{unit}", calls.strip_suffix(".0").unwrap_or(&calls))
        }
        None => "never".to_owned(),
    }
}
