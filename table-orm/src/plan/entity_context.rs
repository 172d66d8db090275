//! The entity type that rows are written for.

use crate::entity::{
    Excess, GuardTemplate, TableEntity, TooManyElements, canonical, index_of, too_many_elements,
};
use crate::error::Error;
use crate::store::Batch;

/// The entity type that rows are written for. An error names it and its rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntityContext {
    /// Its name.
    pub entity: &'static str,
    /// The guard rows, which identify an insert that failed on a unique value of another entity.
    guards: &'static [GuardTemplate],
    /// The name of the index row that a RowKey belongs to.
    index_row: fn(&str) -> Option<&'static str>,
    /// Whether its rows or guards name that table.
    pub is_other_table: fn(&str) -> bool,
    /// The error of a transaction that is too large, where it writes a row for each element of a field.
    pub elements: Option<fn(&Batch, Excess) -> Option<TooManyElements>>,
}

impl EntityContext {
    /// Entities of type `E`.
    pub const fn of<E: TableEntity>() -> Self {
        let mut elements: Option<fn(&Batch, Excess) -> Option<TooManyElements>> = None;
        let mut index = 0;
        while index < E::ROWS.len() {
            if E::ROWS[index].each.is_some() {
                elements = Some(too_many::<E>);
            }
            index += 1;
        }
        let (index_row, is_other_table) = (index_row::<E>, is_other_table::<E>);
        Self { entity: E::NAME, guards: E::GUARDS, index_row, is_other_table, elements }
    }

    /// A type whose rows are not known.
    pub const fn untyped(entity: &'static str) -> Self {
        let (index_row, is_other_table) = (|_: &_| None, |_: &_| false);
        Self { entity, guards: &[], index_row, is_other_table, elements: None }
    }

    /// The same type, for rows that a transaction may not name as elements.
    pub const fn without_elements(self) -> Self {
        Self { elements: None, ..self }
    }

    /// Adds the entity and its row to the error of an operation.
    pub fn attribute(self, error: Error) -> Error {
        error.of_entity(self.entity, self.index_row).guarded_by(self.guards)
    }
}

/// The name of the index row that a RowKey belongs to.
fn index_row<E: TableEntity>(row_key: &str) -> Option<&'static str> {
    let mut rows = E::ROWS.iter().enumerate();
    let (index, template) = rows.find(|(_, row)| row_key.starts_with(row.start))?;
    (index != canonical::<E>()).then_some(template.name)
}

fn is_other_table<E: TableEntity>(table: &str) -> bool {
    let rows = E::EVENTUAL.iter().filter_map(|row| row.table);
    let mut tables = rows.chain(E::GUARDS.iter().filter_map(|guard| guard.table));
    // The names of tables have no case.
    tables.any(|name| name.eq_ignore_ascii_case(table))
}

fn too_many<E: TableEntity>(batch: &Batch, excess: Excess) -> Option<TooManyElements> {
    let keys = batch.operations.iter().map(|operation| operation.row_key.as_str());
    too_many_elements::<E>(keys.filter_map(index_of::<E>), excess)
}
