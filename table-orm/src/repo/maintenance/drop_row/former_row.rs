//! A kind of row that a type had.

use crate::entity::{
    CopyKind, EntityRows, PropertySchema, RowOf, RowTemplate, Schema, TableEntity, canonical,
    eventual_at, read_row, template_at,
};
use crate::key::{Escape, TextTemplate, TextTemplateFault};
use crate::model::reserved_start;
use crate::property::series_names;
use std::collections::BTreeSet;

/// A kind of row that a type had, for [`Repo::drop_row`](crate::Repo::drop_row): how its keys read, and which
/// properties it may have.
///
/// Take it from the earlier declaration of the type ([`of`](Self::of)), from an earlier text of the
/// [lock](crate::schema_lock) ([`in_lock`](Self::in_lock)), or write its template ([`new`](Self::new)). The first two know
/// which properties the row has and must have, so they distinguish rows of other types even where the keys do not.
///
/// ```
/// use table_orm::TableEntity;
/// use table_orm::repo::FormerRow;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let lock = "entity Runner\n  row by_state\n    template: STATE:{state}__{bib:05}\n    component state: text\n    component bib: 5 digits\n    place: in the partition\n    stores: none\n";
///
/// mod before {
///     # use table_orm::TableEntity;
///     #[derive(TableEntity)]
///     #[table(name = "runners", partition = "{race}")]
///     #[row(by_bib, key = "BIB:{bib:05}")]
///     #[row(by_state, key = "STATE:{state}__{bib:05}")]
///     pub struct Runner { pub race: String, pub bib: u32, pub state: String }
/// }
///
/// let typed = FormerRow::of::<before::Runner, before::RunnerByState>();
/// let locked = FormerRow::in_lock(lock, "Runner", "by_state")?;
/// let text = FormerRow::new("by_state", "STATE:{state}__{bib:05}")?;
/// assert_eq!(typed.name(), text.name());
/// # assert_eq!(locked.name(), text.name());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FormerRow {
    name: String,
    pub(super) key: TextTemplate,
    /// How the rows of the earlier type are marked and escaped; `None` for as those of the present one.
    pub(super) marks: Option<FormerMarks>,
    /// What such rows store; `None` for what the present type stores.
    pub(super) properties: Option<FormerProperties>,
    /// What they may store besides.
    pub(super) more: BTreeSet<String>,
    /// Whether a row can be read as the former row, and its properties make its key; `None` where that is not known.
    pub(super) stands: Option<Stands>,
}

/// Whether a row with a PartitionKey, a RowKey and a body is what an entity was stored in.
type Stands = fn(&str, &str, &[u8]) -> bool;

/// The properties of a kind of row.
#[derive(Debug, Clone, Default)]
pub(crate) struct FormerProperties {
    /// Whether there may be others, which no field names.
    pub open: bool,
    pub names: BTreeSet<String>,
    /// Those that each row has.
    pub required: BTreeSet<String>,
}

/// What the rows of a type have in common.
#[derive(Debug, Clone)]
pub(crate) struct FormerMarks {
    pub kind: Option<String>,
    pub escape: Escape,
}

/// A former row that cannot be searched for. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormerRowError {
    /// Keys cannot be read by the template.
    #[error(
        "{template:?} cannot be searched for: {reason}; write the template as the type declared it, such as \
         \"STATE:{{state}}__{{bib:05}}\", or pass the earlier declaration of the type"
    )]
    Template {
        /// The template.
        template: String,
        /// The reason.
        reason: String,
    },
    /// The template begins as the keys of helper rows and guard rows do.
    #[error(
        "{template:?} begins like the key of a guard row or helper row, which is not an index row; `verify_guards` \
         finds guards that are out of step"
    )]
    Reserved {
        /// The template.
        template: String,
    },
    /// The text of the lock has no such row.
    #[error(
        "the lock has no row `{row}` of `{entity}`: pass the text of a version of the file in which the type has the row"
    )]
    NotInLock {
        /// The entity's type name.
        entity: String,
        /// The row's name.
        row: String,
    },
    /// A line of the lock cannot be read.
    #[error("line {0} of the lock cannot be read: pass the text as it is in the file")]
    MalformedLock(usize),
    /// The row was the canonical one, which holds the entity.
    #[error(
        "row `{row}` of `{entity}` is canonical, so deleting it would delete entities: `delete_partition` does that"
    )]
    Canonical {
        /// The entity's type name.
        entity: String,
        /// The row's name.
        row: String,
    },
    /// The row was in other partitions.
    #[error(
        "row `{row}` of `{entity}` is in other partitions or another table: delete its rows with `drop_eventual_row`"
    )]
    InOtherPartitions {
        /// The entity's type name.
        entity: String,
        /// The row's name.
        row: String,
    },
}

impl FormerRow {
    /// The row `R`, such as `before::RunnerByState`, of an earlier declaration `E` of the type. Does not compile
    /// for its canonical row, nor for one in other partitions.
    #[must_use]
    pub fn of<E: TableEntity, R: RowOf<E>>() -> Self {
        const {
            assert!(R::INDEX != canonical::<E>(), "the canonical row holds the entity");
            assert!(
                eventual_at::<E>(R::INDEX).is_none(),
                "rows in other partitions are deleted by `drop_eventual_row`"
            );
        }
        // The fallback of a type with a compile error has no rows.
        let none = const { RowTemplate::full("", "", "") };
        let template = const { template_at::<E>(R::INDEX) }.unwrap_or(none);
        let is_full = template.copy == CopyKind::Full;
        let (schema, name) = (Schema::of::<E>(), template.name);
        let stored = schema.row(name).map(|row| row.properties.clone()).unwrap_or_default();
        let stored = schema.properties.iter().filter(|property| stored.contains(&property.name));
        let properties = FormerProperties {
            open: schema.open && is_full,
            names: stored.flat_map(stored_names).collect(),
            required: BTreeSet::new(),
        };
        Self {
            name: name.to_owned(),
            key: template.template().into(),
            marks: Some(FormerMarks { kind: E::KIND.map(str::to_owned), escape: E::ESCAPE }),
            properties: Some(properties),
            more: BTreeSet::new(),
            stands: is_full.then_some(stands::<E, R>),
        }
    }

    /// The former row with the template that the type declared. The name is for reports. Only `{name:05}` says
    /// which text a component has. Any text counts for another component, so the keys of rows of another type
    /// may read the same. So may those of a former row in other partitions of the table: do not give its template,
    /// because `drop_row` would delete these rows, too.
    ///
    /// # Errors
    /// [`FormerRowError::Template`] when keys cannot be read by the template, [`FormerRowError::Reserved`] for the
    /// template of a guard row.
    pub fn new(name: impl Into<String>, template: &str) -> Result<Self, FormerRowError> {
        let key = TextTemplate::parse(template, |_| None);
        Self::with_key(name.into(), template, key)
    }

    pub(crate) fn with_key(
        name: String,
        template: &str,
        key: Result<TextTemplate, TextTemplateFault>,
    ) -> Result<Self, FormerRowError> {
        let key = key.map_err(|fault| FormerRowError::Template {
            template: template.to_owned(),
            reason: fault.to_string(),
        })?;
        if reserved_start(&key.start).is_some() {
            return Err(FormerRowError::Reserved { template: template.to_owned() });
        }
        let more = BTreeSet::new();
        Ok(Self { name, key, marks: None, properties: None, more, stands: None })
    }

    /// The same row of a type with these marks.
    pub(crate) fn marked(self, marks: FormerMarks) -> Self {
        Self { marks: Some(marks), ..self }
    }

    /// The same row, which stores these properties.
    pub(crate) fn storing(self, properties: FormerProperties) -> Self {
        Self { properties: Some(properties), ..self }
    }

    /// Returns the same row, which may have that property, too.
    #[must_use]
    pub fn property(mut self, name: impl Into<String>) -> Self {
        self.more.insert(name.into());
        self
    }

    /// The name of the row.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The names under which a property may be stored: also those of all slots and chunks.
fn stored_names(property: &PropertySchema) -> Vec<String> {
    let PropertySchema { name, slots, stamps, .. } = *property;
    let numbered = slots.into_iter().flat_map(move |slots| series_names(name, slots, stamps));
    let plain = property.aliases.iter().copied().chain([name]);
    plain.map(str::to_owned).chain(numbered).collect()
}

/// Whether a full copy is read as the entity, whose properties make its key.
fn stands<E: TableEntity, R: RowOf<E>>(partition_key: &str, row_key: &str, body: &[u8]) -> bool {
    read_row::<E>(R::INDEX, body)
        .ok()
        .and_then(|entity| EntityRows::of_stored(&entity).ok())
        .is_some_and(|made| made.stands_at(R::INDEX, partition_key, row_key))
}
