//! Every rule that spans several attributes. Each rule is a function that says why it exists. The
//! guide's page of rules has an example of what each refuses.

mod bucket;
mod codes;
mod each;
mod eventual;
mod expiry;
mod fields;
mod generated;
mod keys;
mod marks;
mod rows;
mod table;

pub use codes::codes;
pub use fields::{borrowed, projection, properties};

use crate::ast::Entity;
use crate::errors::Errors;
use crate::model::Model;

/// Rules that need no template to be correct.
pub fn entity(entity: &Entity<'_>, errors: &Errors) {
    let eventual = entity.rows.iter().filter_map(|row| row.eventual.as_ref()?.table.as_ref());
    let guards = entity.uniques.iter().filter_map(|unique| unique.table.as_ref());
    for table in entity.table.iter().chain(eventual).chain(guards) {
        table::name(table, errors);
    }
    bucket::shape(entity, errors);
    expiry::index(entity, errors);
    expiry::property(entity, errors);
    expiry::copies(entity, errors);
    // A kind is stored as a property.
    fields::fields(&entity.fields, usize::from(entity.kind.is_some()), errors);
    rows::names(entity, errors);
    table::rows(entity, errors);
    rows::uniques(entity, errors);
    rows::guard_keys(entity, errors);
    rows::reserved(entity, errors);
    rows::kind(entity, errors);
    rows::copies(entity, errors);
    rows::duplicates(entity, errors);
    each::fields(entity, errors);
    each::names(entity, errors);
    keys::component_names(entity, errors);
    keys::component_fields(entity, errors);
}

/// Rules over the resolved templates.
pub fn model(model: &Model<'_>, errors: &Errors) {
    rows::one_canonical(model, errors);
    rows::canonical(model, errors);
    rows::starts(model, errors);
    each::used(model, errors);
    eventual::determines_entity(model, errors);
    eventual::helper_rows(model, errors);
    for key in model.keys() {
        keys::braces(model, key, errors);
        keys::literals(key, errors);
        keys::escaped_separators(key, model.entity.encode, errors);
        keys::separators(key, errors);
        keys::length(key, model.entity.encode, errors);
        keys::widths(key, errors);
    }
    keys::partition_values(model, errors);
    keys::components(model, errors);
    keys::defaults(model, errors);
    table::append_only(model, errors);
    table::single_partition(model, errors);
    table::shards_of_rows(model, errors);
    table::one_shard(model, errors);
    keys::key_only(model, errors);
    keys::unused(model, errors);
    keys::repeated(model, errors);
    generated::types(model, errors);
    generated::setters(model, errors);
    generated::component_methods(model, errors);
    rows::identifies_entity(model, errors);
    marks::unneeded(model, errors);
}
