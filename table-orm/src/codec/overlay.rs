//! Merges one row's properties into another's.

use super::members::RowContext;
use super::object::{members_by_name, write_object};
use super::{Alias, PropertyError, RowFault, rename};
use crate::model::TYPE_ANNOTATION;
use bytes::Bytes;

/// Returns the stored row's JSON object, under the present names of its properties, with the members of `set`
/// in place of its own.
pub(crate) fn overlay(
    stored: &[u8],
    set: &[u8],
    aliases: &[Alias],
) -> Result<Bytes, PropertyError> {
    let parse = |json| {
        members_by_name(json)
            .map_err(|error| RowContext::new("row").error(RowFault::unreadable("", &error)))
    };
    let (mut merged, set) = (parse(stored)?, parse(set)?);
    rename(&mut merged, aliases);
    for name in set.keys() {
        merged.remove(format!("{name}{TYPE_ANNOTATION}").as_str());
    }
    merged.extend(set);
    Ok(write_object(&merged).into())
}
