//! Rules over rows that are written for each element of a field.

use crate::ast::Entity;
use crate::attr::Each;
use crate::errors::{Errors, mistake};
use crate::kind;
use crate::model::{Model, Source};
use crate::nearest::suggestion;
use crate::tokens::*;

/// Only a collection has elements.
pub fn fields(entity: &Entity<'_>, errors: &mut Errors) {
    for Each { field: own, .. } in entity.elements() {
        let name = own.unraw().to_string();
        match entity.field(&name) {
            Some(field) if kind::element(field.ty).and_then(kind::option).is_some() => {
                mistake!(errors, field.ty => "elements of `{name}` may be `None`, and a key holds a value",
                    help: "use a collection of plain values, such as `Vec<T>`");
            }
            Some(field) if kind::element(field.ty).is_some() => {}
            Some(_) => {
                mistake!(errors, own => "field `{name}` is not a collection, so it has no elements",
                    help: "name a field of type `Vec<T>`, `BTreeSet<T>` or `[T; N]`");
            }
            None => {
                let known = entity.fields.iter().map(|field| field.name.as_str());
                mistake!(errors, own => "no field is called `{name}`", help = suggestion(&name, known));
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
