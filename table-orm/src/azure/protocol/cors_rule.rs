//! A CORS rule: which requests browsers allow to scripts of other origins.

use super::xml;
use crate::store::{ErrorCode, StoreError};
use std::time::Duration;

/// The most origins of a rule, and the most headers that are not prefixes.
const MAX_NAMES: usize = 64;
/// The most headers of a rule that are prefixes.
const MAX_PREFIXES: usize = 2;
/// The most characters of an origin or header.
const MAX_CHARACTERS: usize = 256;

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
    pub(super) const ALL: [Self; 8] = [
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
