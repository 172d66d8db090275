//! Verhagen's prefix scan: how it walks the tree of key prefixes, one character at a time.
//!
//! A query for a prefix reads one page (or a few). All keys before the last one are complete then. The
//! last partition may have more rows, and the last key's prefix more partitions: one query reads each
//! of the two, while the walk continues after that prefix.
//!
//! Bounds are half-open here, so keys that hold U+FFFF are found, and so is the partition whose key
//! is empty.

use super::position::{above, max, min};
use crate::entity::RowHead;
use crate::model::order;

/// A step of the scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::scan) enum PrefixStep {
    /// The keys with `prefix` between two bounds.
    Start { prefix: String, lo: String, hi: Option<String> },
    /// The partitions with `prefix`, and more after it, between two bounds.
    PrefixQuery { prefix: String, lo: String, hi: Option<String> },
    /// The rows of one partition, after a RowKey.
    PartitionKeyQuery { partition_key: String, after: Option<String> },
    /// Rows found.
    EntitySegment,
}

impl PrefixStep {
    /// The steps that follow a start, or a page that ends with `last` and may not be the last.
    pub fn next(&self, last: Option<&RowHead>, more: bool, expand: bool) -> Vec<Self> {
        match (self, last) {
            (Self::Start { prefix, lo, hi }, _) => start(prefix, lo, hi.as_deref()),
            (Self::PrefixQuery { prefix, hi, .. }, Some(last)) => {
                let mut steps = vec![Self::EntitySegment];
                if more {
                    steps.extend(descend(prefix, hi.as_deref(), last, expand));
                }
                steps
            }
            (Self::PartitionKeyQuery { .. }, Some(_)) => vec![Self::EntitySegment],
            _ => Vec::new(),
        }
    }
}

fn start(prefix: &str, lo: &str, hi: Option<&str>) -> Vec<PrefixStep> {
    let mut steps = Vec::new();
    let below = |key: &str| hi.is_none_or(|hi| order::compare(key, hi).is_lt());
    if order::compare(prefix, lo).is_ge() && below(prefix) {
        steps.push(PrefixStep::PartitionKeyQuery { partition_key: prefix.to_owned(), after: None });
    }
    let lo = max(above(prefix), lo.to_owned());
    let hi = min(order::successor(prefix), hi.map(str::to_owned));
    if hi.as_ref().is_none_or(|hi| order::compare(&lo, hi).is_lt()) {
        steps.push(PrefixStep::PrefixQuery { prefix: prefix.to_owned(), lo, hi });
    }
    steps
}

/// The rest of the last partition, its prefix, and what lies after that prefix.
fn descend(prefix: &str, hi: Option<&str>, last: &RowHead, expand: bool) -> Vec<PrefixStep> {
    let mut steps = Vec::new();
    let RowHead { partition_key, row_key } = last;
    if expand {
        let after = Some(row_key.clone());
        steps.push(PrefixStep::PartitionKeyQuery { partition_key: partition_key.clone(), after });
    }
    let next = partition_key.strip_prefix(prefix).and_then(|rest| rest.chars().next());
    let longer: String = prefix.chars().chain(next).collect();
    let behind = order::successor(&longer);
    let hi = hi.map(str::to_owned);
    let end = min(behind.clone(), hi.clone());
    let lo = above(partition_key);
    if end.as_ref().is_none_or(|end| order::compare(&lo, end).is_lt()) {
        steps.push(PrefixStep::PrefixQuery { prefix: longer, lo, hi: end });
    }
    if let Some(lo) = behind
        && hi.as_ref().is_none_or(|hi| order::compare(&lo, hi).is_lt())
    {
        steps.push(PrefixStep::PrefixQuery { prefix: prefix.to_owned(), lo, hi });
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(partition_key: &str, row_key: &str) -> RowHead {
        RowHead { partition_key: partition_key.to_owned(), row_key: row_key.to_owned() }
    }

    #[test]
    fn a_page_shows_what_is_complete_and_what_may_go_on() {
        let hi = Some("p".to_owned());
        let root = PrefixStep::PrefixQuery { prefix: "o".to_owned(), lo: "o\0".to_owned(), hi };
        let page_end = key("oslo", "2011-06-12");
        let PrefixStep::PrefixQuery { hi, .. } = root.clone() else { unreachable!() };
        let expected = [
            PrefixStep::EntitySegment,
            PrefixStep::PartitionKeyQuery {
                partition_key: page_end.partition_key.clone(),
                after: Some(page_end.row_key.clone()),
            },
            PrefixStep::PrefixQuery {
                prefix: "os".to_owned(),
                lo: "oslo\0".to_owned(),
                hi: Some("ot".to_owned()),
            },
            PrefixStep::PrefixQuery { prefix: "o".to_owned(), lo: "ot".to_owned(), hi },
        ];
        assert_eq!(root.next(Some(&page_end), true, true), expected);
        assert_eq!(root.next(Some(&page_end), false, true), [PrefixStep::EntitySegment]);
        assert_eq!(root.next(None, true, true), []);
    }

    #[test]
    fn a_start_reads_the_partition_of_the_prefix_itself() {
        let start = PrefixStep::Start { prefix: String::new(), lo: String::new(), hi: None };
        let expected = [
            PrefixStep::PartitionKeyQuery { partition_key: String::new(), after: None },
            PrefixStep::PrefixQuery { prefix: String::new(), lo: "\0".to_owned(), hi: None },
        ];
        assert_eq!(start.next(None, true, true), expected);
    }
}
