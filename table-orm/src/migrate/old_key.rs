//! The old key of an entity, from its new key alone.
//!
//! Invariant: one new key has one old key, or none where no old key holds its values, or where the entity keeps its
//! key.

use super::determined_key::{determining, key_of, value};
use super::migrates::Migrates;
use super::stays::keeps_key;
use crate::entity::TableEntity as _;
use crate::key::{Escape, KeyTemplate, KeyText, TemplatePart};
use crate::plan::CanonicalKey;

/// The old key of the entity with that new key; `None` where no old key holds its values, and where it keeps its
/// key: then it has one form only.
pub(super) fn old_key<E: Migrates>(new: &CanonicalKey) -> Option<CanonicalKey> {
    key_of::<E::Old, E>(new).filter(|old| !keeps_key::<E>(old, new))
}

/// The old partitions of the entities of a new one: none where no old partition holds its values, and several where
/// shards of another number spread them. `None` where they may be in any partition.
pub(super) fn old_partitions<E: Migrates>(new: &str) -> Option<Vec<String>> {
    partitions_of((&E::PARTITION_KEY, &E::Old::PARTITION_KEY), E::ESCAPE, new)
}

/// The same for the templates of any PartitionKeys, new and old.
pub(super) fn partitions_of(
    (template, old): (&KeyTemplate<'static>, &KeyTemplate<'static>),
    escape: Escape,
    new: &str,
) -> Option<Vec<String>> {
    let keys = [(*template, new)];
    let mut texts = vec![KeyText::new("", escape)];
    texts.iter_mut().for_each(|text| text.literal(old.start));
    for part in old.parts {
        let spread = match determining(template, part) {
            Some(_) => {
                let Some(value) = value(part, &keys, escape) else { return Some(Vec::new()) };
                texts.retain_mut(|text| part.append(&value, text).is_ok());
                continue;
            }
            None => shards(template, new, part)?,
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
        let is_multiple = part.hashes_like(old) && part.shards()?.is_multiple_of(count);
        if is_multiple { template.text(at, new)?.parse::<u32>().ok() } else { None }
    });
    Some(match known {
        Some(shard) => vec![text(shard % count)],
        None => (0..count).map(text).collect(),
    })
}
