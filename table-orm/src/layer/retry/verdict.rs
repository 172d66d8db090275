//! What the stored rows say about a write whose answer was lost.

use super::write_id::WriteIdProperty;
use crate::codec::{MembersByName, members_by_name};
use crate::model::{DateTime, ETag, TIMESTAMP};
use crate::store::{Action, IfMatch, Operation, StoredRow};
use std::time::Duration;

/// How far the service's clock may be from ours: it refuses signed requests that are further off
/// (service documentation, "Authorize with Shared Key").
pub(super) const MAX_CLOCK_SKEW: Duration = Duration::from_secs(15 * 60);

/// A write that was sent: what its rows are judged by.
#[derive(Debug)]
pub(super) struct Sent<'w> {
    /// The id it left in the rows that it wrote, and in which property.
    pub(super) id: Option<(&'w WriteIdProperty, &'w str)>,
    /// Our clock before it was first sent.
    pub(super) at: DateTime,
}

/// What one row says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// The write took effect.
    Ours,
    /// It did not.
    Other,
    /// Nothing.
    Silent,
}

impl Sent<'_> {
    /// What the row under an operation's key says.
    pub(super) fn sign(&self, operation: &Operation, row: Option<&StoredRow>) -> Sign {
        let Some(row) = row else {
            return Sign::Silent;
        };
        let Ok(members) = members_by_name(&row.body) else {
            return Sign::Silent;
        };
        if let Some((property, id)) = self.id
            && let Some(mark) = property.read(&members)
        {
            if mark.is_of(id) {
                return Sign::Ours;
            }
            if let Some(IfMatch::ETag(etag)) = operation.action.if_match()
                && mark.replaced(etag)
            {
                return Sign::Other;
            }
        }
        match timestamp(&members) {
            Some(written) if self.is_before(written) && is_hopeless(operation, row) => Sign::Other,
            _ => Sign::Silent,
        }
    }

    /// Whether that time of the service's clock lies before the write was first sent.
    fn is_before(&self, written: DateTime) -> bool {
        let ticks = MAX_CLOCK_SKEW.as_nanos() / 100;
        let skew = i64::try_from(ticks).unwrap_or(i64::MAX);
        written.ticks().saturating_add(skew) < self.at.ticks()
    }
}

/// Whether the operation can no longer succeed while the row is as it is, should a request that
/// was given up still arrive.
fn is_hopeless(operation: &Operation, row: &StoredRow) -> bool {
    match &operation.action {
        Action::Insert(_) => true,
        action => match action.if_match() {
            Some(IfMatch::ETag(etag)) => row.etag().is_ok_and(|current| *etag != current),
            _ => false,
        },
    }
}

fn timestamp(members: &MembersByName<'_>) -> Option<DateTime> {
    serde_json::from_str::<String>(members.get(TIMESTAMP)?).ok()?.parse().ok()
}

/// The ETag of a version that we wrote and another write has replaced since: well-formed, and no
/// row's. A write guarded by it is refused, as one guarded by the true one would be.
pub(super) fn superseded() -> ETag {
    ETag::from_timestamp("1601-01-01T00:00:00Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-03-01T12:00:00Z";

    fn sign(action: Action, row: Option<&str>) -> Sign {
        let property = WriteIdProperty::new("WriteId".into()).unwrap();
        let sent = Sent { id: Some((&property, "ours")), at: NOW.parse().unwrap() };
        let operation = Operation { row_key: "r".into(), action };
        let row = row
            .map(|body| StoredRow { body: body.to_owned().into(), header: Some(ETag::new("now")) });
        sent.sign(&operation, row.as_ref())
    }

    fn guarded() -> Action {
        Action::Replace("{}".into(), IfMatch::ETag(ETag::new("old")))
    }

    fn insert() -> Action {
        Action::Insert("{}".into())
    }

    #[test]
    fn our_id_says_that_it_took_effect() {
        assert_eq!(sign(insert(), Some(r#"{"WriteId":"ours"}"#)), Sign::Ours);
        assert_eq!(sign(guarded(), Some(r#"{"WriteId":"ours over old"}"#)), Sign::Ours);
    }

    #[test]
    fn another_write_over_the_same_version_says_that_it_did_not() {
        assert_eq!(sign(guarded(), Some(r#"{"WriteId":"other over old"}"#)), Sign::Other);
        let delete = Action::Delete(IfMatch::ETag(ETag::new("old")));
        assert_eq!(sign(delete, Some(r#"{"WriteId":"other over old"}"#)), Sign::Other);
    }

    #[test]
    fn a_row_older_than_the_write_says_that_it_did_not() {
        let at = |time: &str| format!(r#"{{"Timestamp":"{time}","WriteId":"other"}}"#);
        assert_eq!(sign(insert(), Some(&at("2026-03-01T11:44:59Z"))), Sign::Other);
        assert_eq!(sign(guarded(), Some(&at("2026-03-01T11:44:59Z"))), Sign::Other);
        assert_eq!(sign(insert(), Some(&at("2026-03-01T11:45:00Z"))), Sign::Silent);
        assert_eq!(sign(insert(), Some(&at("2026-03-01T12:30:00Z"))), Sign::Silent);
    }

    #[test]
    fn an_old_row_says_nothing_while_the_write_could_still_arrive() {
        let old = Some(r#"{"Timestamp":"2020-01-01T00:00:00Z"}"#);
        assert_eq!(sign(Action::InsertOrReplace("{}".into()), old), Sign::Silent);
        assert_eq!(sign(Action::Delete(IfMatch::Any), old), Sign::Silent);
        let unchanged = IfMatch::ETag(ETag::new("now"));
        assert_eq!(sign(Action::Merge("{}".into(), unchanged), old), Sign::Silent);
    }

    #[test]
    fn all_else_says_nothing() {
        assert_eq!(sign(insert(), None), Sign::Silent);
        for row in ["{}", "[]", r#"{"WriteId":5}"#, r#"{"WriteId":"other over older"}"#] {
            assert_eq!(sign(guarded(), Some(row)), Sign::Silent, "{row}");
        }
        assert_eq!(sign(insert(), Some(r#"{"WriteId":"other over old"}"#)), Sign::Silent);
    }
}
