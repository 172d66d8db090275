//! The query string of a request.
//!
//! Invariant: no value changes the meaning of the text around it. Names of properties are sent as they are, and
//! other text in their place is refused. All other values are encoded.

use super::encode::push;
use crate::codec::is_property_name;
use crate::query::Filter;
use crate::store::{ErrorCode, StoreError};

/// The parameters after a path.
pub(super) struct Parameters<'t> {
    target: &'t mut String,
    separator: char,
}

impl<'t> Parameters<'t> {
    /// Those of that path, which has none yet.
    pub const fn of(target: &'t mut String) -> Self {
        Self { target, separator: '?' }
    }

    /// Adds a parameter.
    pub fn text(&mut self, name: &str, value: &str) {
        push(self.start(name), value);
    }

    /// Adds a parameter that lists properties.
    pub fn names<'n>(
        &mut self,
        name: &str,
        properties: impl Iterator<Item = &'n str>,
    ) -> Result<(), StoreError> {
        let target = self.start(name);
        for (index, property) in properties.enumerate() {
            check_name(property)?;
            if index > 0 {
                target.push(',');
            }
            push(target, property);
        }
        Ok(())
    }

    /// Starts the next parameter. The caller appends its value.
    fn start(&mut self, name: &str) -> &mut String {
        self.target.push(std::mem::replace(&mut self.separator, '&'));
        self.target.push_str(name);
        self.target.push('=');
        self.target
    }
}

/// Checks the names of a filter. They are sent unquoted, so other text would be read as an
/// expression.
pub(super) fn check_names(filter: &Filter) -> Result<(), StoreError> {
    match filter {
        Filter::Compare { property, .. } => check_name(property),
        Filter::And(left, right) | Filter::Or(left, right) => {
            check_names(left)?;
            check_names(right)
        }
        Filter::Not(inner) => check_names(inner),
    }
}

fn check_name(name: &str) -> Result<(), StoreError> {
    if is_property_name(name) {
        return Ok(());
    }
    let message = format!("`{}` is not a valid property name.", name.escape_debug());
    Err(StoreError::new(ErrorCode::PROPERTY_NAME_INVALID, message))
}
