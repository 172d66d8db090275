//! Which stored rows a typed read takes.
//!
//! Invariant: every typed read, count, scan, delete and check asks here, so that a row of another
//! type is never taken for one's own. Such a row is left out and costs no error, even if it could
//! not be read.

use super::marker::Marker;
use super::template::{template_at, templates};
use super::{GuardTemplate, Row, RowTemplate, TableEntity};
use crate::codec::{Alias, RowContext};
use crate::key::Escape;
use crate::model::{DateTime, KIND, MOVED_TO, PARTITION_KEY, ROW_KEY};
use crate::property::PropertyError;
use std::borrow::Cow;

/// A stored row that was moved to another key. Nothing was written.
///
/// A later version of the app gave the entity another key, and left this row as a mark.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "row {partition_key:?} / {row_key:?} of `{entity}` was moved to another key, which this version \
     of the app does not know; nothing was written: deploy the version that moved it. {}",
    place(to)
)]
#[non_exhaustive]
pub struct MovedRow {
    /// The entity's type name.
    pub entity: &'static str,
    /// The stored PartitionKey.
    pub partition_key: String,
    /// The stored RowKey.
    pub row_key: String,
    /// The property `Moved_To`, which says where the entity is now.
    pub to: String,
}

/// Where an entity is now, by the text of its mark.
fn place(to: &str) -> String {
    match Marker::parse(to) {
        Some(Marker { table, partition_key, .. }) => {
            format!("It is in partition {partition_key:?} of table `{table}` now")
        }
        None => format!("Another program wrote its mark, {to:?}"),
    }
}

/// Why a row cannot be read.
#[derive(Debug)]
pub(crate) enum OwnRowError {
    Property(PropertyError),
    Moved(Box<MovedRow>),
}

impl From<PropertyError> for OwnRowError {
    fn from(error: PropertyError) -> Self {
        Self::Property(error)
    }
}

/// The rows written from one key template of one entity type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnRows {
    /// The index of the template.
    pub index: usize,
    /// `None` takes every row.
    template: Option<RowTemplate>,
    escape: Escape,
    kind: Option<&'static str>,
    /// The former names of the entity's properties.
    pub aliases: &'static [Alias],
    /// The property that says when an entity expires.
    expires: Option<&'static str>,
    /// When rows are read: those that have expired are left out. `None` reads them, too.
    pub now: Option<DateTime>,
}

/// Whose row it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ownership {
    Own,
    /// That of another type.
    OtherType,
    /// A mark that the row was moved, with the text that says where.
    Moved(String),
}

impl OwnRows {
    /// Every row, of whatever type.
    pub const ANY: Self = Self {
        index: 0,
        template: None,
        escape: Escape::Reject,
        kind: None,
        aliases: &[],
        expires: None,
        now: None,
    };

    /// The rows of kind `R`.
    pub const fn of<R: Row>() -> Self {
        // The fallback of an entity with a compile error has no rows.
        let template = template_at::<R::Entity>(R::INDEX);
        let (escape, kind) = (<R::Entity>::ESCAPE, <R::Entity>::KIND);
        let (aliases, expires) = (aliases::<R::Entity>(), <R::Entity>::EXPIRES);
        Self { index: R::INDEX, template, escape, kind, aliases, expires, now: None }
    }

    /// The canonical rows of `E`.
    pub const fn canonical<E: TableEntity>() -> Self {
        Self::of::<E::Canonical>()
    }

    /// These rows without those that have expired at that instant; all of them without an instant.
    pub const fn at(self, now: Option<DateTime>) -> Self {
        Self { now, ..self }
    }

    /// Whether its entities may expire.
    pub const fn may_expire(&self) -> bool {
        self.expires.is_some()
    }

    /// What a reader keeps of one of these rows.
    pub fn context<'de>(&self, entity: &'static str) -> RowContext<'de> {
        RowContext { expires: self.expires, ..RowContext::with_aliases(entity, self.aliases) }
    }

    /// Whether the row was not read, or has not expired when it was.
    pub fn is_alive(&self, row: &RowContext<'_>) -> bool {
        self.now.is_none_or(|now| row.is_alive(now))
    }

    /// Whose row it is, by its key and its marks. An expired row is judged to be of another type.
    pub fn judge(&self, row: &RowContext<'_>) -> Ownership {
        if !self.is_alive(row) {
            return Ownership::OtherType;
        }
        match &self.template {
            Some(template) => judge(template, self.escape, self.kind, row),
            None => Ownership::Own,
        }
    }

    /// Whether it is an own row.
    pub fn take(&self, row: &RowContext<'_>) -> bool {
        let Some(template) = &self.template else { return true };
        row.moved_to.is_none()
            && self.is_alive(row)
            && self.kind.is_none_or(|kind| row.kind == kind)
            && template.takes(&row.row_key, self.escape)
    }

    /// Whether the template takes that RowKey.
    pub fn takes_key(&self, row_key: &str) -> bool {
        self.template.is_none_or(|template| template.takes(row_key, self.escape))
    }

    /// The keys to ask for where only PartitionKeys are wanted.
    pub fn key_names(&self) -> &'static [&'static str] {
        if self.template.is_some() { &[PARTITION_KEY, ROW_KEY] } else { &[PARTITION_KEY] }
    }

    /// What to ask for beside these properties: their former names, and the marks.
    pub fn beside(&self, names: &[Cow<'_, str>]) -> Vec<Cow<'static, str>> {
        // Those of the instant are among the marks.
        let former = self.former(|present| {
            self.expires != Some(present) && names.iter().any(|name| name == present)
        });
        let more = former.chain(self.marks()).filter(|name| !names.iter().any(|own| own == name));
        more.map(Cow::Borrowed).collect()
    }

    /// The properties to ask for beside the keys, where a query asks for some only.
    pub fn marks(&self) -> impl Iterator<Item = &'static str> {
        let moved = self.template.map(|_| MOVED_TO);
        let marks = moved.into_iter().chain(self.kind.map(|_| KIND)).chain(self.expires);
        // A row may store the instant under a former name.
        marks.chain(self.former(move |present| self.expires == Some(present)))
    }

    /// The former names of these properties.
    fn former(&self, asks: impl Fn(&str) -> bool) -> impl Iterator<Item = &'static str> {
        let former = self.aliases.iter().filter(move |(_, present)| asks(present));
        former.map(|(former, _)| *former)
    }
}

const fn aliases<E: TableEntity>() -> &'static [Alias] {
    E::ALIASES
}

fn judge(
    template: &RowTemplate,
    escape: Escape,
    kind: Option<&str>,
    row: &RowContext<'_>,
) -> Ownership {
    if !template.takes(&row.row_key, escape) {
        return Ownership::OtherType;
    }
    match &row.moved_to {
        Some(to) => Ownership::Moved(to.clone().into_owned()),
        // A mark has no kind: it may be any type's.
        None if kind.is_some_and(|kind| row.kind != kind) => Ownership::OtherType,
        None => Ownership::Own,
    }
}

/// The index of the template of an entity type that takes a RowKey.
pub(crate) fn index_of<E: TableEntity>(row_key: &str) -> Option<usize> {
    taken_by(E::ROWS, E::GUARDS, E::ESCAPE, row_key)
}

fn taken_by(
    rows: &'static [RowTemplate],
    guards: &'static [GuardTemplate],
    escape: Escape,
    row_key: &str,
) -> Option<usize> {
    templates(rows, guards).position(|template| template.takes(row_key, escape))
}

/// The index of the template of an entity type that a row was written from, and whose row it is;
/// `None` for a row of another type in the same partition.
pub(crate) fn template_of<E: TableEntity>(row: &RowContext<'_>) -> Option<(usize, Ownership)> {
    judge_all((E::ROWS, E::GUARDS), E::ESCAPE, E::KIND, row)
}

fn judge_all(
    (rows, guards): (&'static [RowTemplate], &'static [GuardTemplate]),
    escape: Escape,
    kind: Option<&str>,
    row: &RowContext<'_>,
) -> Option<(usize, Ownership)> {
    let judged = templates(rows, guards).map(|template| judge(&template, escape, kind, row));
    judged.enumerate().find(|(_, ownership)| *ownership != Ownership::OtherType)
}
