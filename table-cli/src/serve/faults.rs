//! Kinds of faults by name.

use std::str::FromStr;
use table_orm::layer::Faults;

/// Adds a kind of fault to others.
type AddFault = fn(Faults, f64) -> Faults;

/// A kind of fault, and the share of requests that get it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FaultRate {
    kind: AddFault,
    share: f64,
}

const KINDS: [(&str, AddFault); 10] = [
    ("throttled", Faults::throttled),
    ("errors-before", Faults::errors_before),
    ("errors-after", Faults::errors_after),
    ("lost-requests", Faults::lost_requests),
    ("lost-replies", Faults::lost_replies),
    ("late", Faults::late),
    ("slow", Faults::slow),
    ("empty-pages", Faults::empty_pages),
    ("short-pages", Faults::short_pages),
    ("offline", Faults::offline),
];

impl FaultRate {
    pub(super) fn add_to(self, faults: Faults) -> Faults {
        (self.kind)(faults, self.share)
    }
}

impl FromStr for FaultRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, share) = text.split_once('=').ok_or("write KIND=SHARE, as throttled=0.1")?;
        let names = || KINDS.map(|(known, _)| known).join(", ");
        let kind = KINDS.iter().find(|(known, _)| *known == name);
        let (_, kind) = kind.ok_or_else(|| format!("`{name}` is none of {}", names()))?;
        match share.parse() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(Self { kind: *kind, share }),
            _ => Err(format!("`{share}` is not a share from 0 to 1")),
        }
    }
}
