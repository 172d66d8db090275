//! An access policy that is stored with a table. A signature can refer to it by its id.

use super::permissions::Permissions;
use super::{instant, xml};
use crate::store::{ErrorCode, StoreError};
use time::OffsetDateTime;

/// The most characters of a policy's id.
pub const MAX_POLICY_ID: usize = 64;

/// What the signatures of one id permit on a table, and when. Each signature must state what its policy does not.
/// Azurite takes only policies that state all three.
///
/// ```
/// use table_orm::azure::{AccessPolicy, Permissions};
/// let until = time::OffsetDateTime::now_utc() + time::Duration::days(30);
/// let policy = AccessPolicy::new("spectators", Permissions::READ, until);
/// assert_eq!(policy.id, "spectators");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessPolicy {
    /// Its id in its table: 1 to 64 characters, no control characters, no spaces at its ends.
    pub id: String,
    /// When its signatures become valid, to the second.
    pub start: Option<OffsetDateTime>,
    /// When its signatures expire, to the second.
    pub expiry: Option<OffsetDateTime>,
    /// What its signatures permit.
    pub permissions: Option<Permissions>,
}

impl AccessPolicy {
    /// Makes a policy that states all that a signature needs, from now on.
    pub fn new(id: impl Into<String>, permissions: Permissions, expiry: OffsetDateTime) -> Self {
        let (expiry, permissions) = (Some(expiry), Some(permissions));
        Self { id: id.into(), start: None, expiry, permissions }
    }

    pub(super) fn push_xml(&self, out: &mut String) -> Result<(), StoreError> {
        let instant = |instant: OffsetDateTime| {
            instant::to_the_second(instant).map_err(|error| self.rejected(&error.to_string()))
        };
        let values = [
            ("Start", self.start.map(instant).transpose()?),
            ("Expiry", self.expiry.map(instant).transpose()?),
            ("Permission", self.permissions.map(|permissions| permissions.to_string())),
        ];
        out.push_str("<SignedIdentifier>");
        xml::push(out, "Id", &self.id);
        out.push_str("<AccessPolicy>");
        for (name, value) in values {
            if let Some(value) = value {
                xml::push(out, name, &value);
            }
        }
        out.push_str("</AccessPolicy></SignedIdentifier>");
        Ok(())
    }

    /// Reads the content of the XML element `SignedIdentifier`; `None` if a part is missing or
    /// unknown.
    pub(super) fn from_xml(identifier: &str) -> Option<Self> {
        let id = xml::text(xml::element(identifier, "Id")?.0)?;
        let policy = xml::element(identifier, "AccessPolicy").map_or("", |(policy, _)| policy);
        // An empty element states nothing, as an absent one.
        let value = |name: &str| match xml::element(policy, name).map(|(text, _)| xml::text(text)) {
            Some(text) => text.map(|text| (!text.is_empty()).then_some(text)),
            None => Some(None),
        };
        let instant = |name: &str| match value(name)? {
            Some(text) => Some(Some(OffsetDateTime::from(instant::parse(&text)?))),
            None => Some(None),
        };
        let permissions = match value("Permission")? {
            Some(letters) => Some(Permissions::from_letters(&letters)?),
            None => None,
        };
        Some(Self { id, start: instant("Start")?, expiry: instant("Expiry")?, permissions })
    }

    pub(super) fn rejected(&self, wrong: &str) -> StoreError {
        let id = self.id.escape_debug();
        StoreError::new(ErrorCode::INVALID_INPUT, format!("The access policy `{id}`: {wrong}."))
    }
}

/// Whether a policy can have that id.
pub(crate) fn is_policy_id(id: &str) -> bool {
    let plain = id.trim() == id && !id.chars().any(char::is_control);
    plain && (1..=MAX_POLICY_ID).contains(&id.chars().count())
}
