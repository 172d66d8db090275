//! Keys in the documentation of generated code: samples as the encoders write them, and what a query
//! for them costs. A placeholder such as `<sex>` stands for what the derive cannot know, such as the
//! codes of an enum.

use crate::ast::Encoder;
use crate::kind::Kind;
use crate::model::{Key, Part};

const PARTITION_QUERY: &str = "partition query";
const POINT_QUERY: &str = "point query";
pub const ROW_RANGE_QUERY: &str = "row range query";

/// The class of a query by the first `given` components of a key.
pub fn class(key: &Key<'_>, given: usize) -> &'static str {
    match given {
        _ if given == key.parts.len() => POINT_QUERY,
        0 if key.is_open() => PARTITION_QUERY,
        _ => ROW_RANGE_QUERY,
    }
}

pub fn cost(class: &str) -> String {
    match class {
        POINT_QUERY => format!("a {class}, one request for one row"),
        _ => format!("a {class}, in requests of up to 1,000 rows"),
    }
}

pub fn described(key: &Key<'_>) -> String {
    format!("`{}`, such as `{}`", key.template.text, whole(key))
}

/// The sample up to the first `components` components, each with the literal after it.
pub fn given(key: &Key<'_>, components: usize) -> String {
    let parts = key.parts.iter().take(components);
    let parts = parts.map(|part| component(part) + part.separator);
    std::iter::once(key.template.start.clone()).chain(parts).collect()
}

pub fn whole(key: &Key<'_>) -> String {
    given(key, key.parts.len())
}

/// The sample up to the component with that number, without the literal after it.
pub fn through(key: &Key<'_>, at: usize) -> String {
    given(key, at) + &key.parts.get(at).map(component).unwrap_or_default()
}

fn component(part: &Part<'_>) -> String {
    let unknown = format!("<{}>", part.name);
    let descends = matches!(part.encoder, Encoder::Descending | Encoder::DescendingPadded(_));
    let either = |ascending: &str, descending: &str| {
        if descends { descending.to_owned() } else { ascending.to_owned() }
    };
    match part.kind() {
        _ if part.encoder == Encoder::Spread => "0020111106".to_owned(),
        _ if part.origin().is_none() || part.is_shard() => unknown,
        Kind::Unsigned(digits) => unsigned(part, digits),
        Kind::Signed(digits) => signed(part, digits),
        Kind::Text => text(part),
        Kind::Bool => "true".to_owned(),
        Kind::Char => "J".to_owned(),
        Kind::Instant => either("2011-11-06T14:10:00.0000000Z", "2520817121999999999"),
        Kind::Date => either("2011-11-06", "2917612"),
        Kind::Time => "14:10:00.0000000".to_owned(),
        Kind::Uuid => {
            either("00000000-0000-4000-8000-000000000042", "ffffffff-ffff-bfff-7fff-ffffffffffbd")
        }
        Kind::Ulid => either("01ARYZ6S410000000000000042", "7YN710S6VYZZZZZZZZZZZZZZVX"),
        Kind::Float | Kind::Bytes | Kind::Other => unknown,
    }
}

/// 42, or the field's `max` if that is less.
fn number(part: &Part<'_>) -> u64 {
    part.field().and_then(|field| field.max.as_ref()).map_or(42, |(max, _)| 42.min(*max))
}

fn unsigned(part: &Part<'_>, digits: usize) -> String {
    let largest = |width: usize| 10_u64.checked_pow(width as u32).map_or(u64::MAX, |next| next - 1);
    let value = number(part);
    match part.encoder {
        Encoder::Padded(width) => format!("{:0width$}", value.min(largest(width))),
        Encoder::Ascending => format!("{value:0digits$}"),
        Encoder::Descending => format!("{:0digits$}", u64::MAX >> (64 - bits(digits)) ^ value),
        Encoder::DescendingPadded(width) => {
            format!("{:0width$}", largest(width) - value.min(largest(width)))
        }
        _ => value.to_string(),
    }
}

fn signed(part: &Part<'_>, digits: usize) -> String {
    let half = 1_u64 << (bits(digits) - 1);
    let value = match part.encoder {
        Encoder::Descending => half - 1 - number(part),
        _ => half + number(part),
    };
    format!("{value:0digits$}")
}

/// The bits of an integer type, by the digits of its largest value.
fn bits(digits: usize) -> u32 {
    match digits {
        3 => 8,
        5 => 16,
        10 => 32,
        _ => 64,
    }
}

fn text(part: &Part<'_>) -> String {
    // The separator's first character would end the text.
    let word = if part.separator.starts_with(['t', 'e', 'x']) { "john" } else { "text" };
    word.chars().take(part.max_len().unwrap_or(word.len())).collect()
}
