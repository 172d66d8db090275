//! Rules over entities that expire.

use crate::ast::{Copy, Entity, Role};
use crate::errors::{Errors, mistake};
use crate::symbol::EXPIRY_ROW;
use crate::tokens::*;

/// What finds expired entities needs entities that expire.
pub fn index(entity: &Entity<'_>, errors: &Errors) {
    if let (None, Some(at)) = (&entity.expires, entity.purge_index) {
        mistake!(errors, Ident::new(EXPIRY_ROW, at) => "`purge_index` finds expired entities, but this entity never expires",
            help: "add `expires = field`");
    }
}

/// Readers decide by the stored instant.
pub fn property(entity: &Entity<'_>, errors: &Errors) {
    let Some(expires) = &entity.expires else { return };
    let Some(field) = entity.known_field(expires, errors) else { return };
    let name = &field.name;
    if !field.is_stored() || field.role != Role::Property {
        mistake!(errors, expires => "field `{name}` is not stored as a property, so no row says when the entity expires",
            help: "name a field with an instant, without `key_only`, `json`, `skip` or another role");
    }
}

/// A reader of any row leaves out what has expired.
pub fn copies(entity: &Entity<'_>, errors: &Errors) {
    let Some(expires) = &entity.expires else { return };
    for row in &entity.rows {
        if matches!(&row.copy, Copy::Exclude(names) if names.contains(expires)) {
            let (name, row) = (expires.unraw(), &row.name);
            mistake!(errors, expires => "row `{row}` excludes `{name}`, so a reader of the row could not leave out what has expired",
                help: "remove `{name}` from `exclude`");
        }
    }
}
