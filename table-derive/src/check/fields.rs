//! Rules over fields: each by itself, and the properties of all of them.

use crate::ast::{Field, Role};
use crate::errors::{Errors, mistake};
use crate::kind::{self, Kind, kind};
use crate::symbol::{RESERVED_PROPERTIES, SYSTEM_PROPERTIES};
use crate::template::is_name;
use crate::tokens::*;
use std::collections::BTreeMap;

/// The most properties of a row (service documentation).
const MAX_PROPERTIES: usize = 252;
/// The most properties of a chunked value, besides its length.
const MAX_CHUNKS: usize = 17;
/// A longer series would take most of a row.
const MAX_SLOTS: usize = MAX_PROPERTIES / 2;

/// The rules for the fields of an entity or a group, whose rows have that many other properties.
pub fn fields(fields: &[Field<'_>], others: usize, errors: &Errors) {
    for field in fields {
        key_only_role(field, errors);
        of_one_property(field, errors);
        owned(field, errors);
        role_type(field, errors);
        limits(field, errors);
    }
    let mut taken = BTreeMap::new();
    // The properties of a flattened group have their own names.
    let named = |field: &&Field<'_>| field.is_stored() && field.role != Role::Flatten;
    for field in fields.iter().filter(named) {
        property_name(field, errors);
        distinct_properties(field, &mut taken, errors);
    }
    for field in fields {
        distinct_aliases(field, &mut taken, errors);
    }
    property_count(fields, others, errors);
}

/// The rules for the fields of a group of properties.
pub fn properties(group: &[Field<'_>], errors: &Errors) {
    fields(group, 0, errors);
    for field in group {
        of_an_entity(field, errors);
    }
}

/// The rules for the fields of a projection.
pub fn projection(fields: &[Field<'_>], errors: &Errors) {
    for field in fields {
        owned(field, errors);
        role_type(field, errors);
        of_one_property(field, errors);
    }
}

/// The lifetime of a projection that borrows: that of the page.
pub fn borrowed<'a>(input: &'a DeriveInput, errors: &Errors) -> Option<&'a syn::Lifetime> {
    let mut params = input.generics.params.iter();
    match (params.next(), params.next()) {
        (Some(syn::GenericParam::Lifetime(page)), None) => Some(&page.lifetime),
        _ => {
            let ident = &input.ident;
            mistake!(errors, ident => "`{ident}` borrows from a page, so it has one lifetime and no other parameter",
                help: "declare `{ident}<'a>`, with fields of type `Cow<'a, str>`");
            None
        }
    }
}

/// A `key_only` field has no property that another attribute could describe.
fn key_only_role(Field { ident, name, key_only, role, .. }: &Field<'_>, errors: &Errors) {
    if key_only.is_some() && *role != Role::Property {
        mistake!(errors, ident => "field `{name}` is `key_only`, so no property stores it",
            help: "keep one of the two attributes");
    }
}

/// A default replaces one property that a row lacks, and a former name is that of one property.
fn of_one_property(field: &Field<'_>, errors: &Errors) {
    let Field { ident, name, default, aliases, .. } = field;
    let default = default.iter().map(|_| ("a", "default", ident.to_token_stream()));
    let alias = aliases.first().map(|alias| ("an", "alias", alias.to_token_stream()));
    for (a, what, at) in default.chain(alias).filter(|_| !field.is_column()) {
        mistake!(errors, at => "field `{name}` has {a} `{what}`, but is not stored as one property",
            help: "remove `{what}`");
    }
}

/// Entities are read from a response that is gone when the app gets them.
fn owned(field: &Field<'_>, errors: &Errors) {
    let Field { name, ty, .. } = field;
    if let Some((lifetime, borrowed)) = kind::reference(field.value_type())
        && (field.is_stored() || field.key_only.is_some())
    {
        let help = if kind::is(borrowed, "str") {
            format!("use `String`, or `Cow<{lifetime}, str>` to write borrowed text")
        } else {
            "use a type that owns its value".to_owned()
        };
        mistake!(errors, ty => "field `{name}` borrows, but entities are read into owned values", help = help);
    }
}

/// A field's type can hold what its attribute stores in it.
fn role_type(field: &Field<'_>, errors: &Errors) {
    let Field { name, ty, .. } = field;
    let value = kind(field.value_type());
    let one_value = value.is_sure() && value != Kind::Bytes;
    match field.role {
        Role::Series if one_value => {
            mistake!(errors, ty => "field `{name}` holds one value, not a series",
                help: "use `[Option<T>; N]` or `Vec<T>`, or remove `series`");
        }
        Role::Series if kind::vec(ty).and_then(kind::option).is_some() => {
            mistake!(errors, ty => "field `{name}` is a `Vec` of `Option`s, so empty slots at its end would be lost",
                help: "use `[Option<T>; N]`, or a `Vec<T>` without empty slots");
        }
        Role::Property | Role::Chunked | Role::Flatten
            if kind::option(field.value_type()).is_some() =>
        {
            let help = match field.role {
                Role::Flatten => "use one `Option`",
                _ => "use one `Option`, or add `json`, which has a text for each",
            };
            mistake!(errors, ty => "field `{name}` is an `Option` of an `Option`, so `Some(None)` would be read back as `None`", help = help);
        }
        Role::Series if kind::slots(ty).is_some_and(|(slot, _)| kind::option(slot).is_some()) => {
            mistake!(errors, ty => "a slot of field `{name}` is an `Option` of an `Option`, so `Some(None)` would be read back as `None`",
                help: "use one `Option` for each slot");
        }
        Role::Flatten if kind::option(ty).is_some() && kind::is_map(ty) => {
            mistake!(errors, ty => "field `{name}` is an `Option` of a map, so `None` would be read back as an empty map",
                help: "use the map itself");
        }
        Role::Flatten if one_value => {
            mistake!(errors, ty => "field `{name}` holds one value, not a group of properties",
                help: "flatten a struct with `#[derive(Properties)]`, or remove `flatten`");
        }
        Role::ETag if value != Kind::Other => {
            mistake!(errors, ty => "field `{name}` cannot hold the entity's ETag",
                help: "use `Option<ETag>`");
        }
        // The type checker decides about other names.
        Role::Timestamp
            if !matches!(
                (kind::option(ty), value),
                (_, Kind::Other) | (Some(_), Kind::Instant)
            ) =>
        {
            mistake!(errors, ty => "field `{name}` cannot hold the row's timestamp",
                help: "use `Option<DateTime>`, or an `Option` of another instant");
        }
        Role::Property if kind::is(field.value_type(), "Edm") => {
            mistake!(errors, ty => "field `{name}` is an `Edm`, but a field's property is read without its type",
                help: "give the field one Rust type, or read the property from `#[table(flatten)] rest: BTreeMap<String, Edm>`, which holds those of no other field");
        }
        _ => {}
    }
}

/// A limit that the field's type cannot enforce would limit nothing, and no type is both text and a number.
fn limits(field: &Field<'_>, errors: &Errors) {
    let (Field { name, max_len, max, role, .. }, value) = (field, kind(field.value_type()));
    let can_be = |fits: bool| *role == Role::Property && (fits || !value.is_sure());
    if let Some((_, literal)) = max_len
        && !can_be(value == Kind::Text)
    {
        let is = if field.is_numbered() { "is in several properties" } else { "is not text" };
        mistake!(errors, literal => "`max_len` limits the UTF-16 units of text, but `{name}` {is}",
            help: "remove it; `max = N` limits a number");
    }
    if let Some((_, literal)) = max
        && !can_be(matches!(value, Kind::Unsigned(_) | Kind::Signed(_)))
    {
        mistake!(errors, literal => "`max` limits an integer, but `{name}` is not an integer",
            help: "remove it; `max_len = N` limits text");
    }
    if let (Some(_), Some((_, literal))) = (max_len, max) {
        mistake!(errors, literal => "field `{name}` has both `max` and `max_len`",
            help: "keep `max` for a number, or `max_len` for text");
    }
}

/// Keys and versions belong to a row, not to a group of properties. Only an entity knows the former names of its
/// properties.
fn of_an_entity(Field { ident, name, role, key_only, aliases, .. }: &Field<'_>, errors: &Errors) {
    if key_only.is_some() || matches!(role, Role::ETag | Role::Timestamp) {
        mistake!(errors, ident => "field `{name}` belongs to a row, not to a group of properties",
            help: "move it to the entity");
    }
    if let Some(alias) = aliases.first() {
        mistake!(errors, alias => "field `{name}` belongs to a group of properties, which have no `alias`",
            help: "move it to the entity, or keep its stored name: `#[table(rename = \"..\")]`");
    }
}

/// Who writes the properties of that name, if not the app: the service, or table-orm to say whose a row is.
fn other_writer(property: &str) -> Option<&'static str> {
    match property {
        name if SYSTEM_PROPERTIES.contains(&name) => Some("the service writes itself"),
        name if RESERVED_PROPERTIES.contains(&name) => Some("table-orm marks rows with"),
        _ => None,
    }
}

/// The service stores no property of another name, and some are not the app's.
fn property_name(Field { property, property_at, .. }: &Field<'_>, errors: &Errors) {
    if !is_name(property) || property.encode_utf16().count() > 255 {
        mistake!(errors, property_at => "`{property}` is not a valid property name",
            help: "use at most 255 letters, digits and `_`, and do not start with a digit");
    }
    if let Some(writer) = other_writer(property) {
        mistake!(errors, property_at => "`{property}` is a property that {writer}",
            help: "store the field under another name: `#[table(rename = \"..\")]`");
    }
}

/// The names of a field's properties. A series is numbered as the runtime does; a `Vec` takes three
/// digits.
fn stored_names(field: &Field<'_>) -> Vec<String> {
    let property = &field.property;
    let numbered = |slots: usize| match slots {
        0..=100 => (0..slots).map(|at| format!("{property}{at:02}")).collect(),
        _ => (0..slots.min(1000)).map(|at| format!("{property}{at:03}")).collect(),
    };
    match (field.role, kind::array(field.ty)) {
        (Role::Series, slots) => numbered(slots.unwrap_or(MAX_PROPERTIES)),
        (Role::Chunked | Role::ChunkedJson, _) => {
            [numbered(MAX_CHUNKS), vec![property.clone()]].concat()
        }
        _ => vec![property.clone()],
    }
}

/// The second of two properties of one name would replace the first.
fn distinct_properties<'f>(
    field: &'f Field<'_>,
    taken: &mut BTreeMap<String, &'f str>,
    errors: &Errors,
) {
    let Field { name, property_at, .. } = field;
    for property in stored_names(field) {
        if let Some(other) = taken.get(&property) {
            mistake!(errors, property_at => "fields `{other}` and `{name}` are both stored as `{property}`",
                help: "rename one of them: `#[table(rename = \"..\")]`");
            return;
        }
        taken.insert(property, name);
    }
}

/// Each name in a stored row is that of one field, and no row has a field in the properties that are not the app's.
fn distinct_aliases<'f>(
    Field { name, aliases, .. }: &'f Field<'_>,
    taken: &mut BTreeMap<String, &'f str>,
    errors: &Errors,
) {
    for alias in aliases {
        let former = alias.value();
        if other_writer(&former).is_some() || !is_name(&former) {
            mistake!(errors, alias => "no row stores field `{name}` as `{former}`",
                help: "write the name of the property in the stored rows");
        }
        if let Some(other) = taken.get(&former) {
            mistake!(errors, alias => "alias `{former}` of field `{name}` is already a name of field `{other}`",
                help: "remove it: each name in a stored row is that of one field");
        } else {
            taken.insert(former, name);
        }
    }
}

/// The service stores no row with more properties. A `Vec` may have no slots, and a chunked value few
/// chunks, so they count as 0.
fn property_count(fields: &[Field<'_>], others: usize, errors: &Errors) {
    let of_field = |field: &Field<'_>| match field.role {
        Role::Series => kind::array(field.ty).unwrap_or(0),
        _ => usize::from(field.is_column()),
    };
    let count = fields.iter().map(of_field).fold(others, usize::saturating_add);
    let series = fields.iter().find(|field| of_field(field) > MAX_SLOTS);
    let help = match series {
        Some(_) => {
            "split the series into rows: use a shorter array, and put the part's number into the \
             row's key, such as `row = \"{part:02}\"`"
        }
        None => "store several fields as one with `#[table(json)]`, or move some to another entity",
    };
    if let Some(field) = series.or(fields.last()).filter(|_| count > MAX_PROPERTIES) {
        mistake!(errors, field.ident => "the row has {count} properties, but can have at most {MAX_PROPERTIES}", help = help);
    }
}
