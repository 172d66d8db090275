//! The findings as a page lists them.

use super::finding::{BookFinding, BookFindingKind, CAREFUL, Target};
use super::units::number;

/// Of partitions with too much load, those that a page names; a pattern may read hundreds. The JSON names all.
const NAMED: usize = 5;

/// A line for each finding, and one for all partitions besides those with the most load.
pub(super) fn finding_texts(findings: &[BookFinding]) -> Vec<String> {
    let of_kind = findings.chunk_by(|one, other| one.kind() == other.kind());
    let texts = of_kind.flat_map(|findings| {
        let least = match findings.first().map(BookFinding::kind) {
            Some(BookFindingKind::HotPartition) => Target::Partition.rows_per_second(),
            Some(BookFindingKind::BusyPartition) => CAREFUL,
            _ => return texts(findings),
        };
        // One more is named instead of counted.
        if findings.len() <= NAMED + 1 {
            return texts(findings);
        }
        let (named, others) = findings.split_at(NAMED);
        let mut texts = texts(named);
        texts.push(format!(
            "{} other partitions bear more than {} rows a second each. The JSON of this book names them.",
            others.len(),
            number(least)
        ));
        texts
    });
    texts.collect()
}

fn texts(findings: &[BookFinding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}
