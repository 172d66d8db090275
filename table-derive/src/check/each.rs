//! Rules over rows that are written for each element of a field.

use crate::ast::{Entity, Field};
use crate::attr::Each;
use crate::errors::{Errors, mistake};
use crate::kind;
use crate::model::{KeyedRow, Model, Source};
use crate::tokens::*;

/// Only a collection has elements.
pub fn fields(entity: &Entity<'_>, errors: &Errors) {
    for Each { field: own, .. } in entity.elements() {
        let Some(Field { name, ty, .. }) = entity.known_field(own, errors) else { continue };
        match kind::element(ty) {
            Some(element) if kind::option(element).is_some() => {
                mistake!(errors, ty => "elements of `{name}` may be `None`, but a key needs a value",
                    help: "use a collection of plain values, such as `Vec<T>`");
            }
            Some(_) => {}
            None => {
                mistake!(errors, own => "no row can be written for each element of field `{name}`, because of its type",
                    help: "name a field of type `Vec<T>`, `BTreeSet<T>` or `[T; N]`");
            }
        }
    }
}

/// A placeholder means one thing.
pub fn names(entity: &Entity<'_>, errors: &Errors) {
    let names = entity.names();
    for Each { name, field } in entity.elements() {
        if names.contains(&name.unraw().to_string()) {
            mistake!(errors, name => "the elements of `{field}` have the name of a field or component, `{name}`",
                help: "write `each(element in {field})` with another name, and that name in the key");
        }
    }
}

/// The rows of two elements have two keys.
pub fn used(model: &Model<'_>, errors: &Errors) {
    for keyed @ KeyedRow { row, key, .. } in &model.rows {
        let Some(Each { name, field }) = &row.each else { continue };
        let known = model.entity.field(&field.unraw().to_string());
        let mut parts = model.keys_of(keyed).into_iter().flat_map(|key| &key.parts);
        let is_used = parts.any(|part| matches!(part.source, Source::Element(..)));
        let is_checked =
            key.template.broken || known.is_none_or(|own| kind::element(own.ty).is_none());
        if !is_used && !is_checked {
            let row = &row.name;
            mistake!(errors, key.template.literal => "row `{row}` is written for each element of `{field}`, but its key is the same for all",
                help: "write `{{{name}}}` in the key");
        }
    }
}
