//! Whether the old keys of a new partition's entities sort like the new ones.

use super::determined_key::row_template;
use super::migrates::Migrates;
use crate::key::{KeyTemplate, Shape, TemplatePart, same};

/// Whether old and new RowKeys of one partition sort alike: the same components in the same order. A padded number may
/// have another width where all components before it have a fixed one.
pub(super) fn sorts_alike<E: Migrates>() -> bool {
    sort_alike(&row_template::<E>(), &row_template::<E::Old>())
}

/// The same for any two templates.
pub(super) fn sort_alike(new: &KeyTemplate<'_>, old: &KeyTemplate<'_>) -> bool {
    let mut is_fixed = true;
    new.parts.len() == old.parts.len()
        && new.parts.iter().zip(old.parts).all(|(new, old)| {
            let is_padded = is_padded(new) && is_padded(old);
            let alike = old.is_like(new)
                || is_fixed
                    && is_padded
                    && old.is_determined_by(new)
                    && same(new.separator, old.separator);
            is_fixed &= is_padded;
            alike
        })
}

/// Whether it is a number, written in one width.
fn is_padded(part: &TemplatePart) -> bool {
    part.is_value() && matches!(part.shape, Shape::Digits(_))
}
