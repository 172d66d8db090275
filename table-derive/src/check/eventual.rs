//! Rules over entities with rows in other partitions.

use crate::ast::Field;
use crate::errors::{Errors, mistake};
use crate::model::{KeyedRow, Model};

/// No two entities write one row, and whoever finds a row also finds its entity.
pub fn determines_entity(model: &Model<'_>, errors: &Errors) {
    let Some(canonical) = model.rows.get(model.canonical) else { return };
    if model.keys().any(|key| key.template.broken) {
        return;
    }
    let needed = || model.partition.parts.iter().chain(&canonical.key.parts);
    for (keyed, _) in model.eventual() {
        let held = model.fields_from(keyed);
        let (row, at) = (&keyed.row.name, &keyed.key.template.literal);
        let missing =
            needed().find(|part| part.field().is_none_or(|field| !held.contains(&field.name)));
        let Some(part) = missing else { continue };
        if let Some(Field { name, .. }) = part.field() {
            mistake!(errors, at => "keys of row `{row}` do not determine `{name}`, which the key of the entity has: two entities could claim one row",
                help: "write `{{{name}}}` in the row's `partition` or `key`; components with `lower`, `shard` or `with` do not determine a value");
        } else {
            let name = &part.name;
            mistake!(errors, at => "a function makes `{name}` in the key of the entity, so keys of row `{row}` do not determine it: two entities could claim one row",
                help: "make the key of the canonical row and `partition` of fields");
        }
    }
}

/// Ranges of an entity's rows contain no helper rows, which come and go as rows of other partitions
/// are written.
pub fn helper_rows(model: &Model<'_>, errors: &Errors) {
    let across = model.entity.uniques.iter().any(|unique| unique.across.is_some());
    if !model.has_eventual() && !across {
        return;
    }
    let what = if across { "`unique(.., across)`" } else { "`eventual` rows" };
    let is_open = |row: &&KeyedRow<'_>| row.key.is_open() && !row.key.template.broken;
    for KeyedRow { row, key, .. } in model.rows.iter().filter(is_open) {
        let name = &row.name;
        mistake!(errors, key.template.literal => "row `{name}` starts with no literal and no digit, so its range would read helper rows of {what}",
            help: "start the template with a literal, such as `A:`");
    }
}
