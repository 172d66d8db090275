//! The two forms in which an entity is stored.

/// All rows of an entity under its old canonical key, or under its new one.
///
/// What a client [inserts](super::Migrating::inserting): clients of both forms may run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StoredForm {
    /// The old key. A client that inserts this form writes old entities in place, and moves none.
    Old,
    /// The new key. A client that inserts this form moves each old entity that it saves.
    #[default]
    New,
}
