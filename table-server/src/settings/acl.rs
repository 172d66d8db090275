//! The access policies of a table.

use super::{DECLARATION, root, text};
use crate::access::{Permissions, StoredPolicy};
use crate::error::ServiceError;
use table_orm::azure::protocol::{MAX_ACCESS_POLICIES, MAX_POLICY_ID, instant, xml};

/// The policies of a table, in the order in which they were set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AccessPolicies(Vec<AccessPolicy>);

/// A policy as its client wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AccessPolicy {
    id: String,
    start: Option<String>,
    expiry: Option<String>,
    permission: Option<String>,
}

impl AccessPolicies {
    /// Reads a document; one without a body removes all policies.
    pub(crate) fn read(document: &[u8]) -> Result<Self, ServiceError> {
        if document.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        let mut content = root(document, "SignedIdentifiers")?;
        let mut policies: Vec<AccessPolicy> = Vec::new();
        while let Some((identifier, rest)) = xml::element(content, "SignedIdentifier") {
            let policy = AccessPolicy::read(identifier)?;
            if policies.len() == MAX_ACCESS_POLICIES
                || policies.iter().any(|known| known.id == policy.id)
            {
                return Err(ServiceError::INVALID_XML);
            }
            policies.push(policy);
            content = rest;
        }
        Ok(Self(policies))
    }

    /// Writes the document.
    pub(crate) fn to_xml(&self) -> String {
        let mut out = format!("{DECLARATION}<SignedIdentifiers>");
        self.0.iter().for_each(|policy| policy.push(&mut out));
        out.push_str("</SignedIdentifiers>");
        out
    }

    /// Returns the policy with that id.
    pub(crate) fn get(&self, id: &str) -> Option<StoredPolicy> {
        let policy = self.0.iter().find(|policy| policy.id == id)?;
        let instant = |text: &Option<String>| instant::parse(text.as_deref()?);
        Some(StoredPolicy {
            start: instant(&policy.start),
            expiry: instant(&policy.expiry),
            permissions: policy.permission.as_deref().map(Permissions::read),
        })
    }
}

impl AccessPolicy {
    fn read(identifier: &str) -> Result<Self, ServiceError> {
        let id = text(identifier, "Id")?.filter(|id| id.chars().count() <= MAX_POLICY_ID);
        let id = id.ok_or(ServiceError::INVALID_XML_VALUE)?;
        let policy = xml::element(identifier, "AccessPolicy").map_or("", |(policy, _)| policy);
        let instant = |name| match text(policy, name)? {
            Some(text) if instant::parse(&text).is_none() => Err(ServiceError::INVALID_XML_VALUE),
            text => Ok(text),
        };
        let permission = text(policy, "Permission")?;
        if permission.as_deref().is_some_and(|letters| !letters.chars().all(|c| "raud".contains(c)))
        {
            return Err(ServiceError::INVALID_XML_VALUE);
        }
        Ok(Self { id, start: instant("Start")?, expiry: instant("Expiry")?, permission })
    }

    fn push(&self, out: &mut String) {
        out.push_str("<SignedIdentifier>");
        xml::push(out, "Id", &self.id);
        let values =
            [("Start", &self.start), ("Expiry", &self.expiry), ("Permission", &self.permission)];
        if values.iter().any(|(_, value)| value.is_some()) {
            out.push_str("<AccessPolicy>");
            for (name, value) in values {
                if let Some(value) = value {
                    xml::push(out, name, value);
                }
            }
            out.push_str("</AccessPolicy>");
        }
        out.push_str("</SignedIdentifier>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(ids: &[&str]) -> String {
        let identifiers = ids.iter().map(|id| {
            format!(
                "<SignedIdentifier><Id>{id}</Id><AccessPolicy><Expiry>2030-01-01T00:00:00Z</Expiry>\
                 <Permission>ra</Permission></AccessPolicy></SignedIdentifier>"
            )
        });
        format!("<SignedIdentifiers>{}</SignedIdentifiers>", identifiers.collect::<String>())
    }

    #[test]
    fn policies_are_written_as_they_are_read() {
        let policies = AccessPolicies::read(document(&["a", "b&amp;c"]).as_bytes()).unwrap();
        assert_eq!(AccessPolicies::read(policies.to_xml().as_bytes()), Ok(policies.clone()));
        let policy = policies.get("b&c").unwrap();
        assert_eq!(policy.permissions, Some(Permissions::READ.and(Permissions::ADD)));
        assert_eq!((policy.start, policies.get("x")), (None, None));
        let empty = "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy/></SignedIdentifier></SignedIdentifiers>";
        let empty = AccessPolicies::read(empty.as_bytes()).unwrap();
        assert_eq!(empty.get("a"), Some(StoredPolicy::default()));
        assert_eq!(AccessPolicies::read(b""), Ok(AccessPolicies::default()));
    }

    #[test]
    fn a_table_has_at_most_five_policies_with_ids_of_their_own() {
        assert!(AccessPolicies::read(document(&["1", "2", "3", "4", "5"]).as_bytes()).is_ok());
        for ids in [&["1", "2", "3", "4", "5", "6"][..], &["1", "1"], &[""], &[&*"x".repeat(65)]] {
            assert!(AccessPolicies::read(document(ids).as_bytes()).is_err());
        }
        assert!(AccessPolicies::read(b"<SignedIdentifiers>").is_err());
    }
}
