//! The rows of a fake service, generated from their keys and numbers.

use crate::codec::write_string;
use crate::model::{Continuation, Edm, PARTITION_KEY, ROW_KEY, TIMESTAMP};
use crate::query::{Comparison, Filter};
use crate::store::Page;

/// When every row was written.
const WRITTEN: &str = "2026-01-01T00:00:00Z";

pub(super) fn page(rows: Vec<u8>, continuation: Option<Continuation>, scanned: u32) -> Page {
    let mut body = br#"{"value":["#.to_vec();
    body.extend(rows);
    body.extend_from_slice(b"]}");
    Page { body: body.into(), continuation, scanned: Some(scanned) }
}

pub(super) fn write_row(body: &mut Vec<u8>, pk: &str, rk: &str, row: usize, names: [bool; 4]) {
    let start = body.len();
    for (name, selected) in [PARTITION_KEY, ROW_KEY, TIMESTAMP, "N"].into_iter().zip(names) {
        if !selected {
            continue;
        }
        body.push(if body.len() == start { b'{' } else { b',' });
        write_string(body, name);
        body.push(b':');
        match name {
            PARTITION_KEY => write_string(body, pk),
            ROW_KEY => write_string(body, rk),
            TIMESTAMP => write_string(body, WRITTEN),
            _ => body.extend_from_slice(row.to_string().as_bytes()),
        }
    }
    if body.len() == start {
        body.push(b'{');
    }
    body.push(b'}');
}

/// Whether a row meets a condition on its number.
pub(super) fn matches(filter: &Filter, row: usize) -> bool {
    match filter {
        Filter::Compare { property, comparison, value: Edm::Int32(value) } if property == "N" => {
            let order = i32::try_from(row).unwrap_or(i32::MAX).cmp(value);
            match comparison {
                Comparison::Equal => order.is_eq(),
                Comparison::NotEqual => order.is_ne(),
                Comparison::Greater => order.is_gt(),
                Comparison::GreaterOrEqual => order.is_ge(),
                Comparison::Less => order.is_lt(),
                Comparison::LessOrEqual => order.is_le(),
            }
        }
        Filter::Compare { .. } => false,
        Filter::And(left, right) => matches(left, row) && matches(right, row),
        Filter::Or(left, right) => matches(left, row) || matches(right, row),
        Filter::Not(inner) => !matches(inner, row),
    }
}
