//! CORS rules: which requests browsers allow to scripts of other origins.
//!
//! The service keeps them among its properties, as XML. A request with this property alone leaves
//! the others unchanged ("Set Table Service Properties").

use super::message::{MAX_ROW_ANSWER, Method, WireRequest, WireResponse};
use super::service::TableService;
use super::{API_VERSION, xml};
use crate::store::{ErrorCode, StoreError};
use std::borrow::Cow;
use std::time::Duration;

/// The most CORS rules of a service.
pub const MAX_CORS_RULES: usize = 5;
/// The most bytes of all CORS rules, without their XML tags.
pub const MAX_CORS_BYTES: usize = 2 * 1024;
/// The most origins of a rule, and the most headers that are not prefixes.
const MAX_NAMES: usize = 64;
/// The most headers of a rule that are prefixes.
const MAX_PREFIXES: usize = 2;
/// The most characters of an origin or header.
const MAX_CHARACTERS: usize = 256;

const TARGET: &str = "/?restype=service&comp=properties";

/// A rule that lets scripts of some origins send requests to the table service from a browser.
///
/// A rule does not authorize: each request still needs a signature or token.
///
/// ```
/// use table_orm::azure::{CorsMethod, CorsRule};
/// let rule = CorsRule::new(["https://race.example"], [CorsMethod::Get])
///     .allowing(["accept", "dataserviceversion", "x-ms-*"])
///     .exposing(["etag", "x-ms-*"]);
/// assert_eq!(rule.origins, ["https://race.example"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorsRule {
    /// The origins, such as `https://race.example`, or `*` for all. 1 to 64, each of at most 256
    /// characters.
    pub origins: Vec<String>,
    /// The methods that scripts may use. At least one.
    pub methods: Vec<CorsMethod>,
    /// The headers that their requests may have. At most 64 names, and 2 prefixes such as `x-ms-*`;
    /// each of at most 256 characters.
    pub allowed_headers: Vec<String>,
    /// The headers of answers that scripts may read, with the same limits.
    pub exposed_headers: Vec<String>,
    /// How long a browser may remember the rule, in whole seconds. A fraction is cut off.
    pub max_age: Duration,
}

impl CorsRule {
    /// Makes a rule without headers, which browsers do not remember.
    pub fn new<O: Into<String>>(
        origins: impl IntoIterator<Item = O>,
        methods: impl IntoIterator<Item = CorsMethod>,
    ) -> Self {
        Self {
            origins: origins.into_iter().map(Into::into).collect(),
            methods: methods.into_iter().collect(),
            allowed_headers: Vec::new(),
            exposed_headers: Vec::new(),
            max_age: Duration::ZERO,
        }
    }

    /// Allows these headers in requests.
    #[must_use]
    pub fn allowing<H: Into<String>>(mut self, headers: impl IntoIterator<Item = H>) -> Self {
        self.allowed_headers = headers.into_iter().map(Into::into).collect();
        self
    }

    /// Lets scripts read these headers of answers.
    #[must_use]
    pub fn exposing<H: Into<String>>(mut self, headers: impl IntoIterator<Item = H>) -> Self {
        self.exposed_headers = headers.into_iter().map(Into::into).collect();
        self
    }

    /// Lets browsers remember the rule for `max_age`.
    #[must_use]
    pub const fn remembered_for(mut self, max_age: Duration) -> Self {
        self.max_age = max_age;
        self
    }

    /// Checks the rule's own limits.
    ///
    /// # Errors
    /// `InvalidInput`: it has no origin, no method, too many or too long names, or a name that the
    /// service would read as two.
    pub fn check(&self) -> Result<(), StoreError> {
        let rejected = |message: String| Err(StoreError::new(ErrorCode::INVALID_INPUT, message));
        if self.origins.is_empty() || self.methods.is_empty() {
            return rejected("A CORS rule needs an origin and a method.".to_owned());
        }
        let lists = [&self.origins, &self.allowed_headers, &self.exposed_headers];
        for name in lists.into_iter().flatten() {
            let plain = |c: char| c.is_ascii_graphic() && c != ',';
            if name.is_empty() || name.len() > MAX_CHARACTERS || !name.chars().all(plain) {
                let name = name.escape_debug();
                return rejected(format!("`{name}` cannot be an origin or header of a CORS rule."));
            }
        }
        for (list, prefixes) in lists.into_iter().zip([MAX_NAMES, MAX_PREFIXES, MAX_PREFIXES]) {
            let found = list.iter().filter(|name| name.ends_with('*')).count();
            if list.len() - found > MAX_NAMES
                || found > prefixes
                || list.len() > MAX_NAMES + prefixes
            {
                let limits = format!("{MAX_NAMES} names and {MAX_PREFIXES} prefixes of headers");
                return rejected(format!(
                    "A CORS rule can have at most {MAX_NAMES} origins, {limits}."
                ));
            }
        }
        Ok(())
    }

    /// Appends the XML element `CorsRule`.
    pub fn push_xml(&self, out: &mut String) {
        out.push_str("<CorsRule>");
        for (name, value) in self.values() {
            xml::push(out, name, &value);
        }
        out.push_str("</CorsRule>");
    }

    /// The bytes that the rule adds to what all rules of a service may have together.
    #[must_use]
    pub fn size(&self) -> usize {
        self.values().iter().map(|(_, value)| value.len()).sum()
    }

    /// Returns the values with their names on the wire.
    fn values(&self) -> [(&'static str, String); 5] {
        let methods: Vec<_> = self.methods.iter().map(|method| method.name()).collect();
        [
            ("AllowedOrigins", self.origins.join(",")),
            ("AllowedMethods", methods.join(",")),
            ("AllowedHeaders", self.allowed_headers.join(",")),
            ("ExposedHeaders", self.exposed_headers.join(",")),
            ("MaxAgeInSeconds", self.max_age.as_secs().to_string()),
        ]
    }

    /// Reads the content of the XML element `CorsRule`; `None` if a part is missing or unknown.
    #[must_use]
    pub fn from_xml(rule: &str) -> Option<Self> {
        let value = |name: &str| xml::text(xml::element(rule, name)?.0);
        let list = |name: &str| {
            let text = value(name)?;
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            Some(names.map(str::to_owned).collect::<Vec<_>>())
        };
        let methods = list("AllowedMethods")?;
        let methods: Option<_> = methods.iter().map(|name| CorsMethod::from_name(name)).collect();
        Some(Self {
            origins: list("AllowedOrigins")?,
            methods: methods?,
            allowed_headers: list("AllowedHeaders")?,
            exposed_headers: list("ExposedHeaders")?,
            max_age: Duration::from_secs(value("MaxAgeInSeconds")?.parse().ok()?),
        })
    }
}

/// An HTTP method that a rule can allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CorsMethod {
    /// `DELETE`: delete a row.
    Delete,
    /// `GET`: queries.
    Get,
    /// `HEAD`.
    Head,
    /// `MERGE`: the older name of `PATCH`.
    Merge,
    /// `OPTIONS`.
    Options,
    /// `PATCH`: merge a row.
    Patch,
    /// `POST`: insert a row, or a transaction.
    Post,
    /// `PUT`: replace a row.
    Put,
}

impl CorsMethod {
    const ALL: [Self; 8] = [
        Self::Delete,
        Self::Get,
        Self::Head,
        Self::Merge,
        Self::Options,
        Self::Patch,
        Self::Post,
        Self::Put,
    ];

    /// Returns the name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delete => "DELETE",
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Merge => "MERGE",
            Self::Options => "OPTIONS",
            Self::Patch => "PATCH",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

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
    use crate::azure::protocol::Dialect;
    use proptest::prelude::*;

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
