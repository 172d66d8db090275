//! Findings that an app knows and accepts.
//!
//! Invariant: each finding is listed once, as new or as known; a mark that fits none or gives no reason is a
//! finding itself.

use super::finding::{BookFinding, BookFindingKind};
use serde::Serialize;

/// A finding that the app has marked as known: [`Book::known`](super::Book::known).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KnownFinding {
    /// What stands out.
    #[serde(flatten)]
    pub finding: BookFinding,
    /// Why the app accepts it.
    pub reason: String,
}

/// What the app says about a finding.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub kind: BookFindingKind,
    pub subject: String,
    pub reason: String,
}

impl Mark {
    fn fits(&self, finding: &BookFinding) -> bool {
        self.kind == finding.kind() && self.subject == finding.subject()
    }
}

/// Divides what was found into new findings and known ones.
pub(super) fn divide(
    found: Vec<BookFinding>,
    marks: &[Mark],
) -> (Vec<BookFinding>, Vec<KnownFinding>) {
    let (marks, without_reason): (Vec<_>, Vec<_>) =
        marks.iter().partition(|mark| !mark.reason.trim().is_empty());
    let unused = marks.iter().filter(|mark| !found.iter().any(|finding| mark.fits(finding)));
    let unused: Vec<_> = unused
        .map(|Mark { kind, subject, .. }| BookFinding::UnusedMark {
            kind: *kind,
            subject: subject.clone(),
        })
        .collect();
    let without_reason = without_reason.into_iter().map(|Mark { kind, subject, .. }| {
        BookFinding::NoReason { kind: *kind, subject: subject.clone() }
    });
    let (mut new, mut known) = (Vec::new(), Vec::new());
    for finding in found {
        match marks.iter().find(|mark| mark.fits(&finding)) {
            Some(mark) => known.push(KnownFinding { finding, reason: mark.reason.clone() }),
            None => new.push(finding),
        }
    }
    new.extend(unused);
    new.extend(without_reason);
    (new, known)
}
