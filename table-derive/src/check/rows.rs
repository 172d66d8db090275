//! Rules over an entity's rows: their names, what they store, and how they differ.

use crate::ast::{Copy, Entity, Eventual, Field, Row};
use crate::errors::{Errors, mistake};
use crate::model::{Key, KeyedRow, Model, Part};
use crate::nearest::suggestion;
use crate::symbol::{EXPIRY_ROW, GUARD_START, HELPER_STARTS};
use crate::template::Template;
use crate::tokens::*;

/// A row's name is also the name of a method and of a type.
pub fn names(entity: &Entity<'_>, errors: &Errors) {
    for (at, Row { name, .. }) in entity.rows.iter().enumerate() {
        if entity.rows[..at].iter().any(|other| other.name == *name) {
            mistake!(errors, name => "two rows are called `{name}`", help: "rename one of them");
        }
    }
}

/// A second guard row of the same values has no further effect.
pub fn uniques(entity: &Entity<'_>, errors: &Errors) {
    for (at, unique) in entity.uniques.iter().enumerate() {
        let list = unique.list();
        if entity.uniques[..at].iter().any(|other| other.list() == list) {
            mistake!(errors, unique.at => "`unique({list})` is given twice", help: "remove one of them");
        }
    }
}

/// A guard row's key holds exactly the values that it guards, else it would guard others.
pub fn guard_keys(entity: &Entity<'_>, errors: &Errors) {
    for unique in &entity.uniques {
        let slots = &unique.template.slots;
        let guarded = |name: &str| unique.components.iter().any(|own| own.unraw() == name);
        let keyed = |own: &Ident| slots.iter().any(|slot| own.unraw() == slot.name);
        let same =
            slots.iter().all(|slot| guarded(&slot.name)) && unique.components.iter().all(keyed);
        if !same && !unique.template.broken {
            let names = unique.components.iter().map(|name| format!("{{{name}}}"));
            let (name, names) = (&unique.name, names.collect::<Vec<_>>().join("__"));
            mistake!(errors, unique.template.literal => "the guard row's key and `unique` name different components",
                help: "write `key = \"UNQ:{name}:{names}\"`, or add the missing names to `unique`");
        }
    }
}

/// `include` and `exclude` choose among the properties of a full row.
pub fn copies(entity: &Entity<'_>, errors: &Errors) {
    let names = entity.rows.iter().flat_map(|row| match &row.copy {
        Copy::Include(names) | Copy::Exclude(names) => &names[..],
        Copy::Full => &[],
    });
    for ident in names {
        let name = ident.unraw().to_string();
        let stored = entity.fields.iter().filter(|field| field.is_stored());
        let stored: Vec<_> = stored.map(|field| field.name.as_str()).collect();
        match entity.field(&name) {
            Some(field) if field.is_stored() => {}
            Some(field) if field.key_only.is_some() => {
                mistake!(errors, ident => "field `{name}` is `key_only`, so no row stores it as a property",
                    help: "remove it here: a projection of the row reads it from the row's keys");
            }
            Some(_) => {
                mistake!(errors, ident => "field `{name}` is not stored as a property", help: "remove it here");
            }
            None => {
                mistake!(errors, ident => "no field is called `{name}`", help = suggestion(&name, stored));
            }
        }
    }
}

/// One row's ETag is the version of the entity.
pub fn one_canonical(model: &Model<'_>, errors: &Errors) {
    let mut marked = model.entity.rows.iter().filter_map(|row| row.canonical);
    if let Some(second) = marked.nth(1) {
        mistake!(errors, Ident::new("canonical", second) => "two rows are `canonical`",
            help: "keep it on the row whose ETag guards the entity");
    }
}

/// The canonical row is there for every entity, and the entity is read back from it.
pub fn canonical(model: &Model<'_>, errors: &Errors) {
    let Some(KeyedRow { row, key, .. }) = model.rows.get(model.canonical) else { return };
    let name = &row.name;
    let absent = key.parts.iter().find_map(Part::sparse);
    let why = match (row.is_full(), absent, &row.when, &row.each) {
        _ if row.eventual.is_some() => "is not in the entity's own partition".to_owned(),
        (false, ..) => "is a partial copy".to_owned(),
        (true, Some(field), ..) => {
            format!("is not written for an entity whose `{}` is `None`", field.name)
        }
        (true, None, Some(_), _) => {
            "has a condition and is not written for every entity".to_owned()
        }
        (true, None, None, Some(each)) => {
            format!("is written for each element of `{}`", each.field)
        }
        (true, None, None, None) => return,
    };
    let help = match absent.filter(|_| model.rows.len() == 1) {
        Some(Field { name: field, .. }) => format!(
            "make `{field}` a plain value, or remove it from this key: every entity needs one row"
        ),
        None => "put a full row without a condition first, or mark one as `canonical`".to_owned(),
    };
    mistake!(errors, name => "row `{name}` {why}, so it cannot be the canonical row", help = help);
}

/// Helper rows belong to no entity, so no entity's rows look like them.
pub fn reserved(entity: &Entity<'_>, errors: &Errors) {
    let rows = entity.rows.iter().filter(|row| {
        // The row that `purge_index` adds; another row of that name is a mistake.
        entity.purge_index.is_none() || row.name != EXPIRY_ROW
    });
    let rows = rows.map(|row| (&row.template, true));
    let guards = entity.uniques.iter().map(|unique| (&unique.template, false));
    for (template, is_row) in rows.chain(guards) {
        let starts = HELPER_STARTS.into_iter().chain(is_row.then_some(GUARD_START));
        for start in starts.filter(|start| template.start.starts_with(start)) {
            mistake!(errors, template.literal => "RowKeys of helper rows begin with `{start}`",
                help: "start the template with another literal");
        }
    }
}

/// Rows are marked with some text.
pub fn kind(entity: &Entity<'_>, errors: &Errors) {
    if let Some(kind) = entity.kind.as_ref().filter(|kind| kind.value().is_empty()) {
        mistake!(errors, kind => "the kind is empty", help: "write a text that no other type has, such as the type's name");
    }
}

/// A row of the order and the properties of another one answers no query that the other does not.
pub fn duplicates(entity: &Entity<'_>, errors: &Errors) {
    for (row, other) in all_duplicates(entity) {
        if row.allow_duplicate.is_some() {
            continue;
        }
        let (name, other) = (&row.name, &other.name);
        mistake!(errors, row.template.literal => "row `{name}` has the components of row `{other}` in the same order, and the same properties, so no query needs both",
            help: "remove one of them, or add `allow_duplicate` if stored rows change from one to the other now, or if a union reads one of them among rows of other types");
    }
}

/// The rows that are like one before them, with the first such one.
pub fn all_duplicates<'e>(entity: &'e Entity<'_>) -> Vec<(&'e Row, &'e Row)> {
    let whole: Vec<_> = entity.rows.iter().filter(|row| !row.template.broken).collect();
    let duplicates = whole.iter().enumerate().filter_map(|(at, row)| {
        let same = |other: &&&Row| {
            other.name != row.name && likeness(other, entity) == likeness(row, entity)
        };
        whole[..at].iter().find(same).map(|other| (*row, *other))
    });
    duplicates.collect()
}

/// What a row is written for, its place, its order and its properties.
fn likeness<'e>(row: &'e Row, entity: &Entity<'_>) -> impl PartialEq + use<'e> {
    let order = Vec::from_iter(row.template.slots.iter().map(|slot| &slot.name));
    let place = row.eventual.as_ref().map(|Eventual { table, partition }| {
        let table = table.as_ref().map(|table| table.value().to_ascii_lowercase());
        (table, partition.as_ref().map(|partition| &partition.text))
    });
    let elements = row.each.as_ref().map(|each| &each.field);
    let stored = Vec::from_iter(entity.fields.iter().map(|field| row.has_property(field)));
    (order, place, row.when.to_token_stream().to_string(), elements, stored)
}

/// Two entities cannot have one row: the transaction of the second fails. Other mistakes come first: a wrong canonical row
/// may be the reason.
pub fn identifies_entity(model: &Model<'_>, errors: &Errors) {
    if !errors.is_empty() {
        return;
    }
    for (row, key, canonical) in
        all_without_id(model).filter(|(row, ..)| row.allow_key_conflict.is_none())
    {
        let row = &row.name;
        let id = canonical.iter().map(|part| format!("`{{{}}}`", part.name));
        let id = id.collect::<Vec<_>>().join(" and ");
        mistake!(errors, key.template.literal => "the key of row `{row}` has no component of the canonical key, so the insert of a second entity with this key fails",
            help: "end it with {id}, or declare `unique(..)` over components that it has; if no two entities of a partition have the same key, add `allow_key_conflict`");
    }
}

/// The index rows in the entity's partition whose keys nothing makes different for two entities, each with the
/// components that would.
pub fn all_without_id<'m, 'a>(
    model: &'m Model<'a>,
) -> impl Iterator<Item = (&'a Row, &'m Key<'a>, &'m [Part<'a>])> {
    let canonical = model.rows.get(model.canonical).map_or(&[][..], |row| &row.key.parts);
    let rows = model.own_rows().enumerate().filter(|(at, _)| *at != model.canonical);
    rows.filter_map(move |(_, keyed @ KeyedRow { row, key, .. })| {
        let held = model.fields_from(keyed);
        let is_held = |part: &Part<'_>| {
            part.field().is_some_and(|field| held.contains(&field.name))
                || key.parts.iter().any(|own| own.name == part.name)
        };
        let is_unique = || model.guards.iter().any(|guard| guard.parts.iter().all(is_held));
        let has_id = canonical.is_empty() || canonical.iter().any(is_held) || is_unique();
        (!has_id).then_some((*row, key, canonical))
    })
}

/// A range of one row's keys never contains another row's.
pub fn starts(model: &Model<'_>, errors: &Errors) {
    let all = labelled(model.entity);
    for (at, (name, template, help, place)) in all.iter().enumerate() {
        let right = &template.start;
        if template.broken {
            continue;
        }
        let siblings = all.iter().filter(|(.., table)| table == place).count();
        if right.is_empty() && siblings > 1 {
            mistake!(errors, template.literal => "row `{name}` starts with no literal, so its keys can overlap with other rows' keys",
                help: "start each row of the entity with a literal of its own, such as `A:`");
            continue;
        }
        // Two rows of one name are an error already.
        let meets = |(other, earlier, _, table): &&Labelled<'_>| {
            let left = &earlier.start;
            name != other
                && table == place
                && !right.is_empty()
                && !left.is_empty()
                && (left.starts_with(right) || right.starts_with(left))
        };
        if let Some((other, Template { start: left, .. }, ..)) = all[..at].iter().find(meets) {
            let is_row = model.entity.rows.iter().any(|row| row.name == other);
            let help = if is_row && *help == OTHER_ORDER { OTHER_START } else { help };
            let starts = match left == right {
                true => format!("both start with `{left}`"),
                false => format!("start with `{left}` and `{right}`"),
            };
            mistake!(errors, template.literal => "rows `{other}` and `{name}` {starts}, so their keys can overlap",
                help = help);
        }
    }
}

/// A row as errors name it, its template, what to write for a better start, and its table, if that is
/// not the entity's.
type Labelled<'e> = (String, &'e Template, &'static str, Option<String>);

const OTHER_ORDER: &str = "rename a field, or list the fields of one in another order: the keys of guards start with their names";
const OTHER_START: &str = "start the row with another literal: none that `UNQ:` starts with";

/// The rows and guard rows.
fn labelled<'e>(entity: &'e Entity<'_>) -> Vec<Labelled<'e>> {
    const OTHER_LITERALS: &str =
        "start each with a literal of its own; neither literal may be a prefix of the other";
    const OTHER_KEY: &str =
        "give the guard row a key with another start: `unique(.., key = \"..\")`";
    // The case of a table's name does not matter.
    let name = |table: &LitStr| table.value().to_ascii_lowercase();
    let own = entity.table.as_ref().map(name);
    let rows = entity.rows.iter().map(|row| {
        let table = row.eventual.as_ref().and_then(|place| place.table.as_ref());
        let other = table.map(name).filter(|table| own.as_ref() != Some(table));
        (row.name.to_string(), &row.template, OTHER_LITERALS, other)
    });
    let guards = entity.uniques.iter().map(|unique| {
        let help = match (unique.given, unique.across) {
            (true, _) => OTHER_LITERALS,
            (false, None) => OTHER_KEY,
            (false, Some(_)) => OTHER_ORDER,
        };
        (format!("unique({})", unique.list()), &unique.template, help, None)
    });
    rows.chain(guards).collect()
}
