//! What a server stores beside an app's tables: the properties of the service, and tables' policies.
//!
//! Both are XML documents, stored as the service returns them, in a table that no request can name.

mod acl;
mod properties;
mod store;
mod well_formed;

pub(crate) use acl::AccessPolicies;
pub(crate) use properties::ServiceProperties;
pub(crate) use store::SettingsStore;

use crate::error::ServiceError;
use table_orm::azure::protocol::xml;

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>";

/// Returns the content of the outermost element, which has to have this name.
fn root<'t>(document: &'t [u8], name: &str) -> Result<&'t str, ServiceError> {
    let text = str::from_utf8(document).map_err(|_| ServiceError::INVALID_XML)?;
    if !well_formed::is_well_formed(text) {
        return Err(ServiceError::INVALID_XML);
    }
    let (content, rest) = xml::element(text, name).ok_or(ServiceError::INVALID_XML)?;
    if rest.trim().is_empty() { Ok(content) } else { Err(ServiceError::INVALID_XML) }
}

/// Returns the text of an element; `None` if it is absent or empty.
fn text(content: &str, name: &str) -> Result<Option<String>, ServiceError> {
    let Some((content, _)) = xml::element(content, name) else { return Ok(None) };
    let text = xml::text(content).ok_or(ServiceError::INVALID_XML)?;
    Ok((!text.is_empty()).then_some(text))
}
