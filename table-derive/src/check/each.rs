//! Rules over rows that are written for each element of a field.

use crate::ast::{Entity, Field};
use crate::attr::Each;
use crate::errors::{Errors, mistake};
use crate::kind;
use crate::model::{Model, Source};
use crate::tokens::*;

/// Only a collection has elements.
pub fn fields(entity: &Entity<'_>, errors: &mut Errors) {
    for Each { field: own, .. } in entity.elements() {
        let Some(Field { name, ty, .. }) = entity.known_field(own, errors) else { continue };
        match kind::element(ty) {
            Some(element) if kind::option(element).is_some() => {
                mistake!(errors, ty => "elements of `{name}` may be `None`, but a key needs a value",
                    help: "use a collection of plain values, such as `Vec<T>`");
            }
            Some(_) => {}
            None => {
                mistake!(errors, own => "field `{name}` is not a collection, so it has no elements",
                    help: "name a field of type `Vec<T>`, `BTreeSet<T>` or `[T; N]`");
            }
        }
    }
}

/// A placeholder means one thing.
pub fn names(entity: &Entity<'_>, errors: &mut Errors) {
    let names = entity.names();
    for Each { name, field } in entity.elements() {
        if names.contains(&name.unraw().to_string()) {
            mistake!(errors, name => "the elements of `{field}` have the name of a field or component, `{name}`",
                help: "write `each(element in {field})` with another name, and that name in the key");
        }
    }
}

/// The rows of two elements have two keys.
pub fn used(model: &Model<'_>, errors: &mut Errors) {
    for (at, (row, key)) in model.rows().enumerate() {
        let Some(Each { name, field }) = &row.each else { continue };
        let known = model.entity.field(&field.unraw().to_string());
        let mut parts = key.parts.iter().chain(&model.partition_of(at).parts);
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
