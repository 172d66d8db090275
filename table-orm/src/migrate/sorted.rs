//! Whether the old keys of a new partition's entities sort like the new ones.

use super::migrates::Migrates;
use super::old_key::Template;
use super::placeholder::{Placeholder, same};
use crate::key::Shape;

/// Whether old and new RowKeys of one partition sort alike: the same components in the same order. A component before
/// which all have a fixed width may have another width.
pub(super) fn sorts_alike<E: Migrates>() -> bool {
    let (new, old) = (Template::row::<E>(), Template::row::<E::Old>());
    let mut is_fixed = true;
    new.parts.len() == old.parts.len()
        && (0..new.parts.len()).all(|index| {
            let (new, old) = (new.placeholder(index), old.placeholder(index));
            let is_padded = is_padded(&new) && is_padded(&old);
            let alike = old.is_told_by(&new)
                && same(new.part.separator, old.part.separator)
                && (same(new.text, old.text) || is_fixed && is_padded);
            is_fixed &= is_padded;
            alike
        })
}

/// Whether it is `field:0N`, whose texts have one width.
fn is_padded(placeholder: &Placeholder<'_>) -> bool {
    let Placeholder { text, part } = placeholder;
    let format = text.strip_prefix(part.name);
    matches!(part.shape, Shape::Digits(_)) && format.is_some_and(|format| format.starts_with(":0"))
}
