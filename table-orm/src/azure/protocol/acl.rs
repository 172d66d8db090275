//! The requests for the access policies of a table.
//!
//! The service keeps them as XML ("Set Table ACL"). A request replaces all policies of a table.

use super::access_policy::{AccessPolicy, is_policy_id};
use super::message::{MAX_ROW_ANSWER, Method, WireRequest, WireResponse};
use super::permissions::Permissions;
use super::service::TableService;
use super::{API_VERSION, xml};
use crate::model::TableName;
use crate::store::{ErrorCode, StoreError};
use std::borrow::Cow;

/// The most access policies of a table.
pub const MAX_ACCESS_POLICIES: usize = 5;
impl TableService {
    /// Builds the request for the access policies of a table.
    #[must_use]
    pub fn access_policies(&self, table: &TableName) -> WireRequest {
        WireRequest {
            method: Method::Get,
            target: format!("/{table}?comp=acl"),
            headers: vec![
                ("accept", Cow::Borrowed("application/xml")),
                ("x-ms-version", Cow::Borrowed(API_VERSION)),
            ],
            body: bytes::Bytes::new(),
            answer_bytes: MAX_ROW_ANSWER,
        }
    }

    /// Builds the request that replaces all access policies of a table. An empty list removes them.
    ///
    /// # Errors
    /// Fails with `InvalidInput` when there are more than 5 policies, two of one id, an id that no
    /// policy can have, a time out of range, or a policy that permits nothing.
    pub fn set_access_policies(
        &self,
        table: &TableName,
        policies: &[AccessPolicy],
    ) -> Result<WireRequest, StoreError> {
        if policies.len() > MAX_ACCESS_POLICIES {
            let message =
                format!("A table can have at most {MAX_ACCESS_POLICIES} access policies.");
            return Err(StoreError::new(ErrorCode::INVALID_INPUT, message));
        }
        let mut body = "<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers>".to_owned();
        for (at, policy) in policies.iter().enumerate() {
            if !is_policy_id(&policy.id) {
                let wrong = "an id has 1 to 64 characters, no control characters, and no spaces at its ends";
                return Err(policy.rejected(wrong));
            }
            if policies[..at].iter().any(|other| other.id == policy.id) {
                return Err(policy.rejected("another policy has the same id"));
            }
            if policy.permissions.is_some_and(Permissions::is_empty) {
                return Err(policy.rejected("it permits nothing"));
            }
            policy.push_xml(&mut body)?;
        }
        body.push_str("</SignedIdentifiers>");
        let mut request = WireRequest { method: Method::Put, ..self.access_policies(table) };
        request.headers.push(("content-type", Cow::Borrowed("application/xml")));
        request.body = body.into();
        Ok(request)
    }
}

impl WireResponse {
    /// Reads the response to the request for the access policies of a table.
    ///
    /// # Errors
    /// Returns the service's error, or one for policies that cannot be read.
    pub fn access_policies(self) -> Result<Vec<AccessPolicy>, StoreError> {
        let response = self.succeeded(&[200])?;
        let unreadable = || response.unreadable("the answer is not access policies of a table");
        let text = std::str::from_utf8(&response.body).map_err(|_| unreadable())?;
        let (mut rest, _) = xml::element(text, "SignedIdentifiers").ok_or_else(unreadable)?;
        let mut policies = Vec::new();
        while let Some((identifier, after)) = xml::element(rest, "SignedIdentifier") {
            policies.push(AccessPolicy::from_xml(identifier).ok_or_else(unreadable)?);
            rest = after;
        }
        Ok(policies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::azure::protocol::Dialect;
    use proptest::prelude::*;
    use time::{Duration, OffsetDateTime};

    fn service() -> TableService {
        TableService::new("https://acc.table.core.windows.net", Dialect::Storage)
    }

    fn people() -> TableName {
        TableName::new("People").unwrap()
    }

    fn policy(id: &str) -> AccessPolicy {
        let expiry = OffsetDateTime::UNIX_EPOCH + Duration::hours(1);
        AccessPolicy::new(id, Permissions::READ | Permissions::ADD, expiry)
    }

    fn read(body: &str) -> Result<Vec<AccessPolicy>, StoreError> {
        WireResponse::new(200, [], bytes::Bytes::copy_from_slice(body.as_bytes())).access_policies()
    }

    #[test]
    fn policies_are_sent_as_documented() {
        let request = service().set_access_policies(&people(), &[policy("a&b")]).unwrap();
        assert_eq!((request.method, &*request.target), (Method::Put, "/People?comp=acl"));
        assert_eq!(
            std::str::from_utf8(&request.body).unwrap(),
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers><SignedIdentifier>\
             <Id>a&amp;b</Id><AccessPolicy><Expiry>1970-01-01T01:00:00Z</Expiry>\
             <Permission>ra</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>"
        );
    }

    #[test]
    fn policies_of_other_clients_are_read() {
        let stated = "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers>\
             <SignedIdentifier><Id>x</Id><AccessPolicy><Start>2009-09-28T08:49:37.0000000Z</Start>\
             <Expiry>2009-09-29</Expiry><Permission>dr</Permission></AccessPolicy>\
             </SignedIdentifier><SignedIdentifier><Id>y</Id><AccessPolicy><Start/><Expiry />\
             <Permission></Permission></AccessPolicy></SignedIdentifier><SignedIdentifier>\
             <Id>z</Id></SignedIdentifier></SignedIdentifiers>";
        let policies = read(stated).unwrap();
        let permissions = Some(Permissions::READ | Permissions::DELETE);
        assert_eq!((&*policies[0].id, policies[0].permissions), ("x", permissions));
        let (start, expiry) = (policies[0].start.unwrap(), policies[0].expiry.unwrap());
        assert_eq!(expiry - start, Duration::seconds(24 * 3600 - (8 * 3600 + 49 * 60 + 37)));
        for (policy, id) in policies[1..].iter().zip(["y", "z"]) {
            let id = id.to_owned();
            assert_eq!(policy, &AccessPolicy { id, start: None, expiry: None, permissions: None });
        }
        assert_eq!(read("<SignedIdentifiers />").unwrap(), []);
        for body in [
            "",
            "<html></html>",
            &stated.replace("<Id>z</Id>", ""),
            &stated.replace("dr", "dq"),
            &stated.replace("2009-09-29", "soon"),
        ] {
            assert_eq!(read(body).unwrap_err().code.as_str(), "UnreadableAnswer", "{body}");
        }
    }

    #[test]
    fn policies_over_a_limit_are_refused() {
        let five: Vec<_> = ["1", "2", "3", "4", "5"].into_iter().map(policy).collect();
        let six: Vec<_> = five.iter().cloned().chain([policy("6")]).collect();
        let early = OffsetDateTime::UNIX_EPOCH - Duration::days(366 * 400);
        let nothing = AccessPolicy { permissions: Some(Permissions::NONE), ..policy("a") };
        for policies in [
            six,
            vec![policy("a"), policy("a")],
            vec![policy("")],
            vec![policy("a ")],
            vec![policy(&"x".repeat(65))],
            vec![AccessPolicy { start: Some(early), ..policy("a") }],
            vec![nothing],
        ] {
            let error = service().set_access_policies(&people(), &policies).unwrap_err();
            assert_eq!(error.code, ErrorCode::INVALID_INPUT, "{policies:?}");
        }
        assert!(service().set_access_policies(&people(), &five).is_ok());
    }

    proptest! {
        #[test]
        fn what_is_sent_is_read_back(
            id in any::<String>(),
            times in prop::array::uniform2(prop::option::of(0_i64..4_000_000_000)),
            letters in prop::option::of("r?a?u?d?"),
        ) {
            let [start, expiry] = times
                .map(|at| at.map(|at| OffsetDateTime::from_unix_timestamp(at).unwrap()));
            let permissions = letters.map(|letters| Permissions::from_letters(&letters).unwrap());
            let policy = AccessPolicy { id, start, expiry, permissions };
            let policies = std::slice::from_ref(&policy);
            if let Ok(request) = service().set_access_policies(&people(), policies) {
                let body = String::from_utf8(request.body.to_vec()).unwrap();
                prop_assert_eq!(read(&body).unwrap(), [policy]);
            }
        }
    }
}
