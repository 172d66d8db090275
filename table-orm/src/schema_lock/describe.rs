//! A type as items of the lock.

use super::error::LockError;
use super::samples::invalid;
use super::text::{ENTITY, EXPIRY, Entity, FORMER_NAME, Item, UNION};
use crate::entity::{
    CopyKind, DynamicEntity, EntityRows, GuardTemplate, PeriodsSchema, PropertySchema, RowSchema,
    Schema, SumSchema, TableEntity, TableUnion, canonical, read_row,
};
use crate::key::{Escape, Shape, TemplatePart, Width};
use std::collections::BTreeSet;

/// The items of a type but its sample rows. Whether a row may lack a property is tried on the samples.
pub(super) fn entity<E: TableEntity>(
    name: &str,
    samples: &[E],
    old_form: Option<&str>,
) -> Result<Entity, LockError> {
    let schema = Schema::of::<E>();
    let keys = keys::<E>(&schema);
    let mut items = vec![match old_form {
        Some(old_form) => keys.fact(MIGRATES_FROM, old_form),
        None => keys,
    }];
    items.extend(schema.rows.iter().map(row::<E>));
    items.extend(E::GUARDS.iter().map(unique));
    let optional = optional::<E>(&schema, samples)?;
    for property in &schema.properties {
        let edm = property.edm.map_or("of the app".to_owned(), |edm| edm.to_string());
        let mut item = Item::new("property", property.name).fact("type", edm);
        if let Some(slots) = property.slots {
            item = item.fact("slots", slots);
        }
        if !property.codes.is_empty() {
            item = item.fact("codes", shape(Shape::OneOf(property.codes)));
        }
        if property.chunked {
            item = item.fact("chunked", "one value");
        }
        if property.stamps {
            item = item.fact("stamps", "yes");
        }
        if let Some(seconds) = property.period_seconds {
            item = item.fact("period", format_args!("{seconds} s"));
        }
        if let Some(limit) = limit(property) {
            item = item.fact("limit", limit);
        }
        for former in &property.aliases {
            item = item.fact(FORMER_NAME, former);
        }
        let optional = property.slots.is_some() || optional.contains(property.name);
        items.push(item.fact("in every row", if optional { "no" } else { "yes" }));
    }
    items.extend(schema.open.then(|| Item::new("open", "properties")));
    items.extend(schema.expires.map(|property| expiry(&schema, property)));
    items.extend(schema.sums.iter().map(sum));
    if let Some(events) = schema.events {
        let item = Item::new("events", "of writes");
        items.push(item.fact("before", events.before).fact("after", events.after));
    }
    Ok(Entity { what: ENTITY, name: name.to_owned(), items })
}

/// The types that a union reads, each with the kind that its rows are marked with.
pub(super) fn union<U: TableUnion>() -> Entity {
    let members = U::MEMBERS.iter().fold(Item::new(UNION, "of types"), |item, member| {
        let kind = member.kind.map_or(String::new(), |kind| format!(", kind {kind}"));
        item.fact("member", format_args!("{}{kind}", member.entity))
    });
    Entity { what: UNION, name: U::NAME.to_owned(), items: vec![members] }
}

/// The limit that a field declares: a number, and for text its unit.
fn limit(property: &PropertySchema) -> Option<String> {
    let text = property.max_units().map(|units| format!("{units} UTF-16 units"));
    text.or(property.max.map(|max| max.to_string()))
}

fn keys<E: TableEntity>(schema: &Schema) -> Item {
    let escape = match E::ESCAPE {
        Escape::Reject => "reject",
        Escape::Encode => "encode",
    };
    let item = Item::new("keys", "of the partition");
    let item = item.fact("table", schema.table).fact("template", schema.partition);
    let item = components(item, E::PARTITION_KEY.parts).fact("escape", escape);
    let item = match &schema.periods {
        Some(PeriodsSchema { length, field, .. }) => {
            item.fact("table for each", format_args!("{} of {field}", length.name()))
        }
        None => item,
    };
    match schema.kind {
        Some(kind) => item.fact("kind", kind),
        None => item,
    }
}

fn row<E: TableEntity>(row: &RowSchema) -> Item {
    let eventual = E::EVENTUAL.iter().find(|other| other.row.name == row.name);
    let mut rows = E::ROWS.iter().chain(eventual.map(|eventual| &eventual.row));
    let parts = rows.find(|other| other.name == row.name).map_or(&[][..], |row| row.parts);
    let item = components(Item::new("row", row.name).fact("template", row.key), parts);
    let item = components(item, eventual.map_or(&[][..], |eventual| eventual.partition_key.parts));
    let item = match (row.canonical, row.eventual) {
        (true, _) => item.fact("place", "canonical"),
        (_, true) => item.fact("place", format_args!("{} on {}", row.partition, row.table)),
        (_, false) => item.fact("place", "in the partition"),
    };
    let stores = match row.properties.len() {
        _ if row.copy == CopyKind::Full => "all".to_owned(),
        0 => "none".to_owned(),
        _ => row.properties.join(", "),
    };
    let item = item.fact("stores", stores);
    match (row.each, row.sparse) {
        (Some(field), _) => item.fact("exists", format_args!("for each element of {field}")),
        (None, true) => item.fact("exists", "sometimes"),
        (None, false) => item,
    }
}

fn unique(guard: &GuardTemplate) -> Item {
    let item = Item::new("unique", guard.name).fact("template", guard.key);
    let item = components(item, guard.parts);
    let scope = if guard.across { "all partitions" } else { "one partition" };
    let item = item.fact("scope", scope);
    match guard.table {
        Some(table) => item.fact("table", table),
        None => item,
    }
}

/// When entities expire. The row that finds them is among the rows.
fn expiry(schema: &Schema, property: &str) -> Item {
    let own = schema.properties.iter().find(|own| own.name == property);
    let edm = own.and_then(|own| own.edm).map_or("of the app".to_owned(), |edm| edm.to_string());
    Item::new(EXPIRY, "of entities").fact("instant", property).fact("stored as", edm)
}

fn sum(sum: &SumSchema) -> Item {
    let item = Item::new("sum", sum.name).fact("counts", sum.counts);
    let item = if sum.shards > 1 { item.fact("rows", sum.shards) } else { item };
    if sum.over_partitions { item.fact("over partitions", "yes") } else { item }
}

fn components(item: Item, parts: &[TemplatePart]) -> Item {
    parts.iter().fold(item, |item, part| {
        let item = item.fact(&format!("component {}", part.name), shape(part.shape));
        match part.encoder() {
            Some(encoder) => item.fact(&format!("{ENCODER}{}", part.name), encoder),
            None => item,
        }
    })
}

/// The texts of a component. Codes come one after the other, each in quotes.
fn shape(shape: Shape) -> String {
    match shape {
        Shape::Digits(digits) => format!("{digits} digits"),
        Shape::Number(digits) => format!("number of up to {digits} digits"),
        Shape::Pattern(pattern) => format!("pattern {pattern}"),
        Shape::OneOf(codes) => {
            let codes: Vec<_> = codes.iter().map(|code| format!("{code:?}")).collect();
            format!("{CODES}{}", codes.join(" "))
        }
        Shape::Char => "character".to_owned(),
        Shape::Text => "text".to_owned(),
        Shape::Own(Width::Fixed(units), _) => format!("of the app, {units} units"),
        Shape::Own(Width::UpTo(units), _) => format!("of the app, up to {units} units"),
        Shape::Own(Width::Unbounded, _) => "of the app".to_owned(),
    }
}

/// The label of the name of the old form, of a type that migrates.
pub(super) const MIGRATES_FROM: &str = "migrates from";

/// What the label of an encoder begins with.
pub(super) const ENCODER: &str = "encoder ";

/// What the description of codes begins with.
pub(super) const CODES: &str = "code ";

/// The properties without which the canonical rows of all samples can be read.
fn optional<E: TableEntity>(schema: &Schema, samples: &[E]) -> Result<BTreeSet<String>, LockError> {
    let mut optional: Option<BTreeSet<String>> = None;
    for sample in samples {
        let rows = EntityRows::of(sample).map_err(invalid::<E>)?;
        let Some(row) = rows.canonical() else { continue };
        let row: DynamicEntity =
            read_row(0, &row.body).map_err(|error| invalid::<E>(error.into()))?;
        let own = unneeded(schema, &row, |body| read_row::<E>(canonical::<E>(), body).is_ok());
        optional = Some(match optional {
            Some(others) => &others & &own,
            None => own,
        });
    }
    optional.ok_or(LockError::NoSample(E::NAME))
}

/// The properties without each of which a row is still read.
fn unneeded(schema: &Schema, row: &DynamicEntity, is_read: fn(&[u8]) -> bool) -> BTreeSet<String> {
    let reads_without = |name: &&str| {
        let mut without = row.clone();
        without.properties.remove(*name);
        without.body().is_ok_and(|body| is_read(&body))
    };
    let names = schema.properties.iter().map(|property| property.name);
    names.filter(reads_without).map(str::to_owned).collect()
}
