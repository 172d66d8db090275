//! Findings that an app knows and accepts.
//!
//! Invariant: each finding is listed once, as new or as known; a mark that fits none is a finding itself.

use super::finding::{Finding, FindingKind};
use serde::Serialize;

/// A finding that the app has marked as known: [`Book::known`](super::Book::known).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KnownFinding {
    /// What stands out.
    #[serde(flatten)]
    pub finding: Finding,
    /// Why the app accepts it.
    pub reason: String,
}

/// What the app says about a finding.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub kind: FindingKind,
    pub subject: String,
    pub reason: String,
}

impl Mark {
    fn fits(&self, finding: &Finding) -> bool {
        self.kind == finding.kind() && self.subject == finding.subject()
    }
}

/// Divides what was found into new findings and known ones.
pub(super) fn divide(found: Vec<Finding>, marks: &[Mark]) -> (Vec<Finding>, Vec<KnownFinding>) {
    let unused = marks.iter().filter(|mark| !found.iter().any(|finding| mark.fits(finding)));
    let unused: Vec<_> = unused
        .map(|Mark { kind, subject, .. }| Finding::UnusedMark {
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
