//! An entity type as maintenance sees it: what goes through stored rows is built once for all types.

use crate::codec::{Alias, RowContext};
use crate::entity::{
    EntityRows, EventualRow, EventualTemplate, GuardTemplate, InvalidEntity, LargeType, OwnRows,
    Ownership, RowTemplate, Sum, TableEntity, canonical, canonical_rows, eventual_rows_from,
    first_eventual, home_key, index_of, name_of, reaches_across, read_row, template_of,
};
use crate::error::Result;
use crate::eventual::{EventualType, UniqueValue, unique_values};
use crate::model::TableName;
use crate::property::Declared;
use crate::query::Span;

/// The rows that store an entity, or why the service would reject one of them.
pub(crate) type Writable = Result<EntityRows, InvalidEntity>;

/// An entity type as maintenance sees it.
#[derive(Debug)]
pub(crate) struct MaintainedType {
    /// Its name.
    pub name: &'static str,
    /// The templates of its rows, and the index of the canonical one.
    pub rows: &'static [RowTemplate],
    pub canonical: usize,
    pub guards: &'static [GuardTemplate],
    /// The templates of rows in other partitions and tables, and the index of the first.
    pub eventual: &'static [EventualTemplate],
    pub first_eventual: usize,
    /// Its canonical rows.
    pub own: OwnRows,
    /// Their keys, in any partition.
    pub canonical_rows: fn() -> Span,
    pub keys_follow_canonical: bool,
    /// The former names of its properties.
    pub aliases: &'static [Alias],
    pub properties: &'static [Declared],
    /// For types with large values.
    pub large: Option<LargeType>,
    /// What settling needs to know.
    pub settled: EventualType,
    /// Whether entities have rows or values outside their partition.
    pub reaches_across: fn() -> bool,
    /// The names of the sums over all partitions.
    pub copied_sums: fn() -> Vec<&'static str>,
    /// The name of the template at an index.
    pub name_of: fn(usize) -> &'static str,
    /// The index of the template that takes a RowKey.
    pub index_of: fn(&str) -> Option<usize>,
    /// The index of the template that a row was written from, and whose row it is.
    pub template_of: fn(&RowContext<'_>) -> Option<(usize, Ownership)>,
    /// The keys of the canonical row, from those of a row in another partition.
    pub home_key: fn(usize, &str, &str) -> Option<(String, String)>,
    /// The rows of the entity that is read from a row of that template.
    pub entity_rows: fn(usize, &[u8]) -> Result<Writable>,
    /// The rows in other partitions of the entity of a canonical row in that table.
    pub eventual_rows: fn(&TableName, &[u8]) -> Result<Vec<EventualRow>>,
    /// The values of the entity of a canonical row that are unique over all partitions; none where it cannot be read.
    pub unique_values: fn(&[u8]) -> Vec<UniqueValue>,
}

impl MaintainedType {
    /// What maintenance needs to know of `E`.
    pub const fn of<E: TableEntity>() -> &'static Self {
        const {
            &Self {
                name: E::NAME,
                rows: E::ROWS,
                canonical: canonical::<E>(),
                guards: E::GUARDS,
                eventual: E::EVENTUAL,
                first_eventual: first_eventual::<E>(),
                own: OwnRows::canonical::<E>(),
                canonical_rows: canonical_rows::<E>,
                keys_follow_canonical: E::KEYS_FOLLOW_CANONICAL,
                aliases: E::ALIASES,
                properties: E::PROPERTIES,
                large: LargeType::of::<E>(),
                settled: EventualType::of::<E>(),
                reaches_across: reaches_across::<E>,
                copied_sums: copied_sums::<E>,
                name_of: name_of::<E>,
                index_of: index_of::<E>,
                template_of: template_of::<E>,
                home_key: home_key::<E>,
                entity_rows: |index, body| Ok(EntityRows::of(&read_row::<E>(index, body)?)),
                eventual_rows: |home, body| {
                    Ok(eventual_rows_from(home, &read_row::<E>(canonical::<E>(), body)?)?)
                },
                unique_values: |body| {
                    let entity = read_row::<E>(canonical::<E>(), body).ok();
                    entity.and_then(|entity| unique_values(&entity).ok()).unwrap_or_default()
                },
            }
        }
    }

    /// The template at an index, of a row in another partition or table.
    pub fn eventual_at(&self, index: usize) -> Option<&'static EventualTemplate> {
        self.eventual.get(index.checked_sub(self.first_eventual)?)
    }

    /// Whether a template is that of a guard of values that are unique over all partitions.
    pub fn is_guard_across(&self, index: usize) -> bool {
        let at = index.checked_sub(self.rows.len());
        at.and_then(|at| self.guards.get(at)).is_some_and(|guard| guard.across)
    }
}

fn copied_sums<E: TableEntity>() -> Vec<&'static str> {
    let sums = E::sums();
    sums.iter().filter(|sum| sum.is_over_partitions()).map(Sum::name).collect()
}
