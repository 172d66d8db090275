//! The text of a URI: percent-encoding and parameters.

use crate::error::ServiceError;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// Decodes percent-encoded UTF-8.
pub(crate) fn decode(text: &str) -> Result<Cow<'_, str>, ServiceError> {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let mut escapes = text.split('%').skip(1).map(str::as_bytes);
    if !escapes.all(|after| is_digit(after.first()) && is_digit(after.get(1))) {
        return Err(ServiceError::INVALID_URI);
    }
    percent_decode_str(text).decode_utf8().map_err(|_| ServiceError::INVALID_URI)
}

/// The most parameters of a query. No request of the service has half as many.
const MAX_PARAMETERS: usize = 64;

/// The parameters of a query, decoded. No name occurs twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads a query, as it was sent.
    pub(crate) fn read(query: &str) -> Result<Self, ServiceError> {
        let mut parameters: Vec<(String, String)> = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let name = plus_decoded(name)?;
            let is_known = parameters.iter().any(|(known, _)| *known == name);
            if is_known || parameters.len() == MAX_PARAMETERS {
                return Err(ServiceError::INVALID_QUERY_PARAMETER);
            }
            parameters.push((name, plus_decoded(value)?));
        }
        Ok(Self(parameters))
    }

    /// Returns a parameter's value.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Decodes a part of a query, where a plus sign is a space.
fn plus_decoded(text: &str) -> Result<String, ServiceError> {
    Ok(decode(&text.replace('+', " "))?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let parameters = Parameters::read("$filter=A%20eq+'x%2By%26'&$top=5&empty&=x&").unwrap();
        assert_eq!(parameters.get("$filter"), Some("A eq 'x+y&'"));
        assert_eq!(parameters.get("$top"), Some("5"));
        assert_eq!(parameters.get("empty"), Some(""));
        assert_eq!(parameters.get("absent"), None);
    }

    #[test]
    fn text_that_is_not_utf8_and_repeated_names_are_refused() {
        for query in ["a=%FF", "%C3=1", "a=1&a=2", "a=1&%61=2", "a=%zz", "a=1%", "a=%2", "%2g=1"] {
            assert!(Parameters::read(query).is_err(), "{query}");
        }
        let many = |count| (0..count).map(|at| format!("p{at}=1&")).collect::<String>();
        assert!(Parameters::read(&many(MAX_PARAMETERS)).is_ok());
        assert!(Parameters::read(&many(MAX_PARAMETERS + 1)).is_err());
    }
}
