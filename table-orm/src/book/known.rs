//! Findings that an app knows and accepts.
//!
//! Invariant: each finding is listed once, as new or as known; a mark that fits none is a finding itself.

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
    let unused = marks.iter().filter(|mark| !found.iter().any(|finding| mark.fits(finding)));
    let unused: Vec<_> = unused
        .map(|Mark { kind, subject, .. }| BookFinding::UnusedMark {
            kind: *kind,
            subject: subject.clone(),
        })
        .collect();
    let (mut new, mut known) = (Vec::new(), Vec::new());
    for finding in found {
        match marks.iter().find(|mark| mark.fits(&finding)) {
            Some(mark) => known.push(KnownFinding { finding, reason: mark.reason.clone() }),
            None => new.push(finding),
        }
    }
    new.extend(unused);
    (new, known)
}
