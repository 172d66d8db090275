//! The letters of a signature's permissions.

/// A set of permissions, as the letters `sp` of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Permissions(u16);

impl Permissions {
    const LETTERS: &str = "rwdlacu";

    /// No permission.
    pub(crate) const NONE: Self = Self(0);
    /// Query entities, read properties.
    pub(crate) const READ: Self = Self(1);
    /// Create tables, set properties.
    pub(crate) const WRITE: Self = Self(1 << 1);
    /// Delete entities or tables.
    pub(crate) const DELETE: Self = Self(1 << 2);
    /// List tables.
    pub(crate) const LIST: Self = Self(1 << 3);
    /// Insert entities.
    pub(crate) const ADD: Self = Self(1 << 4);
    /// Create tables.
    pub(crate) const CREATE: Self = Self(1 << 5);
    /// Update and merge entities.
    pub(crate) const UPDATE: Self = Self(1 << 6);

    /// Reads letters. Those of other services are ignored.
    pub(crate) fn read(letters: &str) -> Self {
        let bit = |letter| Self::LETTERS.find(letter).map_or(0, |at| 1 << at);
        Self(letters.chars().fold(0, |all, letter| all | bit(letter)))
    }

    /// Both sets together.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the set has all permissions of the other.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
