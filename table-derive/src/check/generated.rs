//! Rules over the names of generated types and methods.

use crate::ast::Field;
use crate::errors::{Errors, mistake};
use crate::model::{KeyedRow, Model};
use crate::names;
use crate::symbol::AND_BELOW;
use crate::tokens::*;
use std::collections::BTreeMap;

/// Two generated types of one name would not compile, without a hint at the row.
pub fn types(model: &Model<'_>, errors: &Errors) {
    let entity = model.entity;
    let mut taken = vec![
        names::partition(entity.input),
        names::columns(entity.input),
        names::components(entity.input),
        names::patch(entity.input),
    ];
    for (at, row) in entity.rows.iter().enumerate() {
        // Two rows of one name are an error already.
        if entity.rows[..at].iter().any(|other| other.name == row.name) {
            continue;
        }
        let columns = (!row.is_full()).then(|| names::row_columns(entity.input, row));
        let own: Vec<_> = [names::row(entity.input, row)].into_iter().chain(columns).collect();
        if let Some(ty) = own.iter().find(|name| taken.contains(name)) {
            let name = &row.name;
            mistake!(errors, name => "type `{ty}` would be generated twice", help: "rename row `{name}`");
        }
        taken.extend(own);
    }
}

/// A patch's setters are methods of one type. That of a slot ends in `_at`.
pub fn setters(model: &Model<'_>, errors: &Errors) {
    let mut taken: BTreeMap<Ident, &Field<'_>> = BTreeMap::new();
    for field in model.settable() {
        let method = names::setter(field);
        if let Some(Field { name: other, .. }) = taken.get(&method) {
            let (patch, Field { ident, name, property, .. }) =
                (names::patch(model.entity.input), field);
            mistake!(errors, ident => "`{patch}::{method}` would set both `{other}` and `{name}`",
                help: "rename one of the fields; `#[table(rename = \"{property}\")]` keeps the property of `{name}`");
        }
        taken.insert(method, field);
    }
}

/// Each component has a method of its name, and complete canonical keys have the method `and_below`.
pub fn component_methods(model: &Model<'_>, errors: &Errors) {
    let KeyedRow { row, key, .. } = &model.rows[model.canonical];
    if key.parts.iter().any(|part| part.name == AND_BELOW) {
        mistake!(errors, row.template.literal => "component `{AND_BELOW}` has the name of a method of canonical keys",
            help: "rename the field; `#[table(rename = \"..\")]` keeps its property");
    }
}
