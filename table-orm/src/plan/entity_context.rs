//! The entity type that rows are written for.

use crate::entity::{
    EventualTemplate, Excess, GuardTemplate, RowTemplate, TableEntity, TooManyElements, canonical,
    has_element_rows, index_of, too_many_elements,
};
use crate::error::Error;
use crate::store::Batch;

/// The entity type that rows are written for. An error names it and its rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntityContext {
    /// Its name.
    pub entity: &'static str,
    templates: &'static Templates,
    /// The error of a transaction that is too large, where it writes a row for each element of a field.
    pub elements: Option<fn(&Batch, Excess) -> Option<TooManyElements>>,
}

/// The key templates of an entity type.
#[derive(Debug)]
struct Templates {
    /// Of its rows, and which of them is canonical.
    rows: &'static [RowTemplate],
    canonical: usize,
    /// Of the guard rows, which identify an insert that failed on a unique value of another entity.
    guards: &'static [GuardTemplate],
    /// Of its rows in other partitions and tables.
    eventual: &'static [EventualTemplate],
}

impl EntityContext {
    /// Entities of type `E`.
    pub const fn of<E: TableEntity>() -> Self {
        let mut elements: Option<fn(&Batch, Excess) -> Option<TooManyElements>> = None;
        if const { has_element_rows::<E>() } {
            elements = Some(too_many::<E>);
        }
        let templates = const {
            &Templates {
                rows: E::ROWS,
                canonical: canonical::<E>(),
                guards: E::GUARDS,
                eventual: E::EVENTUAL,
            }
        };
        Self { entity: E::NAME, templates, elements }
    }

    /// A type whose rows are not known.
    pub const fn untyped(entity: &'static str) -> Self {
        let templates = &Templates { rows: &[], canonical: 0, guards: &[], eventual: &[] };
        Self { entity, templates, elements: None }
    }

    /// The same type, for rows that a transaction may not name as elements.
    pub const fn without_elements(self) -> Self {
        Self { elements: None, ..self }
    }

    /// Adds the entity and its row to the error of an operation.
    pub fn attribute(self, error: Error) -> Error {
        error
            .of_entity(self.entity, |row_key| self.index_row(row_key))
            .guarded_by(self.templates.guards)
    }

    /// The name of the index row that a RowKey belongs to.
    fn index_row(&self, row_key: &str) -> Option<&'static str> {
        let mut rows = self.templates.rows.iter().enumerate();
        let (index, template) = rows.find(|(_, row)| row_key.starts_with(row.start))?;
        (index != self.templates.canonical).then_some(template.name)
    }

    /// Whether its rows or guards name that table.
    pub fn is_other_table(&self, table: &str) -> bool {
        let rows = self.templates.eventual.iter().filter_map(|row| row.table);
        let mut tables = rows.chain(self.templates.guards.iter().filter_map(|guard| guard.table));
        // The names of tables have no case.
        tables.any(|name| name.eq_ignore_ascii_case(table))
    }
}

fn too_many<E: TableEntity>(batch: &Batch, excess: Excess) -> Option<TooManyElements> {
    let keys = batch.operations.iter().map(|operation| operation.row_key.as_str());
    too_many_elements::<E>(keys.filter_map(index_of::<E>), excess)
}
