//! Whether a stored row is one of the former row.
//!
//! Invariant: a row that a type of the call has now is kept, whatever else is known of it.

use super::former_row::FormerRow;
use super::report::KeptReason;
use crate::codec::RowContext;
use crate::entity::{DynamicEntity, Schema, TableEntity, read_row, template_at};
use crate::error::Result;
use crate::key::Escape;
use crate::model::{RESERVED_PROPERTIES, reserved_start};
use crate::property::declares;
use crate::repo::maintenance::verify::VersionedRow;
use std::collections::BTreeSet;
use std::marker::PhantomData;

/// What is known of the types that share the table.
#[derive(Debug)]
pub(super) struct Judge<E> {
    pub former: FormerRow,
    /// The other types.
    others: Vec<PresentType>,
    /// The property that the store adds to rows.
    hidden: Option<String>,
    /// Whether the type stores properties that no field names.
    open: bool,
    entity: PhantomData<fn() -> E>,
}

/// A type that has rows in the table.
#[derive(Debug, Clone, Copy)]
struct PresentType {
    entity: &'static str,
    kind: Option<&'static str>,
    /// The name of its row that has such a key.
    row: fn(&str) -> Option<&'static str>,
}

impl PresentType {
    fn of<E: TableEntity>() -> Self {
        Self { entity: E::NAME, kind: E::KIND, row: row_of::<E> }
    }

    fn takes(&self, row: &RowContext<'_>) -> Option<KeptReason> {
        let own = self.kind.is_none_or(|kind| row.kind == kind);
        let name = (self.row)(&row.row_key).filter(|_| own)?;
        Some(KeptReason::Present { entity: self.entity.to_owned(), row: name.to_owned() })
    }
}

/// The name of the row of a type that has such a key: in the partition of the entity, or another one.
fn row_of<E: TableEntity>(row_key: &str) -> Option<&'static str> {
    let mut templates = (0..).map_while(template_at::<E>);
    templates.find(|row| row.takes(row_key, E::ESCAPE)).map(|row| row.name)
}

/// What the name of a field and that of its property have in common, unless it has a `rename`.
fn letters(name: &str) -> String {
    name.chars().filter(|letter| *letter != '_').flat_map(char::to_lowercase).collect()
}

/// What to do with a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Its key is not one of the former row.
    Other,
    Keep(KeptReason),
    Delete,
}

impl<E: TableEntity> Judge<E> {
    pub fn new(former: FormerRow, hidden: Option<&str>) -> Self {
        let (hidden, open) = (hidden.map(str::to_owned), Schema::of::<E>().open);
        Self { former, others: vec![PresentType::of::<E>()], hidden, open, entity: PhantomData }
    }

    /// Keeps the rows of another type.
    pub fn add<T: TableEntity>(&mut self) {
        self.others.push(PresentType::of::<T>());
    }

    pub fn verdict(&self, row: &VersionedRow<'_>) -> Result<Verdict> {
        let context = &row.context;
        if reserved_start(&row.row_key).is_some()
            || !self.former.key.takes(&row.row_key, self.escape())
        {
            return Ok(Verdict::Other);
        }
        if context.moved_to.is_some() {
            return Ok(Verdict::Keep(KeptReason::Moved));
        }
        if let Some(reason) = self.others.iter().find_map(|other| other.takes(context)) {
            return Ok(Verdict::Keep(reason));
        }
        if context.kind != self.kind().unwrap_or_default() {
            let entity_kind = context.kind.clone().into_owned();
            return Ok(Verdict::Keep(KeptReason::OtherKind { entity_kind }));
        }
        Ok(self.fault(row)?.map_or(Verdict::Delete, Verdict::Keep))
    }

    /// The components of the former row's template that are neither components nor fields of the type.
    pub fn unknown_components(&self) -> Vec<String> {
        let templates = (0..).map_while(template_at::<E>).map(|row| row.template());
        let templates = templates.chain(E::EVENTUAL.iter().map(|row| row.partition_key));
        let parts = templates.chain([E::PARTITION_KEY]).flat_map(|template| template.parts);
        let schema = Schema::of::<E>();
        let properties =
            schema.properties.iter().flat_map(|own| own.aliases.iter().chain([&own.name]));
        let known: BTreeSet<_> =
            parts.map(|part| part.name).chain(properties.copied()).map(letters).collect();
        let unknown = self.former.key.components().filter(|name| !known.contains(&letters(name)));
        unknown.map(str::to_owned).collect()
    }

    fn escape(&self) -> Escape {
        self.former.marks.as_ref().map_or(E::ESCAPE, |marks| marks.escape)
    }

    /// The kind that its rows are marked with.
    fn kind(&self) -> Option<&str> {
        match &self.former.marks {
            Some(marks) => marks.kind.as_deref(),
            None => E::KIND,
        }
    }

    /// What speaks against the row in its content.
    fn fault(&self, row: &VersionedRow<'_>) -> Result<Option<KeptReason>> {
        let stored = read_row::<DynamicEntity>(0, row.body)?.properties;
        if let Some(unknown) = stored.keys().find(|name| !self.may_have(name)) {
            return Ok(Some(KeptReason::UnknownProperty { property: unknown.clone() }));
        }
        let required = self.former.properties.iter().flat_map(|properties| &properties.required);
        if let Some(missing) = required.into_iter().find(|name| !stored.contains_key(*name)) {
            return Ok(Some(KeptReason::MissingProperty { property: missing.clone() }));
        }
        let stands = self.former.stands;
        let stands = stands.is_none_or(|stands| stands(&row.partition_key, &row.row_key, row.body));
        Ok((!stands).then_some(KeptReason::OtherContent))
    }

    /// Whether a former row may have that property.
    fn may_have(&self, name: &str) -> bool {
        let of_type = match &self.former.properties {
            Some(properties) => properties.open || properties.names.contains(name),
            None => {
                self.open
                    || declares(E::PROPERTIES, name)
                    || E::ALIASES.iter().any(|(former, _)| *former == name)
            }
        };
        of_type
            || self.former.more.contains(name)
            || RESERVED_PROPERTIES.contains(&name)
            || self.hidden.as_deref() == Some(name)
    }
}
