//! What a signature or an access policy of a table permits.

use std::fmt::{self, Write as _};
use std::ops::BitOr;

/// The operations that a signature or an access policy grants. `|` joins them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Permissions(u8);

impl Permissions {
    /// Allows queries.
    pub const READ: Self = Self(1);
    /// Allows inserts.
    pub const ADD: Self = Self(2);
    /// Allows updates and merges. Upserts need `ADD` too.
    pub const UPDATE: Self = Self(4);
    /// Allows deletes.
    pub const DELETE: Self = Self(8);

    /// Allows nothing.
    pub(crate) const NONE: Self = Self(0);

    const LETTERS: [(Self, char); 4] =
        [(Self::READ, 'r'), (Self::ADD, 'a'), (Self::UPDATE, 'u'), (Self::DELETE, 'd')];

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Reads letters in any order; `None` if one of them is unknown.
    pub(crate) fn from_letters(letters: &str) -> Option<Self> {
        letters.chars().try_fold(Self::NONE, |joined, letter| {
            let (permission, _) = Self::LETTERS.into_iter().find(|(_, known)| *known == letter)?;
            Some(joined | permission)
        })
    }
}

impl BitOr for Permissions {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Writes the letters of `sp`, in the order that the service requires.
impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let granted = Self::LETTERS.iter().filter(|(permission, _)| self.0 & permission.0 != 0);
        granted.map(|(_, letter)| letter).try_for_each(|letter| f.write_char(*letter))
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permissions({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_show_their_letters() {
        assert_eq!(format!("{:?}", Permissions::ADD | Permissions::READ), "Permissions(ra)");
    }

    #[test]
    fn letters_are_read_in_any_order() {
        let all = Permissions::READ | Permissions::ADD | Permissions::UPDATE | Permissions::DELETE;
        assert_eq!(Permissions::from_letters("duar"), Some(all));
        assert_eq!(Permissions::from_letters(""), Some(Permissions::NONE));
        assert_eq!(Permissions::from_letters("rw"), None);
    }
}
