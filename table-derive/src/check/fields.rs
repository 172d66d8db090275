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
        max_len_of_text(field, errors);
        max_of_integer(field, errors);
        one_limit(field, errors);
    }
    let mut taken = BTreeMap::new();
    for field in fields.iter().filter(|field| field.is_stored()) {
        property_name(field, errors);
        system_property(field, errors);
        distinct_properties(field, &mut taken, errors);
    }
    for field in fields {
        alias_name(field, errors);
        distinct_aliases(field, &mut taken, errors);
    }
    property_count(fields, others, errors);
}

/// The rules for the fields of a group of properties.
pub fn properties(group: &[Field<'_>], errors: &Errors) {
    fields(group, 0, errors);
    for field in group {
        no_row_field(field, errors);
        no_alias(field, errors);
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
        Role::Timestamp if !holds_timestamp(ty) => {
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

/// Whether the type may be an `Option` of an instant. The type checker decides about other names.
fn holds_timestamp(ty: &Type) -> bool {
    match kind::option(ty) {
        Some(ty) => matches!(kind(ty), Kind::Instant | Kind::Other),
        None => kind(ty) == Kind::Other,
    }
}

/// A limit that the field's type cannot enforce would have no effect.
fn max_len_of_text(field: &Field<'_>, errors: &Errors) {
    let Some((_, literal)) = &field.max_len else { return };
    let (name, value) = (&field.name, kind(field.value_type()));
    if field.role != Role::Property || value.is_sure() && value != Kind::Text {
        let is = if field.is_numbered() { "is in several properties" } else { "is not text" };
        mistake!(errors, literal => "`max_len` limits the UTF-16 units of text, but `{name}` {is}",
            help: "remove it; `max = N` limits a number");
    }
}

/// A limit that the field's type cannot enforce would limit nothing.
fn max_of_integer(field: &Field<'_>, errors: &Errors) {
    let Some((_, literal)) = &field.max else { return };
    let (name, value) = (&field.name, kind(field.value_type()));
    let integer = matches!(value, Kind::Unsigned(_) | Kind::Signed(_));
    if field.role != Role::Property || value.is_sure() && !integer {
        mistake!(errors, literal => "`max` limits an integer, but `{name}` is not an integer",
            help: "remove it; `max_len = N` limits text");
    }
}

/// No type is both text and a number.
fn one_limit(field: &Field<'_>, errors: &Errors) {
    let name = &field.name;
    if let (Some(_), Some((_, literal))) = (&field.max_len, &field.max) {
        mistake!(errors, literal => "field `{name}` has both `max` and `max_len`",
            help: "keep `max` for a number, or `max_len` for text");
    }
}

/// Keys and versions belong to a row, not to a group of properties.
fn no_row_field(Field { ident, name, role, key_only, .. }: &Field<'_>, errors: &Errors) {
    if key_only.is_some() || matches!(role, Role::ETag | Role::Timestamp) {
        mistake!(errors, ident => "field `{name}` belongs to a row, not to a group of properties",
            help: "move it to the entity");
    }
}

/// Only an entity knows the former names of its properties.
fn no_alias(Field { name, aliases, .. }: &Field<'_>, errors: &Errors) {
    if let Some(alias) = aliases.first() {
        mistake!(errors, alias => "field `{name}` belongs to a group of properties, which have no `alias`",
            help: "move it to the entity, or keep its stored name: `#[table(rename = \"..\")]`");
    }
}

/// The service stores no property of another name.
fn property_name(Field { property, property_at, role, .. }: &Field<'_>, errors: &Errors) {
    let valid = is_name(property) && property.encode_utf16().count() <= 255;
    if *role != Role::Flatten && !valid {
        mistake!(errors, property_at => "`{property}` is not a valid property name",
            help: "use at most 255 letters, digits and `_`, and do not start with a digit");
    }
}

/// The service writes some itself, and others say whose row it is.
fn system_property(Field { property, property_at, role, .. }: &Field<'_>, errors: &Errors) {
    let writer = match property.as_str() {
        _ if *role == Role::Flatten => return,
        name if SYSTEM_PROPERTIES.contains(&name) => "the service writes itself",
        name if RESERVED_PROPERTIES.contains(&name) => "table-orm marks rows with",
        _ => return,
    };
    mistake!(errors, property_at => "`{property}` is a property that {writer}",
        help: "store the field under another name: `#[table(rename = \"..\")]`");
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
        (Role::Flatten, _) => Vec::new(),
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

/// No row has a property of another name, or a field in the properties that are not the app's.
fn alias_name(Field { name, aliases, .. }: &Field<'_>, errors: &Errors) {
    for alias in aliases {
        let former = alias.value();
        let system = SYSTEM_PROPERTIES.contains(&&*former);
        if system || RESERVED_PROPERTIES.contains(&&*former) || !is_name(&former) {
            mistake!(errors, alias => "no row stores field `{name}` as `{former}`",
                help: "write the name of the property in the stored rows");
        }
    }
}

/// Each name in a stored row is that of one field.
fn distinct_aliases<'f>(
    field: &'f Field<'_>,
    taken: &mut BTreeMap<String, &'f str>,
    errors: &Errors,
) {
    let name = &field.name;
    for alias in &field.aliases {
        let former = alias.value();
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
    let is_vec = |field: &Field<'_>| {
        field.is_numbered() && (field.role != Role::Series || kind::array(field.ty).is_none())
    };
    let stored = fields.iter().filter(|field| field.is_stored() && !is_vec(field));
    let of_field = |field: &Field<'_>| match kind::array(field.ty) {
        Some(slots) if field.role == Role::Series => slots,
        _ => stored_names(field).len(),
    };
    let count = stored.map(of_field).fold(others, usize::saturating_add);
    let series = fields.iter().find(|field| {
        field.role == Role::Series && kind::array(field.ty).is_some_and(|slots| slots > MAX_SLOTS)
    });
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
