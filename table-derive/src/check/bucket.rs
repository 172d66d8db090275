//! Rules over a type with a table for each period.

use crate::ast::{Entity, Field, Role};
use crate::errors::{Errors, mistake};
use crate::nearest::suggestion;
use crate::tokens::*;

/// The lengths of periods, each with the digits of its name.
const LENGTHS: [(&str, usize); 4] = [("hour", 10), ("day", 8), ("month", 6), ("year", 4)];

/// One period has to contain all that a promise is about.
pub fn shape(entity: &Entity<'_>, errors: &Errors) {
    let Some(names) = &entity.bucket else { return };
    let [length, field] = &names[..] else {
        let at = names.first().unwrap_or(&entity.input.ident);
        mistake!(errors, at => "`bucket` takes the length of a period, and the field of the time",
            help: "write `bucket(month, at)`");
        return;
    };
    let (lengths, name) = (LENGTHS.map(|(length, _)| length), length.to_string());
    match LENGTHS.iter().find(|(known, _)| *known == name) {
        Some((_, digits)) => table(entity, *digits, errors),
        None => {
            mistake!(errors, length => "`{name}` is not the length of a period", help = suggestion(&name, lengths));
        }
    }
    time(entity, field, errors);
    eventual(entity, errors);
}

/// The digits of a period follow the name. No other type may have a name that reads as both.
fn table(entity: &Entity<'_>, digits: usize, errors: &Errors) {
    let Some(table) = &entity.table else { return };
    let (name, most) = (table.value(), 63 - digits);
    if name.ends_with(|c: char| c.is_ascii_digit()) {
        mistake!(errors, table => "`{name}` ends with a digit, and the digits of a period follow it",
            help: "end the name with a letter");
    } else if name.len() > most && name.len() <= 63 {
        mistake!(errors, table => "`{name}` is too long: with the {digits} digits of a period, it has more than 63 characters",
            help: "use at most {most} characters");
    }
}

/// The stored time says which table the entity is in.
fn time(entity: &Entity<'_>, field: &Ident, errors: &Errors) {
    let Some(Field { name, role, .. }) = entity.known_field(field, errors) else { return };
    if *role != Role::Property {
        mistake!(errors, field => "field `{name}` is not stored as an instant, so it does not say which table the entity is in",
            help: "name a field with a time of the app's own, such as an `OffsetDateTime`");
    }
}

/// Entities of two periods may have the same keys.
fn eventual(entity: &Entity<'_>, errors: &Errors) {
    for row in &entity.rows {
        let Some(table) = row.eventual.as_ref().and_then(|place| place.table.as_ref()) else {
            continue;
        };
        let name = &row.name;
        mistake!(errors, table => "row `{name}` is in a table that all periods share, so entities of two periods could have one row",
            help: "remove `table`: the row is then in another partition of the same period");
    }
    for unique in entity.uniques.iter().filter(|unique| unique.across.is_some()) {
        let list = unique.list();
        mistake!(errors, unique.at => "`unique({list}, across)` cannot hold over the tables of several periods",
            help: "remove `across`: the value is then unique in a partition of one period; or store it as an entity of a type with one table");
    }
}
