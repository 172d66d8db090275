//! What the stored rows prove about a write whose answer was lost.
//!
//! Invariant: times are compared with times of the service only. The clock of this machine may be
//! wrong by any amount.

use super::write_id::WriteIdProperty;
use crate::codec::{MembersByName, members_by_name};
use crate::entity::{DynamicEntity, read_row};
use crate::model::{DateTime, ETag, Edm, TIMESTAMP};
use crate::store::{Action, IfMatch, Operation, StoredRow};
use std::time::Duration;

/// How far the clocks of the service's servers may be from each other: as far as it allows clients
/// (service documentation, "Authorize with Shared Key"), and much further than they are.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(15 * 60);

/// A write that was sent, as far as its rows are compared with it.
#[derive(Debug)]
pub(super) struct Sent<'w> {
    /// The id that it left in its rows, and in which property.
    pub(super) id: Option<(&'w WriteIdProperty, &'w str)>,
    /// The service's clock before it was first sent, if an answer has shown it by then.
    pub(super) at: Option<DateTime>,
}

/// What one row proves about the write.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The write took effect.
    Mine,
    /// Another write is there, and this one had no effect.
    Other,
    /// Neither is proved.
    Unknown,
}

impl Sent<'_> {
    /// What the row under an operation's key proves.
    pub(super) fn evidence(&self, operation: &Operation, row: Option<&StoredRow>) -> Evidence {
        let Some(row) = row else {
            return Evidence::Unknown;
        };
        let Ok(members) = members_by_name(&row.body) else {
            return Evidence::Unknown;
        };
        if let Some((property, id)) = self.id
            && let Some(mark) = property.read(&members)
        {
            if mark.is_of(id) {
                return Evidence::Mine;
            }
            if let Some(IfMatch::ETag(etag)) = operation.action.if_match()
                && mark.replaced(etag)
            {
                return Evidence::Other;
            }
        }
        match timestamp(&members) {
            Some(written) if self.is_before(written) && is_hopeless(operation, row) => {
                Evidence::Other
            }
            _ => Evidence::Unknown,
        }
    }

    /// Whether a row of that timestamp was certainly written before the write was first sent.
    fn is_before(&self, written: DateTime) -> bool {
        let ticks = MAX_CLOCK_SKEW.as_nanos() / 100;
        let skew = i64::try_from(ticks).unwrap_or(i64::MAX);
        self.at.is_some_and(|at| written.ticks().saturating_add(skew) < at.ticks())
    }
}

/// Whether the operation cannot succeed any more while the row is as it is, even if an abandoned
/// request still arrives.
fn is_hopeless(operation: &Operation, row: &StoredRow) -> bool {
    match &operation.action {
        Action::Insert(_) => true,
        action => match action.if_match() {
            Some(IfMatch::ETag(etag)) => row.etag().is_ok_and(|current| *etag != current),
            _ => false,
        },
    }
}

/// Whether the row has exactly the properties that an insert or a replacement wrote, of the same types
/// and values. It is no evidence: two writers may send the same.
pub(super) fn is_stored(action: &Action, row: Option<&StoredRow>) -> bool {
    let (Action::Insert(sent) | Action::InsertOrReplace(sent) | Action::Replace(sent, _)) = action
    else {
        return false;
    };
    let properties =
        |body: &[u8]| read_row::<DynamicEntity>(0, body).ok().map(|row| row.properties);
    let stored = row.and_then(|row| properties(&row.body));
    stored.zip(properties(sent)).is_some_and(|(stored, sent)| {
        // As literals, because NaN does not equal itself.
        let literal = |value: &Edm| (value.edm_type(), value.to_string());
        stored.len() == sent.len()
            && stored.iter().zip(&sent).all(|((name, value), (other_name, other))| {
                name == other_name && literal(value) == literal(other)
            })
    })
}

fn timestamp(members: &MembersByName<'_>) -> Option<DateTime> {
    serde_json::from_str::<String>(members.get(TIMESTAMP)?).ok()?.parse().ok()
}

/// The ETag of a version that we wrote and another write has replaced since: well-formed, and of no
/// row. A write that it guards fails, as one that the true ETag guards would.
pub(super) fn superseded() -> ETag {
    ETag::from_timestamp("1601-01-01T00:00:00Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-03-01T12:00:00Z";

    fn evidence(action: Action, row: Option<&str>) -> Evidence {
        evidence_at(Some(NOW.parse().unwrap()), action, row)
    }

    fn evidence_at(at: Option<DateTime>, action: Action, row: Option<&str>) -> Evidence {
        let property = WriteIdProperty::new("WriteId".into()).unwrap();
        let sent = Sent { id: Some((&property, "ours")), at };
        let operation = Operation { row_key: "r".into(), action };
        let row = row
            .map(|body| StoredRow { body: body.to_owned().into(), header: Some(ETag::new("now")) });
        sent.evidence(&operation, row.as_ref())
    }

    fn guarded() -> Action {
        Action::Replace("{}".into(), IfMatch::ETag(ETag::new("old")))
    }

    fn insert() -> Action {
        Action::Insert("{}".into())
    }

    #[test]
    fn our_id_proves_that_the_write_took_effect() {
        assert_eq!(evidence(insert(), Some(r#"{"WriteId":"ours"}"#)), Evidence::Mine);
        assert_eq!(evidence(guarded(), Some(r#"{"WriteId":"ours over old"}"#)), Evidence::Mine);
    }

    #[test]
    fn another_write_over_the_same_version_proves_that_ours_had_no_effect() {
        assert_eq!(evidence(guarded(), Some(r#"{"WriteId":"other over old"}"#)), Evidence::Other);
        let delete = Action::Delete(IfMatch::ETag(ETag::new("old")));
        assert_eq!(evidence(delete, Some(r#"{"WriteId":"other over old"}"#)), Evidence::Other);
    }

    #[test]
    fn a_row_older_than_the_write_proves_that_it_had_no_effect() {
        let at = |time: &str| format!(r#"{{"Timestamp":"{time}","WriteId":"other"}}"#);
        assert_eq!(evidence(insert(), Some(&at("2026-03-01T11:44:59Z"))), Evidence::Other);
        assert_eq!(evidence(guarded(), Some(&at("2026-03-01T11:44:59Z"))), Evidence::Other);
        assert_eq!(evidence(insert(), Some(&at("2026-03-01T11:45:00Z"))), Evidence::Unknown);
        assert_eq!(evidence(insert(), Some(&at("2026-03-01T12:30:00Z"))), Evidence::Unknown);
    }

    #[test]
    fn the_age_of_a_row_proves_nothing_before_the_service_has_shown_its_clock() {
        let old = Some(r#"{"Timestamp":"2020-01-01T00:00:00Z"}"#);
        assert_eq!(evidence_at(None, insert(), old), Evidence::Unknown);
        assert_eq!(evidence_at(None, guarded(), old), Evidence::Unknown);
    }

    #[test]
    fn an_old_row_proves_nothing_while_the_write_could_still_arrive() {
        let old = Some(r#"{"Timestamp":"2020-01-01T00:00:00Z"}"#);
        assert_eq!(evidence(Action::InsertOrReplace("{}".into()), old), Evidence::Unknown);
        assert_eq!(evidence(Action::Delete(IfMatch::Any), old), Evidence::Unknown);
        let unchanged = IfMatch::ETag(ETag::new("now"));
        assert_eq!(evidence(Action::Merge("{}".into(), unchanged), old), Evidence::Unknown);
    }

    #[test]
    fn a_row_is_stored_as_sent_when_types_and_values_agree() {
        let sent = r#"{"PartitionKey":"p","RowKey":"r","A":"5","A@odata.type":"Edm.Int64","B":1.50,
            "C":"NaN","C@odata.type":"Edm.Double"}"#;
        let stored = |row: &str| {
            let row = StoredRow { body: row.to_owned().into(), header: None };
            is_stored(&Action::Insert(sent.into()), Some(&row))
        };
        let same = r#"{"Timestamp":"2026-03-01T12:00:00Z","C@odata.type":"Edm.Double","C":"NaN",
            "B":1.5,"A@odata.type":"Edm.Int64","A":"5","PartitionKey":"p","RowKey":"r"}"#;
        assert!(stored(same));
        for (part, other) in [
            (r#""A":"5""#, r#""A":"6""#),
            (r#""A@odata.type":"Edm.Int64","#, ""),
            (r#""B":1.5,"#, ""),
            (r#""B":1.5,"#, r#""B":1.5,"D":true,"#),
            (r#""B":1.5"#, r#""B":2.5"#),
        ] {
            let row = same.replace(part, other);
            assert!(row != same && !stored(&row), "{row}");
        }
        assert!(!is_stored(&Action::Insert(sent.into()), None));
        let row = StoredRow { body: same.into(), header: None };
        assert!(!is_stored(&Action::InsertOrMerge(sent.into()), Some(&row)));
        assert!(!is_stored(&Action::Delete(IfMatch::Any), Some(&row)));
    }

    #[test]
    fn anything_else_proves_nothing() {
        assert_eq!(evidence(insert(), None), Evidence::Unknown);
        for row in ["{}", "[]", r#"{"WriteId":5}"#, r#"{"WriteId":"other over older"}"#] {
            assert_eq!(evidence(guarded(), Some(row)), Evidence::Unknown, "{row}");
        }
        assert_eq!(evidence(insert(), Some(r#"{"WriteId":"other over old"}"#)), Evidence::Unknown);
    }
}
