//! The properties of the service: logging, metrics and CORS rules.
//!
//! The server records no logs and no metrics. It keeps their settings, as clients read them back.

use super::{DECLARATION, root, text};
use crate::error::ServiceError;
use table_orm::azure::CorsRule;
use table_orm::azure::protocol::{MAX_CORS_BYTES, MAX_CORS_RULES, xml};

/// The properties of the service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ServiceProperties {
    logging: Logging,
    hour_metrics: Metrics,
    minute_metrics: Metrics,
    pub(crate) cors: Vec<CorsRule>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Logging {
    read: bool,
    write: bool,
    delete: bool,
    retention: Retention,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Metrics {
    enabled: bool,
    /// Set only with `enabled`.
    include_apis: Option<bool>,
    retention: Retention,
}

/// How many days data is kept; `None` keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Retention(Option<u16>);

/// The longest retention.
const MAX_DAYS: u16 = 365;

impl ServiceProperties {
    /// Returns these properties with those of a document in their place.
    pub(crate) fn updated(&self, document: &[u8]) -> Result<Self, ServiceError> {
        let content = root(document, "StorageServiceProperties")?;
        let section = |name| xml::element(content, name).map(|(section, _)| section);
        let mut updated = self.clone();
        if let Some(section) = section("Logging") {
            updated.logging = Logging::read(section)?;
        }
        if let Some(section) = section("HourMetrics") {
            updated.hour_metrics = Metrics::read(section)?;
        }
        if let Some(section) = section("MinuteMetrics") {
            updated.minute_metrics = Metrics::read(section)?;
        }
        if let Some(section) = section("Cors") {
            updated.cors = cors_rules(section)?;
        }
        Ok(updated)
    }

    /// Writes the document.
    pub(crate) fn to_xml(&self) -> String {
        let mut out = format!("{DECLARATION}<StorageServiceProperties>");
        self.logging.push(&mut out);
        self.hour_metrics.push("HourMetrics", &mut out);
        self.minute_metrics.push("MinuteMetrics", &mut out);
        out.push_str("<Cors>");
        self.cors.iter().for_each(|rule| rule.push_xml(&mut out));
        out.push_str("</Cors></StorageServiceProperties>");
        out
    }
}

impl Logging {
    fn read(section: &str) -> Result<Self, ServiceError> {
        Ok(Self {
            read: required(section, "Read")?,
            write: required(section, "Write")?,
            delete: required(section, "Delete")?,
            retention: Retention::read(section)?,
        })
    }

    fn push(&self, out: &mut String) {
        out.push_str("<Logging>");
        xml::push(out, "Version", "1.0");
        for (name, value) in [("Read", self.read), ("Write", self.write), ("Delete", self.delete)] {
            xml::push(out, name, &value.to_string());
        }
        self.retention.push(out);
        out.push_str("</Logging>");
    }
}

impl Metrics {
    fn read(section: &str) -> Result<Self, ServiceError> {
        let enabled = required(section, "Enabled")?;
        let include_apis = flag(section, "IncludeAPIs")?;
        if include_apis.is_some() && !enabled {
            return Err(ServiceError::INVALID_XML_VALUE);
        }
        Ok(Self { enabled, include_apis, retention: Retention::read(section)? })
    }

    fn push(&self, name: &str, out: &mut String) {
        out.push_str(&format!("<{name}>"));
        xml::push(out, "Version", "1.0");
        xml::push(out, "Enabled", &self.enabled.to_string());
        if let Some(include_apis) = self.include_apis {
            xml::push(out, "IncludeAPIs", &include_apis.to_string());
        }
        self.retention.push(out);
        out.push_str(&format!("</{name}>"));
    }
}

impl Retention {
    fn read(section: &str) -> Result<Self, ServiceError> {
        let Some((policy, _)) = xml::element(section, "RetentionPolicy") else {
            return Err(ServiceError::INVALID_XML);
        };
        if !required(policy, "Enabled")? {
            return Ok(Self(None));
        }
        let days = text(policy, "Days")?.and_then(|days| days.parse().ok());
        match days {
            Some(days @ 1..=MAX_DAYS) => Ok(Self(Some(days))),
            _ => Err(ServiceError::INVALID_XML_VALUE),
        }
    }

    fn push(self, out: &mut String) {
        out.push_str("<RetentionPolicy>");
        xml::push(out, "Enabled", &self.0.is_some().to_string());
        if let Some(days) = self.0 {
            xml::push(out, "Days", &days.to_string());
        }
        out.push_str("</RetentionPolicy>");
    }
}

/// Reads a flag of the section itself, not of the retention policy in it.
fn flag(section: &str, name: &str) -> Result<Option<bool>, ServiceError> {
    const POLICY: &str = "RetentionPolicy";
    let own = match (section.split_once(&format!("<{POLICY}")), xml::element(section, POLICY)) {
        (Some((before, _)), Some((_, after))) => format!("{before}{after}"),
        _ => section.to_owned(),
    };
    let value = text(&own, name)?.map(|value| value.to_ascii_lowercase());
    value.map(|value| value.parse().map_err(|_| ServiceError::INVALID_XML_VALUE)).transpose()
}

fn required(section: &str, name: &str) -> Result<bool, ServiceError> {
    flag(section, name)?.ok_or(ServiceError::INVALID_XML)
}

fn cors_rules(mut section: &str) -> Result<Vec<CorsRule>, ServiceError> {
    let mut rules = Vec::new();
    while let Some((rule, rest)) = xml::element(section, "CorsRule") {
        let rule = CorsRule::from_xml(rule).ok_or(ServiceError::INVALID_XML_VALUE)?;
        rule.check().map_err(|_| ServiceError::INVALID_XML_VALUE)?;
        rules.push(rule);
        if rules.len() > MAX_CORS_RULES {
            return Err(ServiceError::INVALID_XML_VALUE);
        }
        section = rest;
    }
    if rules.iter().map(CorsRule::size).sum::<usize>() > MAX_CORS_BYTES {
        return Err(ServiceError::INVALID_XML_VALUE);
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(enabled: bool, retention: &str) -> String {
        format!(
            "<StorageServiceProperties><HourMetrics><Version>1.0</Version><Enabled>{enabled}</Enabled>\
             <RetentionPolicy>{retention}</RetentionPolicy></HourMetrics></StorageServiceProperties>"
        )
    }

    #[test]
    fn a_document_replaces_the_sections_it_has() {
        let rule = "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>https://a</AllowedOrigins>\
            <AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders/><ExposedHeaders>x-ms-*</ExposedHeaders>\
            <MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>";
        let first = ServiceProperties::default().updated(rule.as_bytes()).unwrap();
        let days = "<Enabled>true</Enabled><Days>5</Days>";
        let both = first.updated(metrics(true, days).as_bytes()).unwrap();
        assert_eq!((both.cors.len(), both.hour_metrics.enabled), (1, true));
        assert_eq!(both.hour_metrics.retention, Retention(Some(5)));
        let read_back = ServiceProperties::default().updated(both.to_xml().as_bytes());
        assert_eq!(read_back, Ok(both));
    }

    #[test]
    fn invalid_documents_are_refused() {
        for document in [
            String::new(),
            "<Other/>".to_owned(),
            metrics(true, "<Enabled>true</Enabled><Days>366</Days>"),
            metrics(true, "<Enabled>true</Enabled>"),
            metrics(true, "<Enabled>perhaps</Enabled>"),
            metrics(true, ""),
            "<StorageServiceProperties/>x".to_owned(),
        ] {
            assert!(
                ServiceProperties::default().updated(document.as_bytes()).is_err(),
                "{document}"
            );
        }
    }
}
