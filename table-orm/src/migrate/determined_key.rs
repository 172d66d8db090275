//! Keys that are written from the texts of other keys, by the templates of both.
//!
//! Invariant: a key is written only where each of its components is determined.

use crate::entity::{OwnRows, RowTemplate, TableEntity, canonical, template_at};
use crate::key::{Escape, KeyTemplate, KeyText, TemplatePart};
use crate::plan::CanonicalKey;
use std::borrow::Cow;

/// The template of the canonical RowKey.
pub(super) const fn row_template<E: TableEntity>() -> KeyTemplate<'static> {
    match template_at::<E>(canonical::<E>()) {
        Some(RowTemplate { start, parts, .. }) => KeyTemplate { start, parts },
        // The fallback of an entity with a compile error has no rows.
        None => KeyTemplate { start: "", parts: &[] },
    }
}

/// The component that determines the text of `part`.
pub(super) const fn determining(template: &KeyTemplate<'_>, part: &TemplatePart) -> Option<usize> {
    let mut at = 0;
    while at < template.parts.len() {
        if part.is_determined_by(&template.parts[at]) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Whether each component of `determined` is determined by one of the templates.
pub(super) const fn determine(templates: &[KeyTemplate<'_>], determined: &KeyTemplate<'_>) -> bool {
    let mut at = 0;
    while at < determined.parts.len() {
        let (mut is_determined, mut by) = (false, 0);
        while by < templates.len() {
            is_determined =
                is_determined || determining(&templates[by], &determined.parts[at]).is_some();
            by += 1;
        }
        if !is_determined {
            return false;
        }
        at += 1;
    }
    true
}

/// A key, with the template that wrote it.
type Written<'k> = (KeyTemplate<'static>, &'k str);

/// The value that a component writes, from keys that determine it; `None` where one of them has not the form of its
/// template.
pub(super) fn value<'k>(
    part: &TemplatePart,
    keys: &[Written<'k>],
    escape: Escape,
) -> Option<Cow<'k, str>> {
    let (template, key, at) = keys
        .iter()
        .find_map(|(template, key)| Some((template, *key, determining(template, part)?)))?;
    template.parts[at].value(template.text(at, key)?, escape)
}

/// The key of a template with the values of other keys; `None` where one of them has not its form, or a value does
/// not fit.
pub(super) fn write(
    template: &KeyTemplate<'_>,
    keys: &[Written<'_>],
    escape: Escape,
) -> Option<String> {
    let mut text = KeyText::new("", escape);
    text.literal(template.start);
    for part in template.parts {
        part.append(&value(part, keys, escape)?, &mut text).ok()?;
    }
    text.finish().ok()
}

/// The canonical key that type `T` writes for the values of a new key of `E`.
pub(super) fn key_of<T: TableEntity, E: TableEntity>(new: &CanonicalKey) -> Option<CanonicalKey> {
    let keys = [
        (E::PARTITION_KEY, new.partition_key.as_str()),
        (row_template::<E>(), new.row_key.as_str()),
    ];
    let row_key = write(&row_template::<T>(), &keys, E::ESCAPE)?;
    let partition_key = write(&T::PARTITION_KEY, &keys, E::ESCAPE)?;
    OwnRows::canonical::<T>().takes_key(&row_key).then_some(CanonicalKey { partition_key, row_key })
}
