//! Entities of several types in one partition, read into one enum.

use super::{GuardTemplate, RowTemplate, TableEntity};
use crate::entity::{Row, template_of};
use crate::model::Metadata;
use crate::property::PropertyError;

/// An enum with one entity type in each variant: `#[derive(TableUnion)]`.
///
/// The derive writes this implementation; apps use it through
/// [`Tables::union`](crate::Tables::union).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a union of entities",
    label = "not a union",
    note = "derive it on an enum with one entity type in each variant: `#[derive(TableUnion)]`"
)]
pub trait TableUnion: Sized {
    /// The name for error messages.
    const NAME: &'static str;
    /// The table that holds all of them.
    const TABLE: &'static str;
    /// The entity types, in the order of the variants.
    const MEMBERS: &'static [UnionMember];

    /// Reads the canonical row of the entity type at `member` into its variant.
    ///
    /// # Errors
    /// When a property is missing or is not a value of its field's type.
    fn read_member(member: usize, row: &[u8]) -> Result<Self, PropertyError>;
}

/// One of the entity types of union `U`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of a variant of `{U}`",
    label = "a partition of another entity",
    note = "start from a partition of one of its entity types: `Entity::partition(..)`"
)]
pub trait MemberOf<U> {}

/// An entity type of a union.
#[derive(Debug, Clone, Copy)]
pub struct UnionMember {
    /// The type's name.
    pub entity: &'static str,
    /// The table it is stored in.
    pub table: &'static str,
    /// Its rows.
    pub rows: &'static [RowTemplate],
    /// Its guard rows.
    pub guards: &'static [GuardTemplate],
    /// The canonical one among its rows.
    pub canonical: usize,
    /// The metadata that its properties need.
    pub metadata: Metadata,
    /// The index and name of the template of a RowKey.
    kind: fn(&str) -> Option<(usize, &'static str)>,
}

impl UnionMember {
    /// The entity type `E`.
    #[must_use]
    pub const fn of<E: TableEntity>() -> Self {
        let canonical = <E::Canonical as Row>::INDEX;
        let (entity, table, kind) = (E::NAME, E::TABLE, template_of::<E>);
        let (rows, guards, metadata) = (E::ROWS, E::GUARDS, E::METADATA);
        Self { entity, table, rows, guards, canonical, metadata, kind }
    }

    /// Whether both are stored in one table. The fallback for an entity with a compile error has no
    /// table, so that it causes no second error.
    #[must_use]
    pub const fn shares_table(&self, other: &Self) -> bool {
        self.table.is_empty()
            || other.table.is_empty()
            || self.table.eq_ignore_ascii_case(other.table)
    }

    /// Whether no query of one reads a row of the other.
    #[must_use]
    pub const fn differs(&self, other: &Self) -> bool {
        let mut left = 0;
        while left < self.rows.len() + self.guards.len() {
            let mut right = 0;
            while right < other.rows.len() + other.guards.len() {
                if self.template(left).overlaps(&other.template(right)) {
                    return false;
                }
                right += 1;
            }
            left += 1;
        }
        true
    }

    /// The template at an index: rows, then guards.
    const fn template(&self, index: usize) -> RowTemplate {
        if index < self.rows.len() {
            self.rows[index]
        } else {
            self.guards[index - self.rows.len()].row()
        }
    }

    /// Whether its canonical row has such a RowKey.
    #[must_use]
    pub fn has_canonical(&self, row_key: &str) -> bool {
        (self.kind)(row_key).is_some_and(|(index, _)| index == self.canonical)
    }
}
