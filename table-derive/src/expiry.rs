//! Entities that expire: each row stores when, and one row in another partition finds those that have expired.

use crate::ast::{Argument, Component, Copy, Encoder, Entity, Eventual, Role, Row};
use crate::errors::{Errors, mistake};
use crate::symbol::{EXPIRY_ROW, EXPIRY_START};
use crate::template::Template;
use crate::tokens::*;

/// The component that spreads the row over partitions.
const SHARD: &str = "expiry_shard";
/// What rarely is in text: values of components before it cannot have it.
const SEPARATOR: &str = "~~";

/// Adds what `expires` and `purge_index` ask for.
pub fn complete(entity: &mut Entity<'_>, errors: &Errors) {
    let Some(expires) = entity.expires.clone() else { return };
    let field = entity.field(&expires.unraw().to_string());
    if !field.is_some_and(|field| field.is_stored() && field.role == Role::Property) {
        return;
    }
    for row in &mut entity.rows {
        if let Copy::Include(names) = &mut row.copy
            && !names.contains(&expires)
        {
            names.push(expires.clone());
        }
    }
    if let Some(at) = entity.purge_index.filter(|_| entity.keyed) {
        add_row(entity, &expires, at, errors);
    }
}

/// The row `EXP:<type>:<instant>~~<key of the entity>`, in one of the partitions `EXP:<type>:00` to `EXP:<type>:15`.
fn add_row(entity: &mut Entity<'_>, expires: &Ident, at: Span, errors: &Errors) {
    let start = format!("{EXPIRY_START}{}:", entity.input.ident.unraw());
    let mut key = vec![format!("{start}{{{}}}", expires.unraw())];
    let mut held = vec![expires.unraw().to_string()];
    let canonical = entity.rows.iter().find(|row| row.canonical.is_some()).or(entity.rows.first());
    let slots = canonical.iter().flat_map(|row| &row.template.slots);
    for slot in entity.partition.slots.iter().chain(slots) {
        let component = entity.components.iter().find(|own| own.name.unraw() == slot.name);
        let (field, lossy) = match component.map(|own| (own.encoder, &own.argument)) {
            None => (slot.name.clone(), false),
            Some((encoder, Argument::Field(field))) => (
                field.unraw().to_string(),
                matches!(encoder, Encoder::Lower | Encoder::Shard(_) | Encoder::Spread),
            ),
            // Another rule reports it: no other row shows what a function makes.
            Some((_, Argument::With(_))) => continue,
        };
        if held.contains(&field) {
            continue;
        }
        let digits = slot.digits.filter(|_| !lossy).map(|digits| format!(":0{digits}"));
        let name = if lossy { &field } else { &slot.name };
        key.push(format!("{{{name}{}}}", digits.unwrap_or_default()));
        held.push(field);
    }
    if let Some(own) = entity.components.iter().find(|own| own.name == SHARD) {
        mistake!(errors, own.name => "`purge_index` adds a component `{SHARD}`",
            help: "give this one another name");
    }
    let partition = format!("{start}{{{SHARD}}}");
    let template = |text: &str| Template::parse_or_guess(LitStr::new(text, at), errors);
    let (partition, template) = (template(&partition), template(&key.join(SEPARATOR)));
    let path = syn::parse_quote_spanned!(at=> _orm::expiry_shard);
    entity.components.push(Component {
        name: Ident::new(SHARD, at),
        encoder: Encoder::Plain,
        argument: Argument::With(path),
    });
    entity.rows.push(Row {
        copy: Copy::Include(vec![expires.clone()]),
        eventual: Some(Eventual { table: None, partition: Some(partition) }),
        ..Row::full(Ident::new(EXPIRY_ROW, at), template)
    });
}
