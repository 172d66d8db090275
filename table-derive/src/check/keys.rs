//! Rules over key templates and their components.

use crate::ast::{Encoder, Entity, Field, Role};
use crate::errors::{Errors, mistake};
use crate::kind::Kind;
use crate::model::{Key, Model, Part, Width, digits_of};
use crate::tokens::*;

/// The most UTF-16 units of a key: 1 KiB (service documentation).
const MAX_KEY_UNITS: usize = 512;

/// A placeholder means one thing.
pub fn component_names(entity: &Entity<'_>, errors: &Errors) {
    for component in &entity.components {
        let name = component.name.unraw().to_string();
        if entity.field(&name).is_some() {
            mistake!(errors, component.name => "component `{name}` has the name of a field",
                help: "rename the component, and use the new name in templates");
        }
    }
}

/// A component encodes a field of the entity.
pub fn component_fields(entity: &Entity<'_>, errors: &Errors) {
    for field in entity.components.iter().filter_map(|component| component.field()) {
        if entity.each(&field.unraw().to_string()).is_none() {
            entity.known_field(field, errors);
        }
    }
}

/// A template without its braces is one key for all entities.
pub fn braces(model: &Model<'_>, key: &Key<'_>, errors: &Errors) {
    let name = &key.template.text;
    if model.lacks_braces(key) {
        mistake!(errors, key.template.literal => "`{name}` is text here, so the keys of all entities have it in place of a value",
            help: "write `{{{name}}}`, or rename the field if the text is meant");
    }
}

/// The service rejects a key with such a character.
pub fn literals(key: &Key<'_>, errors: &Errors) {
    let forbidden = |c: &char| matches!(c, '/' | '\\' | '#' | '?') || c.is_control();
    if let Some(c) = key.template.literals().flat_map(str::chars).find(forbidden) {
        mistake!(errors, key.template.literal => "the service forbids {c:?} in keys",
            help: "use another separator, such as `__` or `:`");
    }
}

/// An escape is `~` and two of these digits. A search for the separator must not find one of them.
pub fn escaped_separators(key: &Key<'_>, encode: bool, errors: &Errors) {
    // The `~` of an escape never follows another one.
    let clashes = |separator: &str| {
        separator.starts_with(|c| matches!(c, '~' | '0'..='9' | 'A'..='F'))
            && !separator.starts_with("~~")
    };
    let mut varying =
        key.parts.iter().filter(|part| !matches!(part.width(encode), Width::Fixed(_)));
    if encode && varying.any(|part| clashes(part.separator)) {
        mistake!(errors, key.template.literal => "with `escape = encode`, escaped text can contain a separator that starts with `~`, `0` to `9` or `A` to `F`",
            help: "use another separator, such as `__` or `:`");
    }
}

/// A key is read back by its separators. Two values never write the same key.
pub fn separators(key: &Key<'_>, errors: &Errors) {
    for pair in key.parts.windows(2) {
        let [left, right] = pair else { continue };
        if left.separator.is_empty()
            && matches!(left.width(false), Width::UpTo(_) | Width::Unbounded)
        {
            let (left, right) = (&left.name, &right.name);
            mistake!(errors, key.template.literal => "a stored key does not show where `{left}` ends and `{right}` begins",
                help: "write a literal between them, such as `__`, or give `{left}` a fixed width");
        }
    }
}

/// The service rejects a longer key. Escaped text counts three units for each character; rare control
/// characters take more, so this is no bound.
pub fn length(key: &Key<'_>, encode: bool, errors: &Errors) {
    let texts = key.parts.iter().filter(|part| encode && part.kind() == Kind::Text);
    let escaped = texts
        .filter_map(Part::max_len)
        .fold(0, |units: usize, max_len| units.saturating_add(max_len.saturating_mul(3)));
    let units = key.known_units(encode).saturating_add(escaped);
    if units > MAX_KEY_UNITS {
        mistake!(errors, key.template.literal => "keys of this template can have {units} UTF-16 units, but the service allows {MAX_KEY_UNITS}",
            help: "lower a `max_len`, or shorten the literals");
    }
}

/// An entity is in exactly one partition.
pub fn partition_values(model: &Model<'_>, errors: &Errors) {
    for field in model.partition.parts.iter().filter_map(Part::sparse) {
        let name = &field.name;
        mistake!(errors, field.ty => "field `{name}` may be `None`, but every entity needs a PartitionKey",
            help: "make it a plain value, or remove it from `partition`");
    }
}

/// A width holds every value that the field accepts.
pub fn widths(key: &Key<'_>, errors: &Errors) {
    for part in &key.parts {
        let max = part.field().and_then(|field| Some((&field.name, field.max.as_ref()?.0)));
        let (Encoder::Padded(digits) | Encoder::DescendingPadded(digits), Some((field, max))) =
            (part.encoder, max)
        else {
            continue;
        };
        let (needed, name) = (digits_of(max), &part.name);
        if needed > digits {
            mistake!(errors, key.template.literal => "{digits} digits cannot hold `{field}`, whose `max` is {max}",
                help: "write `{{{name}:0{needed}}}`");
        }
    }
}

/// Every component of a key is one stored value that its encoder writes. Each field and encoder is
/// reported once.
pub fn components(model: &Model<'_>, errors: &Errors) {
    let mut seen = Vec::new();
    for part in model.parts() {
        let Some((field, ty)) = part.origin() else { continue };
        if !seen.contains(&(field.name.as_str(), part.encoder)) {
            seen.push((&field.name, part.encoder));
            one_value(part, field, errors);
            encoded(part, (&field.name, ty), errors);
        }
    }
}

/// A component is one value, and stored: the entity is found again by the keys of what was read.
fn one_value(part: &Part<'_>, Field { ident, name, role, .. }: &Field<'_>, errors: &Errors) {
    let (wrong, help) = match role {
        Role::Skip | Role::ETag | Role::Timestamp => (
            "is part of a key, but its value is not stored",
            "remove it from the templates, or store it",
        ),
        Role::Property | Role::Json => return,
        // Each element is one value.
        _ if part.field().is_none() => return,
        _ => (
            "is stored as several properties, so it cannot be part of a key",
            "use a field of one value",
        ),
    };
    mistake!(errors, ident => "field `{name}` {wrong}", help = help);
}

/// The encoder writes values of this type, so that they sort where the encoder promises it.
fn encoded(part: &Part<'_>, (name, ty): (&str, &Type), errors: &Errors) {
    let own = &part.name;
    let plain = |name: &str| format!("write `{{{name}}}`");
    let (wrong, help) = match (part.encoder, part.kind()) {
        (_, Kind::Float) => (
            "is a float, whose text is not exact and does not sort",
            "use an integer, such as a number of hundredths".to_owned(),
        ),
        (_, Kind::Bytes) => {
            ("is bytes, which keys cannot hold", "use text, such as a hash in hex".to_owned())
        }
        (Encoder::Plain | Encoder::Padded(_), Kind::Signed(_)) => (
            "is signed, so its digits do not sort",
            format!("declare `#[component(x = biased({name}))]` and write `{{x}}`"),
        ),
        (Encoder::DescendingPadded(_), Kind::Signed(_)) => {
            ("is signed, so it is always written in full width", plain(own))
        }
        (
            Encoder::Padded(_) | Encoder::DescendingPadded(_),
            Kind::Text | Kind::Bool | Kind::Char,
        ) => ("is not an unsigned integer, so it has no width", plain(own)),
        (Encoder::Ascending | Encoder::Descending, Kind::Text | Kind::Bool | Kind::Char) => {
            ("has a type that `asc` and `desc` cannot encode", plain(name))
        }
        (Encoder::Biased, Kind::Signed(_)) | (Encoder::Lower, Kind::Text) => return,
        (Encoder::Biased, kind) if kind.is_sure() => ("is not a signed integer", plain(name)),
        (Encoder::Lower, kind) if kind.is_sure() => ("is not text", plain(name)),
        (Encoder::Spread, kind) if kind.is_sure() => ("is not an instant", plain(name)),
        _ => return,
    };
    mistake!(errors, ty => "key component `{name}` {wrong}", help = help);
}

/// A row is found again by the keys of the entity that was read, so reading changes no component.
pub fn defaults(model: &Model<'_>, errors: &Errors) {
    for Field { name, default, .. } in &model.entity.fields {
        let Some(Some(path)) = default else { continue };
        let sparse = |part: &Part<'_>| part.sparse().is_some_and(|own| own.name == *name);
        if model.parts().any(sparse) {
            mistake!(errors, path => "`{name}` is part of a key, and its `default` would read `None` back as a value that no row is stored under",
                help: "remove `default`, or make `{name}` a plain value");
        }
    }
}

/// A `key_only` field can be read back from every row.
pub fn key_only(model: &Model<'_>, errors: &Errors) {
    if model.keys().any(|key| key.template.broken) {
        return;
    }
    for field in &model.entity.fields {
        let Some(at) = field.key_only else { continue };
        if let Some(lacking) = model.rows.iter().find(|row| !model.recovers(row, field)) {
            let (row, name) = (&lacking.row.name, &field.name);
            mistake!(errors, Ident::new("key_only", at) => "field `{name}` cannot be read back from the keys of row `{row}`",
                help: "write it in every row's template or in `partition`, or remove `key_only`");
        }
    }
}

/// A component without a use is a mistake in a template.
pub fn unused(model: &Model<'_>, errors: &Errors) {
    for component in &model.entity.components {
        let name = component.name.unraw().to_string();
        if !model.keys().any(|key| key.template.slots.iter().any(|slot| slot.name == name)) {
            mistake!(errors, component.name => "no template uses component `{name}`",
                help: "write `{{{name}}}` in a template, or remove the component");
        }
    }
}

/// A component has one method, which takes its value once.
pub fn repeated(model: &Model<'_>, errors: &Errors) {
    for key in model.keys() {
        for (at, Part { name, .. }) in key.parts.iter().enumerate() {
            if key.parts[..at].iter().any(|other| other.name == *name) {
                mistake!(errors, key.template.literal => "`{name}` is used twice in one key", help: "remove one of them");
            }
        }
    }
}
