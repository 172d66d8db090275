//! Every rule that spans several attributes.

use crate::ast::{Copy, Entity, Field, Role, Row};
use crate::errors::Errors;
use crate::expand::{names, patch};
use crate::kind::{self, Kind, kind};
use crate::model::{Encoder, Key, Model, Part, Source, Width, digits_of};
use crate::nearest::suggestion;
use crate::symbol::*;
use proc_macro2::Ident;
use std::collections::BTreeMap;
use syn::ext::IdentExt;
use syn::{LitStr, Type};

/// The most properties of a row (service documentation).
const MAX_PROPERTIES: usize = 252;
/// A series of more takes the better part of a row.
const MAX_SLOTS: usize = MAX_PROPERTIES / 2;
/// The most operations of one transaction, which writes all rows of an entity.
const MAX_ROWS: usize = 100;
/// The most UTF-16 units of a key: 1 KiB.
const MAX_KEY_UNITS: usize = 512;

/// Rules that need no template to be correct.
pub fn entity(entity: &Entity<'_>, errors: &mut Errors) {
    if let Some(table) = &entity.table {
        table_name(table, errors);
    }
    fields(&entity.fields, errors);
    row_names(entity, errors);
    uniques(entity, errors);
    row_fields(entity, errors);
    components(entity, errors);
}

/// Rules over the resolved templates.
pub fn model(model: &Model<'_>, errors: &mut Errors) {
    canonical(model, errors);
    row_starts(model, errors);
    for key in model.keys() {
        literals(key, model.entity.encode, errors);
        separators(key, errors);
        length(key, model.entity.encode, errors);
    }
    parts(model, errors);
    defaults(model, errors);
    append_only(model, errors);
    shards(model, errors);
    key_only(model, errors);
    used_components(model, errors);
    type_names(model, errors);
    patch_methods(model, errors);
}

fn table_name(table: &LitStr, errors: &mut Errors) {
    let name = table.value();
    let valid = (3..=63).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
        && !name.eq_ignore_ascii_case("tables");
    if !valid {
        errors.push(
            table,
            format!("`{name}` cannot name a table"),
            "use 3 to 63 ASCII letters and digits, starting with a letter; `tables` is reserved",
        );
    }
}

/// Fields by themselves, and the properties of all of them.
pub fn fields(fields: &[Field<'_>], errors: &mut Errors) {
    for field in fields {
        field_attributes(field, errors);
    }
    property_names(fields, errors);
}

fn field_attributes(field: &Field<'_>, errors: &mut Errors) {
    let name = &field.name;
    let column = matches!(field.role, Role::Property | Role::Json);
    if field.key_only.is_some() && field.role != Role::Property {
        errors.push(
            field.ident,
            format!("field `{name}` is `key_only`, so it has no other way to be stored"),
            "keep one of the two attributes",
        );
    }
    if field.default.is_some() && (!column || field.key_only.is_some()) {
        errors.push(
            field.ident,
            format!(
                "field `{name}` has a `default`, but no property of its own that may be absent"
            ),
            "leave `default` out",
        );
    }
    owned(field, errors);
    let value = kind(field.value_type());
    let one = value.is_sure() && value != Kind::Bytes;
    match field.role {
        Role::Series if one => errors.push(
            field.ty,
            format!("field `{name}` is one value, not a series"),
            "make it `[Option<T>; N]` or `Vec<T>`, or leave `series` out",
        ),
        Role::Series if kind::vec(field.ty).and_then(kind::option).is_some() => errors.push(
            field.ty,
            format!("field `{name}` is a `Vec` with empty slots, whose end nothing would tell"),
            "make it `[Option<T>; N]`, or a `Vec<T>` without empty slots",
        ),
        Role::Flatten if one => errors.push(
            field.ty,
            format!("field `{name}` is one value, not a group of properties"),
            "flatten a struct with `#[derive(Properties)]`, or leave `flatten` out",
        ),
        Role::ETag if value != Kind::Other => errors.push(
            field.ty,
            format!("field `{name}` is to hold the entity's ETag, which its type cannot"),
            "make it an `Option<ETag>`",
        ),
        Role::Timestamp if !holds_timestamp(field.ty) => errors.push(
            field.ty,
            format!("field `{name}` is to hold the row's timestamp, which its type cannot"),
            "make it an `Option<DateTime>`, or an `Option` of another instant",
        ),
        Role::Property if kind::is_any(field.ty) => errors.push(
            field.ty,
            format!(
                "field `{name}` is an `Edm`, whose type a property read for a field does not tell"
            ),
            "give the field one Rust type, or leave it out and take it from \
             `#[table(flatten)] rest: BTreeMap<String, Edm>`, which holds all that no field has",
        ),
        _ => {}
    }
    if let Some((_, literal)) = &field.max_len
        && (field.role != Role::Property || value.is_sure() && value != Kind::Text)
    {
        errors.push(
            literal,
            format!("`max_len` counts the UTF-16 units of text, which `{name}` is not"),
            "leave it out; numbers are limited by `max = N`",
        );
    }
    if let Some((_, literal)) = &field.max
        && (field.role != Role::Property
            || value.is_sure() && !matches!(value, Kind::Unsigned(_) | Kind::Signed(_)))
    {
        errors.push(
            literal,
            format!("`max` is the largest value of an integer, which `{name}` is not"),
            "leave it out; text is limited by `max_len = N`",
        );
    }
    if let (Some(_), Some((_, literal))) = (&field.max_len, &field.max) {
        errors.push(
            literal,
            format!("field `{name}` has both `max` and `max_len`"),
            "keep `max` for a number, `max_len` for text",
        );
    }
}

/// Whether it may be an `Option` of an instant; what its name does not tell is left to the type checker.
fn holds_timestamp(ty: &Type) -> bool {
    match kind::option(ty) {
        Some(ty) => matches!(kind(ty), Kind::Instant | Kind::Other),
        None => kind(ty) == Kind::Other,
    }
}

/// What is read from a row is no part of anything that it could borrow from.
pub fn owned(field: &Field<'_>, errors: &mut Errors) {
    let name = &field.name;
    if let Some((lifetime, borrowed)) = kind::reference(field.value_type())
        && (field.is_stored() || field.key_only.is_some())
    {
        let help = if kind::is(borrowed, "str") {
            format!("write `String`, or `Cow<{lifetime}, str>` to write borrowed text")
        } else {
            "write a type that owns its value".to_owned()
        };
        errors.push(
            field.ty,
            format!("field `{name}` borrows, and a row that is read has nothing to lend"),
            help,
        );
    }
}

fn property_names(fields: &[Field<'_>], errors: &mut Errors) {
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    let mut count = 0;
    for field in fields.iter().filter(|field| field.is_stored()) {
        let property = &field.property;
        if field.role != Role::Flatten && !is_property_name(property) {
            errors.push(
                &field.property_at,
                format!("`{property}` cannot name a property"),
                "use at most 255 letters, digits and `_`, not starting with a digit",
            );
        }
        if SYSTEM_PROPERTIES.contains(&property.as_str()) && field.role != Role::Flatten {
            errors.push(
                &field.property_at,
                format!("`{property}` is the service's own property of every row"),
                "store the field under another name: `#[table(rename = \"..\")]`",
            );
        }
        let numbered = |slots: usize| match slots {
            // As the runtime numbers them.
            0..=100 => (0..slots).map(|at| format!("{property}{at:02}")).collect(),
            _ => (0..slots.min(1000)).map(|at| format!("{property}{at:03}")).collect(),
        };
        let stored: Vec<String> = match (field.role, kind::array(field.ty)) {
            (Role::Flatten, _) => Vec::new(),
            (Role::Series, Some(slots)) => numbered(slots),
            // A `Vec` takes three digits, and may have none of them.
            (Role::Series, None) => numbered(MAX_PROPERTIES),
            _ => vec![property.clone()],
        };
        if field.role != Role::Series || kind::array(field.ty).is_some() {
            count += stored.len();
        }
        for property in stored {
            if let Some(other) = taken.get(&property) {
                errors.push(
                    &field.property_at,
                    format!(
                        "fields `{other}` and `{}` are both stored as `{property}`",
                        field.name
                    ),
                    "rename one of them: `#[table(rename = \"..\")]`",
                );
                break;
            }
            taken.insert(property, &field.name);
        }
    }
    let series = fields.iter().find(|field| {
        field.role == Role::Series && kind::array(field.ty).is_some_and(|slots| slots > MAX_SLOTS)
    });
    let help = match series {
        Some(_) => {
            "cut the series into rows: a shorter array, and the part's number in the row's key, \
             such as `row = \"{part:02}\"`"
        }
        None => "store some as one: `#[table(json)]`, or in an entity of their own",
    };
    if count > MAX_PROPERTIES
        && let Some(field) = series.or(fields.last())
    {
        errors.push(
            field.ident,
            format!("{count} properties; a row can have {MAX_PROPERTIES}"),
            help,
        );
    }
}

fn is_property_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
        && name.encode_utf16().count() <= 255
}

fn row_names(entity: &Entity<'_>, errors: &mut Errors) {
    for (at, row) in entity.rows.iter().enumerate() {
        if entity.rows[..at].iter().any(|other| other.name == row.name) {
            errors.push(
                &row.name,
                format!("two rows are called `{}`", row.name),
                "give one of them another name",
            );
        }
    }
    let rows = entity.rows.len() + entity.uniques.len();
    if let Some(row) = entity.rows.last().filter(|_| rows > MAX_ROWS) {
        errors.push(
            &row.name,
            format!("{rows} rows; one transaction can write {MAX_ROWS}"),
            "leave out some of the rows",
        );
    }
}

/// Guards have names of their own, and are keyed by what they guard.
fn uniques(entity: &Entity<'_>, errors: &mut Errors) {
    for (at, unique) in entity.uniques.iter().enumerate() {
        let (name, list) = (&unique.name, unique.list());
        if entity.uniques[..at].iter().any(|other| other.list() == list) {
            errors.push(
                &unique.at,
                format!("`unique({list})` is given twice"),
                "leave one of them out",
            );
        }
        let guarded = |name: &str| unique.components.iter().any(|own| own.unraw() == name);
        let slots = &unique.template.slots;
        let keyed = |own: &Ident| slots.iter().any(|slot| own.unraw() == slot.name);
        let same =
            slots.iter().all(|slot| guarded(&slot.name)) && unique.components.iter().all(keyed);
        if !same && !unique.template.broken {
            let names: Vec<_> =
                unique.components.iter().map(|name| format!("{{{name}}}")).collect();
            errors.push(
                &unique.template.literal,
                "the guard row's key has other components than `unique` names",
                format!(
                    "write `key = \"UNQ:{name}:{}\"`, or name the others too",
                    names.join("__")
                ),
            );
        }
    }
}

/// `include` and `exclude` name stored fields.
fn row_fields(entity: &Entity<'_>, errors: &mut Errors) {
    for row in &entity.rows {
        let (Copy::Include(names) | Copy::Exclude(names)) = &row.copy else { continue };
        for name in names {
            let unraw = name.unraw().to_string();
            let stored = entity.fields.iter().filter(|field| field.is_stored());
            match entity.field(&unraw) {
                Some(field) if field.is_stored() => {}
                Some(field) if field.key_only.is_some() => errors.push(
                    name,
                    format!("field `{unraw}` is `key_only`, so no row stores it as a property"),
                    "leave it out: a projection of the row reads it from the row's keys",
                ),
                Some(_) => errors.push(
                    name,
                    format!("field `{unraw}` is not stored as a property"),
                    "leave it out",
                ),
                None => errors.push(
                    name,
                    format!("no field is called `{unraw}`"),
                    suggestion(&unraw, stored.map(|field| field.name.as_str()).collect::<Vec<_>>()),
                ),
            }
        }
    }
}

fn components(entity: &Entity<'_>, errors: &mut Errors) {
    for component in &entity.components {
        let name = component.name.unraw().to_string();
        if entity.field(&name).is_some() {
            errors.push(
                &component.name,
                format!("component `{name}` has the name of a field"),
                "give it a name of its own, to be used in templates",
            );
        }
        if let Some(field) = component.encoder.field() {
            let wanted = field.unraw().to_string();
            if entity.field(&wanted).is_none() {
                let fields: Vec<_> =
                    entity.fields.iter().map(|field| field.name.as_str()).collect();
                errors.push(
                    field,
                    format!("no field is called `{wanted}`"),
                    suggestion(&wanted, fields),
                );
            }
        }
    }
}

fn canonical(model: &Model<'_>, errors: &mut Errors) {
    let marked: Vec<&Row> =
        model.entity.rows.iter().filter(|row| row.canonical.is_some()).collect();
    if let [_, second, ..] = marked[..] {
        errors.push(
            Ident::new(CANONICAL, second.canonical.unwrap_or_else(|| second.name.span())),
            "two rows are `canonical`",
            "keep it on the row whose ETag is to guard the entity",
        );
    }
    let Some((row, key)) = model.rows().nth(model.canonical) else { return };
    let name = &row.name;
    let wrong = if !row.is_full() {
        Some("is a partial copy")
    } else if row.when.is_some() || key.parts.iter().any(|part| part.sparse().is_some()) {
        Some("is not there for every entity")
    } else {
        None
    };
    if let Some(wrong) = wrong {
        errors.push(
            name,
            format!("row `{name}` {wrong}, so it cannot be the canonical row"),
            "put a full, unconditional row first, or mark one `canonical`",
        );
    }
}

/// The literals that rows start with tell one kind of row from another.
fn row_starts(model: &Model<'_>, errors: &mut Errors) {
    const OTHERWISE: &str = "start them with literals of which none is the start of another";
    const KEY: &str = "give it a key that starts otherwise: `unique(.., key = \"..\")`";
    let rows = model.entity.rows.iter();
    let rows = rows.map(|row| (row.name.to_string(), &row.template, OTHERWISE));
    let guards = model.entity.uniques.iter().map(|unique| {
        let help = if unique.given { OTHERWISE } else { KEY };
        (format!("unique({})", unique.list()), &unique.template, help)
    });
    let all: Vec<_> = rows.chain(guards).collect();
    if all.len() < 2 {
        return;
    }
    for (at, (name, template, help)) in all.iter().enumerate() {
        if template.broken {
            continue;
        }
        if template.start.is_empty() {
            errors.push(
                &template.literal,
                format!("row `{name}` starts with no literal, so its keys look like other rows'"),
                "start each of the entity's rows with a literal of its own, such as `A:`",
            );
            continue;
        }
        let right = &template.start;
        for (other, earlier, _) in &all[..at] {
            let left = &earlier.start;
            // Two of one name are an error of their own.
            let named = name != other;
            if named && !left.is_empty() && (left.starts_with(right) || right.starts_with(left)) {
                errors.push(
                    &template.literal,
                    format!("rows `{other}` and `{name}` start alike, with `{left}` and `{right}`"),
                    help,
                );
                break;
            }
        }
    }
}

fn literals(key: &Key<'_>, encode: bool, errors: &mut Errors) {
    let template = key.template;
    let literals =
        std::iter::once(&template.start).chain(template.slots.iter().map(|slot| &slot.then));
    if let Some(c) = literals.flat_map(|literal| literal.chars()).find(|&c| is_forbidden(c)) {
        errors.push(
            &template.literal,
            format!("the service forbids {c:?} in keys"),
            "use another separator, such as `__` or `:`",
        );
    }
    // An escape is `~` and two of these digits, which a search for the separator must not find.
    let clashes = |c: char| matches!(c, '~' | '0'..='9' | 'A'..='F');
    let varying = key.parts.iter().filter(|part| !matches!(part.width(encode), Width::Fixed(_)));
    if encode && varying.clone().any(|part| part.then.starts_with(clashes)) {
        errors.push(
            &template.literal,
            "with `escape = encode`, a separator that starts with `~`, `0` to `9` or `A` to `F` \
             would be found inside of escaped text",
            "use another separator, such as `__` or `:`",
        );
    }
}

fn is_forbidden(c: char) -> bool {
    matches!(c, '/' | '\\' | '#' | '?') || c.is_control()
}

fn separators(key: &Key<'_>, errors: &mut Errors) {
    for pair in key.parts.windows(2) {
        let [left, right] = pair else { continue };
        if left.then.is_empty() && matches!(left.width(false), Width::UpTo(_) | Width::Unbounded) {
            errors.push(
                &key.template.literal,
                format!("nothing tells where `{}` ends and `{}` begins", left.name, right.name),
                format!(
                    "write a literal between them, such as `__`, or give `{}` a fixed width",
                    left.name
                ),
            );
        }
    }
}

/// The longest key, where every component's length is known.
fn length(key: &Key<'_>, encode: bool, errors: &mut Errors) {
    let units = known_units(key, encode) + if encode { escaped_units(key) } else { 0 };
    if units > MAX_KEY_UNITS {
        errors.push(
            &key.template.literal,
            format!("keys of this template can have {units} UTF-16 units; the service allows 512"),
            "lower a `max_len`, or shorten the literals",
        );
    }
}

/// What text with a `max_len` takes of an escaped key: a character such as `/` three units. Rare
/// control characters take more, so it is no bound.
fn escaped_units(key: &Key<'_>) -> usize {
    let limits =
        key.parts.iter().filter(|part| part.kind() == Kind::Text).filter_map(Part::max_len);
    limits.fold(0, |units, max_len| units.saturating_add(max_len.saturating_mul(3)))
}

/// The longest a key can get by what the derive knows of it.
pub fn known_units(key: &Key<'_>, encode: bool) -> usize {
    let literals = std::iter::once(&key.template.start)
        .chain(key.template.slots.iter().map(|slot| &slot.then))
        .map(|literal| literal.encode_utf16().count());
    let parts = key.parts.iter().map(|part| match part.width(encode) {
        Width::Fixed(units) | Width::UpTo(units) => units,
        Width::Unbounded | Width::Unknown => 0,
    });
    literals.chain(parts).fold(0, usize::saturating_add)
}

/// Whether each component's type has a text by its encoder. One error for each field and encoder.
fn parts(model: &Model<'_>, errors: &mut Errors) {
    let mut seen = Vec::new();
    for (index, key) in model.keys().enumerate() {
        for part in &key.parts {
            let Source::Field(field) = part.source else { continue };
            if index == 0 && part.sparse().is_some() {
                errors.push(
                    field.ty,
                    format!("field `{}` may be empty, but is part of the PartitionKey", field.name),
                    "make it a plain value, or leave it out of `partition`",
                );
            }
            width_holds_max(key, part, field, errors);
            if !seen.contains(&(field.name.as_str(), part.encoder)) {
                seen.push((&field.name, part.encoder));
                encoder(part, field, errors);
            }
        }
    }
}

fn encoder(part: &Part<'_>, field: &Field<'_>, errors: &mut Errors) {
    let name = &field.name;
    if matches!(field.role, Role::Skip | Role::ETag | Role::Timestamp) {
        errors.push(
            field.ident,
            format!("field `{name}` is used in a key, but its value is not stored"),
            "leave it out of the templates, or store it",
        );
    }
    if matches!(field.role, Role::Series | Role::Flatten) {
        errors.push(
            field.ident,
            format!("field `{name}` is many properties, so it cannot stand in a key"),
            "use a field of one value",
        );
    }
    let kind = part.kind();
    let (wrong, help) = match (part.encoder, kind) {
        (_, Kind::Float) => (
            "is a float, whose text does not sort and is not exact",
            "use an integer, such as a count of hundredths".to_owned(),
        ),
        (_, Kind::Bytes) => {
            ("is bytes, which keys cannot hold", "use text, such as their hash in hex".to_owned())
        }
        (Encoder::Plain | Encoder::Padded(_), Kind::Signed(_)) => (
            "is signed, so its digits do not sort",
            format!("declare `#[component(x = biased({name}))]` and write `{{x}}`"),
        ),
        (Encoder::DescendingPadded(_), Kind::Signed(_)) => (
            "is signed, so it is always written in full width",
            format!("write `{{{}}}`", part.name),
        ),
        (
            Encoder::Padded(_) | Encoder::DescendingPadded(_),
            Kind::Text | Kind::Bool | Kind::Char,
        ) => {
            ("is not an unsigned integer, so it has no width", format!("write `{{{}}}`", part.name))
        }
        (Encoder::Ascending | Encoder::Descending, Kind::Text | Kind::Bool | Kind::Char) => {
            ("has no order that a key could store", format!("write `{{{name}}}`"))
        }
        (Encoder::Biased, Kind::Signed(_)) | (Encoder::Lower, Kind::Text) => return,
        (Encoder::Biased, kind) if kind.is_sure() => {
            ("is not a signed integer", format!("write `{{{name}}}`"))
        }
        (Encoder::Lower, kind) if kind.is_sure() => ("is not text", format!("write `{{{name}}}`")),
        _ => return,
    };
    errors.push(field.ty, format!("key component `{name}` {wrong}"), help);
}

fn width_holds_max(key: &Key<'_>, part: &Part<'_>, field: &Field<'_>, errors: &mut Errors) {
    let (Encoder::Padded(digits) | Encoder::DescendingPadded(digits)) = part.encoder else {
        return;
    };
    let Some((max, _)) = &field.max else { return };
    let needed = digits_of(*max);
    if needed > digits {
        errors.push(
            &key.template.literal,
            format!("{digits} digits cannot hold `{}`, whose `max` is {max}", field.name),
            format!("write `{{{}:0{needed}}}`", part.name),
        );
    }
}

/// A row is found again by the key that what was read has, which must be the key it was written
/// under.
fn defaults(model: &Model<'_>, errors: &mut Errors) {
    for field in &model.entity.fields {
        let Some(Some(path)) = &field.default else { continue };
        let name = &field.name;
        let sparse = |part: &Part<'_>| part.sparse().is_some_and(|own| own.name == *name);
        if model.keys().flat_map(|key| &key.parts).any(sparse) {
            errors.push(
                path,
                format!(
                    "`{name}` is part of a key, and its `default` would read `None` back as \
                     another value, of which there are no rows"
                ),
                format!("leave `default` out, or make `{name}` a plain value"),
            );
        }
    }
}

/// A PartitionKey that starts with what only grows sends all writes to one end of the table.
fn append_only(model: &Model<'_>, errors: &mut Errors) {
    let Some(part) = model.partition.parts.first() else { return };
    let Some(what) = grows(part).filter(|_| !model.entity.allow_append_only) else { return };
    let end = match part.encoder {
        Encoder::Descending | Encoder::DescendingPadded(_) => "prepend",
        _ => "append",
    };
    errors.push(
        &model.partition.template.literal,
        format!(
            "the PartitionKey starts with the {what} `{}`, so that all writes go to one partition \
             server ({end}-only hot partition)",
            part.name
        ),
        "start it with a value that spreads, or accept that with `allow_append_only`",
    );
}

/// What a component counts with, as far as its type and encoder tell. An integer written as it is,
/// or with a width, may be an id; one that is put into order by `asc` or `desc` is a sequence.
fn grows(part: &Part<'_>) -> Option<&'static str> {
    let field = part.field().filter(|_| !matches!(part.encoder, Encoder::Shard(_)))?;
    let ordered = part.encoder.is_ordered() || part.name != field.name;
    match part.kind() {
        Kind::Instant => Some("clock"),
        Kind::Date => Some("date"),
        Kind::Ulid => Some("ULID"),
        Kind::Unsigned(_) if ordered => Some("counter"),
        Kind::Signed(_) if part.encoder.is_ordered() => Some("counter"),
        _ => None,
    }
}

/// A shard is a part of the partition, and only one.
fn shards(model: &Model<'_>, errors: &mut Errors) {
    let is_shard = |part: &&Part<'_>| matches!(part.encoder, Encoder::Shard(_));
    for key in model.rows.iter().chain(&model.guards) {
        if let Some(part) = key.parts.iter().find(is_shard) {
            errors.push(
                &key.template.literal,
                format!("shard `{}` in a RowKey spreads nothing", part.name),
                format!("write `{{{}}}` in `partition`", part.name),
            );
        }
    }
    if let Some(second) = model.partition.parts.iter().filter(is_shard).nth(1) {
        errors.push(
            &model.partition.template.literal,
            format!("`{}` is a second shard of one PartitionKey", second.name),
            "leave one of them out, and give the other more shards",
        );
    }
}

fn key_only(model: &Model<'_>, errors: &mut Errors) {
    if model.keys().any(|key| key.template.broken) {
        return;
    }
    for field in &model.entity.fields {
        let Some(at) = field.key_only else { continue };
        if model.partition.gives(field) {
            continue;
        }
        if let Some((row, _)) = model.rows().find(|(_, key)| !key.gives(field)) {
            errors.push(
                Ident::new(KEY_ONLY, at),
                format!(
                    "row `{}` does not give field `{}` back from its key",
                    row.name, field.name
                ),
                "write it in every row's template or in `partition`, or leave `key_only` out",
            );
        }
    }
}

fn used_components(model: &Model<'_>, errors: &mut Errors) {
    for component in &model.entity.components {
        let name = component.name.unraw().to_string();
        let used = model.keys().any(|key| key.template.slots.iter().any(|slot| slot.name == name));
        if !used {
            errors.push(
                &component.name,
                format!("no template uses component `{name}`"),
                format!("write `{{{name}}}` in one, or leave the component out"),
            );
        }
    }
    for key in model.keys() {
        for (at, part) in key.parts.iter().enumerate() {
            if key.parts[..at].iter().any(|other| other.name == part.name) {
                errors.push(
                    &key.template.literal,
                    format!("`{}` stands twice in one key", part.name),
                    "leave one of them out",
                );
            }
        }
    }
}

/// The types that are generated have names of their own.
fn type_names(model: &Model<'_>, errors: &mut Errors) {
    let mut taken = vec![
        names::partition(model.entity),
        names::columns(model.entity),
        names::components(model.entity),
        names::patch(model.entity),
    ];
    for (at, row) in model.entity.rows.iter().enumerate() {
        if model.entity.rows[..at].iter().any(|other| other.name == row.name) {
            continue;
        }
        let mut own = vec![names::row(model.entity, row)];
        if !row.is_full() {
            own.push(names::row_columns(model.entity, row));
        }
        if let Some(name) = own.iter().find(|name| taken.contains(name)) {
            errors.push(
                &row.name,
                format!("the type `{name}` would be generated twice"),
                format!("give row `{}` another name", row.name),
            );
        }
        taken.extend(own);
    }
}

/// The setters of a patch have names of their own: a slot's ends in `_at`.
fn patch_methods(model: &Model<'_>, errors: &mut Errors) {
    let mut taken: BTreeMap<Ident, &Field<'_>> = BTreeMap::new();
    for (method, field) in patch::methods(model) {
        if let Some(other) = taken.get(&method) {
            let (patch, name, property) =
                (names::patch(model.entity), &field.name, &field.property);
            errors.push(
                field.ident,
                format!("`{patch}::{method}` would set both `{}` and `{name}`", other.name),
                format!("rename one of the fields; `#[table(rename = \"{property}\")]` keeps the property of `{name}`"),
            );
        }
        taken.insert(method, field);
    }
}
