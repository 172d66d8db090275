//! The old key of an entity, from its new key alone.
//!
//! Invariant: one new key has one old key, or none where no old key holds its values, or where the entity keeps its
//! key.

use super::migrates::Migrates;
use super::stays::keeps_key;
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

/// The component that tells the text of `part`.
const fn telling(template: &KeyTemplate<'_>, part: &TemplatePart) -> Option<usize> {
    let mut at = 0;
    while at < template.parts.len() {
        if part.is_told_by(&template.parts[at]) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Whether each component of `told` is told by one of the templates.
pub(super) const fn tell(templates: &[KeyTemplate<'_>], told: &KeyTemplate<'_>) -> bool {
    let mut at = 0;
    while at < told.parts.len() {
        let (mut is_told, mut by) = (false, 0);
        while by < templates.len() {
            is_told = is_told || telling(&templates[by], &told.parts[at]).is_some();
            by += 1;
        }
        if !is_told {
            return false;
        }
        at += 1;
    }
    true
}

/// A key, with the template that wrote it.
type Written<'k> = (KeyTemplate<'static>, &'k str);

/// The value that a component writes, from keys that tell it; `None` where one of them has not the form of its
/// template.
fn value<'k>(part: &TemplatePart, keys: &[Written<'k>], escape: Escape) -> Option<Cow<'k, str>> {
    let (template, key, at) =
        keys.iter().find_map(|(template, key)| Some((template, *key, telling(template, part)?)))?;
    template.parts[at].value(template.text(at, key)?, escape)
}

/// The key of a template with the values of other keys; `None` where one of them has not its form, or a value does
/// not fit.
fn write(template: &KeyTemplate<'_>, keys: &[Written<'_>], escape: Escape) -> Option<String> {
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

/// The old key of the entity with that new key; `None` where no old key holds its values, and where it keeps its
/// key: then it has one form only.
pub(super) fn old_key<E: Migrates>(new: &CanonicalKey) -> Option<CanonicalKey> {
    key_of::<E::Old, E>(new).filter(|old| !keeps_key::<E>(old, new))
}

/// The old partitions of the entities of a new one: none where no old partition holds its values, and several where
/// shards of another number spread them. `None` where they may be in any partition.
pub(super) fn old_partitions<E: Migrates>(new: &str) -> Option<Vec<String>> {
    let (old, keys) = (E::Old::PARTITION_KEY, [(E::PARTITION_KEY, new)]);
    let mut texts = vec![KeyText::new("", E::ESCAPE)];
    texts.iter_mut().for_each(|text| text.literal(old.start));
    for part in old.parts {
        let spread = match telling(&E::PARTITION_KEY, part) {
            Some(_) => {
                let Some(value) = value(part, &keys, E::ESCAPE) else { return Some(Vec::new()) };
                texts.retain_mut(|text| part.append(&value, text).is_ok());
                continue;
            }
            None => shards(&E::PARTITION_KEY, new, part)?,
        };
        let each = texts.iter().flat_map(|text| {
            spread.iter().map(|shard| {
                let mut text = text.clone();
                text.literal(shard);
                text.literal(part.separator);
                text
            })
        });
        texts = each.collect();
    }
    Some(texts.into_iter().filter_map(|text| text.finish().ok()).collect())
}

/// The texts of an old shard that entities of a new partition may have; `None` where it is no shard.
fn shards(template: &KeyTemplate<'_>, new: &str, old: &TemplatePart) -> Option<Vec<String>> {
    let count = old.shards()?;
    let text = |shard: u32| format!("{shard:0width$}", width = old.shape.fixed().unwrap_or(0));
    // A hash modulo a multiple says the hash modulo the number.
    let known = template.parts.iter().enumerate().find_map(|(at, part)| {
        let is_multiple = part.is_of_field_of(old) && part.shards()?.is_multiple_of(count);
        if is_multiple { template.text(at, new)?.parse::<u32>().ok() } else { None }
    });
    Some(match known {
        Some(shard) => vec![text(shard % count)],
        None => (0..count).map(text).collect(),
    })
}
