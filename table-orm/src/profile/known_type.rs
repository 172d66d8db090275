//! A type whose rows a profile knows: where they are, and their keys.
//!
//! Invariant: a row of the type is of the first of its templates that takes the row. Typed reads take it so, too.

use super::report::RowRole;
use crate::codec::RowContext;
use crate::entity::{EventualTemplate, GuardTemplate, RowTemplate, Schema, TableEntity, canonical};
use crate::key::{Escape, KeyTemplate, TextTemplate};
use crate::model::{ACROSS_GUARD, TableName, reserved_start};

/// A type whose rows are in the table.
#[derive(Debug, Clone)]
pub(crate) struct KnownType {
    pub name: String,
    /// The table of its entities, as it is declared.
    pub home: String,
    /// The kind that its rows are marked with.
    pub kind: Option<String>,
    pub escape: Escape,
    /// The keys of its partitions.
    pub partition: TextTemplate,
    /// Its rows, guards, and rows in other partitions.
    pub rows: Vec<KnownRow>,
    pub properties: Vec<KnownProperty>,
}

/// A property that a type declares; of a series without the numbers, which follow the name.
#[derive(Debug, Clone)]
pub(crate) struct KnownProperty {
    pub name: String,
    pub is_series: bool,
}

/// The rows of one template.
#[derive(Debug, Clone)]
pub(crate) struct KnownRow {
    pub name: String,
    pub role: RowRole,
    pub key: TextTemplate,
    pub place: RowPlace,
}

/// Where the rows of a template are.
#[derive(Debug, Clone)]
pub(crate) enum RowPlace {
    /// In the partition of the entity.
    Home,
    /// In another one, of that table; without a name, of that of the entity.
    Eventual { partition: TextTemplate, table: Option<String> },
}

impl KnownType {
    pub fn of<E: TableEntity>() -> Self {
        Self {
            name: E::NAME.to_owned(),
            home: E::TABLE.to_owned(),
            kind: E::KIND.map(str::to_owned),
            escape: E::ESCAPE,
            partition: E::PARTITION_KEY.into(),
            rows: known_rows(E::TABLE, (E::ROWS, canonical::<E>()), E::GUARDS, E::EVENTUAL),
            properties: known_properties(Schema::of::<E>()),
        }
    }

    /// Whether it declares a property of that name.
    pub fn declares_property(&self, name: &str) -> bool {
        self.properties.iter().any(|own| {
            let slot = name.strip_prefix(&own.name);
            slot.is_some_and(|slot| {
                slot.is_empty() || own.is_series && slot.starts_with(|c: char| c.is_ascii_digit())
            })
        })
    }

    /// Whether the type declares rows or guards for a table of that name.
    fn declares(&self, table: &TableName) -> bool {
        let is_this = |name: &str| name.eq_ignore_ascii_case(table.as_str());
        self.rows.iter().any(|row| row.table().is_some_and(is_this))
    }

    /// Whether the entities are in the table: it is that of the type, or the type declares no row for a table of
    /// this name, so that its own has another name here.
    fn is_home(&self, table: &TableName) -> bool {
        self.home.eq_ignore_ascii_case(table.as_str()) || !self.declares(table)
    }

    /// Returns whether the rows of a template are in the table.
    pub fn is_in(&self, row: &KnownRow, table: &TableName) -> bool {
        match row.table() {
            Some(name) => name.eq_ignore_ascii_case(table.as_str()),
            None => self.is_home(table),
        }
    }

    /// The place of a row of the table among the kinds of the type: its rows, and after them those that were moved.
    pub fn find(&self, row: &RowContext<'_>, table: &TableName) -> Option<usize> {
        let known = |known: &KnownRow| self.is_in(known, table) && self.takes(known, row);
        let at = self.rows.iter().position(known)?;
        let is_moved = matches!(self.rows[at].place, RowPlace::Home) && row.moved_to.is_some();
        Some(if is_moved { self.rows.len() } else { at })
    }

    /// Whether a template takes a row, by its keys and its marks.
    fn takes(&self, known: &KnownRow, row: &RowContext<'_>) -> bool {
        let is_helper =
            reserved_start(&row.row_key).is_some_and(|start| !known.key.start.starts_with(start));
        if is_helper || !known.key.takes(&row.row_key, self.escape) {
            return false;
        }
        let is_of_kind = || self.kind.as_deref().is_none_or(|kind| row.kind == kind);
        match &known.place {
            // A mark of a move has no kind: it may be any type's.
            RowPlace::Home => row.moved_to.is_some() || is_of_kind(),
            RowPlace::Eventual { partition, .. } => {
                partition.takes(&row.partition_key, self.escape)
                    && (known.role == RowRole::Guard || is_of_kind())
            }
        }
    }
}

fn known_rows(
    table: &str,
    (rows, canonical): (&[RowTemplate], usize),
    guards: &[GuardTemplate],
    eventual: &[EventualTemplate],
) -> Vec<KnownRow> {
    let role = |index| if index == canonical { RowRole::Entity } else { RowRole::Copy };
    let rows = rows.iter().enumerate().map(|(index, row)| KnownRow::home(row, role(index)));
    let all = rows.chain(guards.iter().map(KnownRow::guard));
    let all = all.chain(eventual.iter().map(KnownRow::eventual));
    all.map(|row| row.of(table)).collect()
}

fn known_properties(schema: Schema) -> Vec<KnownProperty> {
    let properties = schema.properties.into_iter().flat_map(|own| {
        let is_series = own.slots.is_some();
        let names = [own.name].into_iter().chain(own.aliases);
        names.map(move |name| KnownProperty { name: name.to_owned(), is_series })
    });
    properties.collect()
}

impl KnownRow {
    fn home(row: &RowTemplate, role: RowRole) -> Self {
        let (name, key) = (row.name.to_owned(), row.template().into());
        Self { name, role, key, place: RowPlace::Home }
    }

    fn guard(guard: &GuardTemplate) -> Self {
        let row = guard.row();
        match guard.across {
            true => Self::guard_across(row.name, row.template().into(), guard.table),
            false => Self::home(&row, RowRole::Guard),
        }
    }

    /// A guard of values that are unique over all partitions: the only row of the partition of those values.
    pub fn guard_across(name: &str, partition: TextTemplate, table: Option<&str>) -> Self {
        let place = RowPlace::Eventual { partition, table: table.map(str::to_owned) };
        let key = KeyTemplate::literal(ACROSS_GUARD).into();
        Self { name: name.to_owned(), role: RowRole::Guard, key, place }
    }

    fn eventual(template: &EventualTemplate) -> Self {
        let partition = template.partition_key.into();
        let table = template.table.map(str::to_owned);
        let place = RowPlace::Eventual { partition, table };
        Self { place, ..Self::home(&template.row, RowRole::Eventual) }
    }

    /// Returns the same rows of a type with that table, which need no name for it.
    pub fn of(mut self, home: &str) -> Self {
        if let RowPlace::Eventual { table, .. } = &mut self.place {
            table.take_if(|name| name.eq_ignore_ascii_case(home));
        }
        self
    }

    /// The table that it is declared for.
    fn table(&self) -> Option<&str> {
        match &self.place {
            RowPlace::Home => None,
            RowPlace::Eventual { table, .. } => table.as_deref(),
        }
    }
}
