//! The rows of a fake service, generated from their keys and numbers.

use crate::codec::write_string;
use crate::model::{Continuation, Edm};
use crate::query::{Comparison, Filter};
use crate::store::Page;

const TIMESTAMP: &str = "2026-01-01T00:00:00Z";

pub(super) fn page(rows: Vec<u8>, continuation: Option<Continuation>, scanned: u32) -> Page {
    let mut body = br#"{"value":["#.to_vec();
    body.extend(rows);
    body.extend_from_slice(b"]}");
    Page { body: body.into(), continuation, scanned: Some(scanned) }
}

pub(super) fn write_row(body: &mut Vec<u8>, pk: &str, rk: &str, row: usize, names: [bool; 4]) {
    let start = body.len();
    for (name, selected) in ["PartitionKey", "RowKey", "Timestamp", "N"].into_iter().zip(names) {
        if !selected {
            continue;
        }
        body.push(if body.len() == start { b'{' } else { b',' });
        write_string(body, name);
        body.push(b':');
        match name {
            "PartitionKey" => write_string(body, pk),
            "RowKey" => write_string(body, rk),
            "Timestamp" => write_string(body, TIMESTAMP),
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
