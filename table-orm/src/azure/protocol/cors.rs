//! The requests for the CORS rules of a service.
//!
//! The service keeps them among its properties, as XML. A request with this property alone leaves
//! the others unchanged ("Set Table Service Properties").

use super::cors_rule::CorsRule;
use super::message::{MAX_ROW_ANSWER, Method, WireRequest, WireResponse};
use super::service::TableService;
use super::{API_VERSION, xml};
use crate::store::{ErrorCode, StoreError};
use std::borrow::Cow;

/// The most CORS rules of a service.
pub const MAX_CORS_RULES: usize = 5;
/// The most bytes of all CORS rules, without their XML tags.
pub const MAX_CORS_BYTES: usize = 2 * 1024;
const TARGET: &str = "/?restype=service&comp=properties";

impl TableService {
    /// Builds the request for the service's properties, which include the CORS rules.
    #[must_use]
    pub fn cors_rules(&self) -> WireRequest {
        WireRequest {
            method: Method::Get,
            target: TARGET.to_owned(),
            headers: vec![
                ("accept", Cow::Borrowed("application/xml")),
                ("x-ms-version", Cow::Borrowed(API_VERSION)),
            ],
            body: bytes::Bytes::new(),
            answer_bytes: MAX_ROW_ANSWER,
        }
    }

    /// Builds the request that replaces the service's CORS rules, and no other property. An empty list turns CORS
    /// off.
    ///
    /// # Errors
    /// Fails when the rules exceed a limit of the service, or when the service would read a name as
    /// two.
    pub fn set_cors_rules(&self, rules: &[CorsRule]) -> Result<WireRequest, StoreError> {
        let mut body =
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><Cors>".to_owned();
        let mut bytes = 0;
        for rule in rules {
            rule.check()?;
            bytes += rule.size();
            rule.push_xml(&mut body);
        }
        body.push_str("</Cors></StorageServiceProperties>");
        if rules.len() > MAX_CORS_RULES || bytes > MAX_CORS_BYTES {
            let message = format!(
                "A service can have at most {MAX_CORS_RULES} CORS rules of {MAX_CORS_BYTES} bytes."
            );
            return Err(StoreError::new(ErrorCode::INVALID_INPUT, message));
        }
        let mut request = WireRequest { method: Method::Put, ..self.cors_rules() };
        request.headers.push(("content-type", Cow::Borrowed("application/xml")));
        request.body = body.into();
        Ok(request)
    }
}

impl WireResponse {
    /// Reads the response to the request for the rules.
    ///
    /// # Errors
    /// Returns the service's error, or one for rules that cannot be read.
    pub fn cors_rules(self) -> Result<Vec<CorsRule>, StoreError> {
        let response = self.succeeded(&[200])?;
        let unreadable =
            || response.unreadable("the answer is not service properties with CORS rules");
        let text = std::str::from_utf8(&response.body).map_err(|_| unreadable())?;
        let (properties, _) =
            xml::element(text, "StorageServiceProperties").ok_or_else(unreadable)?;
        let mut rest = xml::element(properties, "Cors").map_or("", |(rules, _)| rules);
        let mut rules = Vec::new();
        while let Some((rule, after)) = xml::element(rest, "CorsRule") {
            rules.push(CorsRule::from_xml(rule).ok_or_else(unreadable)?);
            rest = after;
        }
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::azure::protocol::{CorsMethod, Dialect};
    use proptest::prelude::*;
    use std::time::Duration;

    fn service() -> TableService {
        TableService::new("https://acc.table.core.windows.net", Dialect::Storage)
    }

    fn rule() -> CorsRule {
        CorsRule::new(["https://a.example", "http://b.example"], [CorsMethod::Get, CorsMethod::Put])
            .allowing(["x-ms-*", "accept"])
            .remembered_for(Duration::from_secs(200))
    }

    fn read(body: &str) -> Result<Vec<CorsRule>, StoreError> {
        WireResponse::new(200, [], bytes::Bytes::copy_from_slice(body.as_bytes())).cors_rules()
    }

    #[test]
    fn rules_are_sent_without_other_properties() {
        let request = service().set_cors_rules(&[rule()]).unwrap();
        assert_eq!((request.method, &*request.target), (Method::Put, TARGET));
        assert_eq!(
            std::str::from_utf8(&request.body).unwrap(),
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><Cors><CorsRule>\
             <AllowedOrigins>https://a.example,http://b.example</AllowedOrigins>\
             <AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>x-ms-*,accept</AllowedHeaders>\
             <ExposedHeaders></ExposedHeaders><MaxAgeInSeconds>200</MaxAgeInSeconds>\
             </CorsRule></Cors></StorageServiceProperties>"
        );
        let none = service().set_cors_rules(&[]).unwrap();
        assert!(none.body.ends_with(b"<Cors></Cors></StorageServiceProperties>"));
    }

    #[test]
    fn rules_are_found_among_the_other_properties() {
        let properties = |rules: &str| {
            format!(
                "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties>\
                 <Logging><Version>1.0</Version></Logging>{rules}</StorageServiceProperties>"
            )
        };
        let rules = "<Cors><CorsRule><AllowedMethods>GET</AllowedMethods><AllowedOrigins>*\
             </AllowedOrigins><AllowedHeaders /><ExposedHeaders/><MaxAgeInSeconds>0\
             </MaxAgeInSeconds></CorsRule></Cors>";
        assert_eq!(read(&properties(rules)).unwrap(), [CorsRule::new(["*"], [CorsMethod::Get])]);
        for none in ["<Cors />", "<Cors></Cors>", ""] {
            assert_eq!(read(&properties(none)).unwrap(), []);
        }
        for body in [
            "",
            "<html></html>",
            &properties("<Cors><CorsRule></CorsRule></Cors>"),
            &rules.repeat(2),
        ] {
            assert_eq!(read(body).unwrap_err().code.as_str(), "UnreadableAnswer", "{body}");
        }
        let unknown = properties(&rules.replace("GET", "GET,BREW"));
        assert_eq!(read(&unknown).unwrap_err().code.as_str(), "UnreadableAnswer");
        let rejected =
            WireResponse::new(403, [], "<Error><Code>AuthorizationFailure</Code></Error>".into());
        assert_eq!(rejected.cors_rules().unwrap_err().code.as_str(), "AuthorizationFailure");
    }

    #[test]
    fn rules_over_a_limit_are_refused() {
        let names = |count: usize, end: &str| -> Vec<String> {
            (0..count).map(|name| format!("h{name}{end}")).collect()
        };
        for rules in [
            vec![CorsRule::new([""; 0], [CorsMethod::Get])],
            vec![CorsRule::new(["*"], [])],
            vec![CorsRule::new(["https://a,https://b"], [CorsMethod::Get])],
            vec![CorsRule::new(["https://a b"], [CorsMethod::Get])],
            vec![CorsRule::new([""], [CorsMethod::Get])],
            vec![CorsRule::new(["x".repeat(257)], [CorsMethod::Get])],
            vec![CorsRule::new(names(65, ""), [CorsMethod::Get])],
            vec![rule().allowing(names(65, ""))],
            vec![rule().exposing(names(3, "*"))],
            vec![rule(); 6],
            vec![rule().allowing(vec!["x".repeat(256); 8])],
        ] {
            let error = service().set_cors_rules(&rules).unwrap_err();
            assert_eq!(error.code, ErrorCode::INVALID_INPUT, "{rules:?}");
        }
        let most = rule().allowing(names(64, "").into_iter().chain(names(2, "*")));
        assert!(service().set_cors_rules(&vec![most; 3]).is_ok());
    }

    proptest! {
        #[test]
        fn what_is_sent_is_read_back(
            origin in any::<String>(),
            headers in prop::collection::vec("[ -~]{1,6}", 0..4),
            seconds in any::<u32>(),
        ) {
            let rule = CorsRule::new([origin], CorsMethod::ALL)
                .exposing(headers)
                .remembered_for(Duration::from_secs(seconds.into()));
            if let Ok(request) = service().set_cors_rules(std::slice::from_ref(&rule)) {
                let body = String::from_utf8(request.body.to_vec()).unwrap();
                prop_assert_eq!(read(&body).unwrap(), [rule]);
            }
        }
    }
}
