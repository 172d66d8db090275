//! What a derived type stores, as data: for tools that have no source to read.
//!
//! Invariant: a schema says nothing of its own. It is put together from the constants that encoders,
//! readers and checks of the type use.

use super::query::canonical;
use super::{
    CopyKind, EventValues, EventualTemplate, GuardTemplate, RowTemplate, SumSchema, TableEntity,
};
use crate::codec::Alias;
use crate::key::{Escape, KeyTemplate, Shape};
use crate::model::{Bucket, EdmType, MAX_ENTITY_BYTES, MAX_STRING_UNITS};
use crate::property::{Declared, Limit, MAX_CHUNKS, ValueType};
use crate::query::QueryClass;
use serde::{Serialize, Serializer};
use std::fmt;

/// A derived type: its table, keys, rows, properties, unique values, sums and events.
///
/// `Display` prints it for a reader, and `Serialize` for a tool.
///
/// ```
/// use table_orm::TableEntity;
/// use table_orm::entity::Schema;
///
/// #[derive(TableEntity)]
/// #[table(name = "runners", partition = "{race}")]
/// #[row(by_bib, key = "BIB:{bib:05}")]
/// #[row(by_age, key = "AGE:{age:03}__{bib:05}", include(age))]
/// struct Runner { race: String, bib: u32, age: u8, #[table(max_len = 60)] name: String }
///
/// let schema = Schema::of::<Runner>();
/// assert_eq!((schema.table, schema.partition), ("runners", "{race}"));
/// assert_eq!(schema.rows[1].key, "AGE:{age:03}__{bib:05}");
/// assert_eq!(schema.rows[1].properties, ["Age"]);
/// assert_eq!(schema.properties[3].max_bytes, Some(120));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Schema {
    /// The type's name.
    pub entity: &'static str,
    /// Its table.
    pub table: &'static str,
    /// The PartitionKey's template.
    pub partition: &'static str,
    /// The text of the property `Entity_Kind`, for a type with a `kind`.
    pub kind: Option<&'static str>,
    /// Its rows, the canonical one among them; those in other partitions come last.
    pub rows: Vec<RowSchema>,
    /// Its unique values.
    pub uniques: Vec<UniqueSchema>,
    /// Its properties.
    pub properties: Vec<PropertySchema>,
    /// Whether it also stores properties that no field names: a flattened map.
    pub open: bool,
    /// The property with the instant at which an entity expires, if entities do.
    pub expires: Option<&'static str>,
    /// Which entities share a table, if there is a table for each period.
    pub periods: Option<PeriodsSchema>,
    /// Its sums.
    pub sums: Vec<SumSchema>,
    /// What the events of its writes hold, if it has an outbox.
    pub events: Option<EventValues>,
}

/// The periods of a type with a table for each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PeriodsSchema {
    /// How long they are.
    #[serde(serialize_with = "as_length")]
    pub length: Bucket,
    /// The field with the time of an entity.
    pub field: &'static str,
}

/// One kind of row of a type.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RowSchema {
    /// The row's name, such as `by_bib`.
    pub name: &'static str,
    /// The RowKey's template.
    pub key: &'static str,
    /// The table that holds it.
    pub table: &'static str,
    /// The template of its PartitionKey.
    pub partition: &'static str,
    /// The most UTF-16 units of its RowKey; `None` where a component is text without a limit.
    pub max_units: Option<usize>,
    /// Whether it is the canonical row.
    pub canonical: bool,
    /// How much of the entity it stores.
    pub copy: CopyKind,
    /// Whether an entity may lack it.
    pub sparse: bool,
    /// The field with a row for each of its elements.
    pub each: Option<&'static str>,
    /// Whether it is in another partition or table, and follows a write of the entity.
    pub eventual: bool,
    /// The names of the [properties](Schema::properties) that it stores.
    pub properties: Vec<&'static str>,
    /// The methods that build its key, from left to right.
    pub methods: Vec<QueryMethod>,
}

/// A method of a key: of the partition for the first of a row, then one for each component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct QueryMethod {
    /// Its name, such as `bib_in`.
    pub name: String,
    /// The class of the query that it returns.
    #[serde(serialize_with = "as_text")]
    pub class: QueryClass,
}

/// A value, or several together, that no two entities have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UniqueSchema {
    /// What is unique: fields and components, joined by `_`.
    pub name: &'static str,
    /// The template of the key with the values.
    pub key: &'static str,
    /// The table that holds the guard row.
    pub table: &'static str,
    /// Whether it is unique over all partitions; else in one.
    pub across: bool,
}

/// A property of a type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PropertySchema {
    /// Its stored name; of a series without the numbers, which follow it.
    pub name: &'static str,
    /// Its names in rows of earlier versions of the app.
    pub aliases: Vec<&'static str>,
    /// The field that it belongs to, by its stored name: another one in a flattened struct.
    pub field: &'static str,
    /// The type of every value; `None` where the property's type has no `TYPE`.
    #[serde(serialize_with = "as_optional_text")]
    pub edm: Option<EdmType>,
    /// The codes of an enum, in the order of its variants; empty for another type.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub codes: &'static [&'static str],
    /// The most bytes of a value, as the service counts them: two for a UTF-16 unit of a text.
    pub max_bytes: Option<usize>,
    /// The largest number that its field allows.
    pub max: Option<u64>,
    /// The most properties of a series or of a chunked value; `None` for a single property.
    pub slots: Option<usize>,
    /// Whether the numbered properties are the chunks of one value.
    pub chunked: bool,
    /// Whether each slot has a stamp beside it, as those of a [`Ring`](crate::property::Ring) do.
    pub stamps: bool,
    /// The length of the periods that the stamps count, in seconds, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_seconds: Option<u32>,
}

fn as_text<T: fmt::Display, S: Serializer>(value: &T, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(value)
}

fn as_length<S: Serializer>(length: &Bucket, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(length.name())
}

fn as_optional_text<T: fmt::Display, S: Serializer>(
    value: &Option<T>,
    out: S,
) -> Result<S::Ok, S::Error> {
    value.as_ref().map(ToString::to_string).serialize(out)
}

impl Schema {
    /// The schema of a type. Sends nothing.
    #[must_use]
    pub fn of<E: TableEntity>() -> Self {
        let properties = properties(E::PROPERTIES, E::ALIASES);
        let (place, escape) = ((E::TABLE, E::PARTITION), E::ESCAPE);
        let rows = rows(place, escape, (E::ROWS, canonical::<E>()), E::EVENTUAL, &properties);
        Self {
            entity: E::NAME,
            table: E::TABLE,
            partition: E::PARTITION,
            kind: E::KIND,
            rows,
            uniques: uniques(E::TABLE, E::GUARDS),
            open: is_open(E::PROPERTIES),
            properties,
            expires: E::EXPIRES,
            periods: E::BUCKET
                .map(|own| PeriodsSchema { length: own.bucket(), field: own.field() }),
            sums: E::sums().iter().map(SumSchema::of).collect(),
            events: E::OUTBOX,
        }
    }

    /// The row of that name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&RowSchema> {
        self.rows.iter().find(|row| row.name == name)
    }
}

impl RowSchema {
    /// What the row is, as reports say it.
    pub(crate) const fn kind(&self) -> &'static str {
        match (self.canonical, self.copy) {
            (true, _) => "canonical",
            (false, CopyKind::Full) => "full copy",
            (false, CopyKind::Partial) => "partial copy",
        }
    }

    fn of(
        row: &RowTemplate,
        (table, partition): (&'static str, &'static str),
        escape: Escape,
        properties: &[PropertySchema],
    ) -> Self {
        let stored = properties.iter().filter(|property| match row.copy {
            CopyKind::Full => true,
            CopyKind::Partial => row.fields.contains(&property.field),
        });
        Self {
            name: row.name,
            key: row.key,
            table,
            partition,
            max_units: row.template().longest(),
            canonical: false,
            copy: row.copy,
            sparse: row.sparse,
            each: row.each,
            eventual: false,
            properties: stored.map(|property| property.name).collect(),
            methods: methods(&row.template(), escape).collect(),
        }
    }
}

/// The rows of a type, those of other partitions last.
fn rows(
    (table, partition): (&'static str, &'static str),
    escape: Escape,
    (own, canonical): (&[RowTemplate], usize),
    eventual: &[EventualTemplate],
    properties: &[PropertySchema],
) -> Vec<RowSchema> {
    let own = own.iter().enumerate().map(|(index, row)| {
        let schema = RowSchema::of(row, (table, partition), escape, properties);
        RowSchema { canonical: index == canonical, ..schema }
    });
    let eventual =
        eventual.iter().map(|EventualTemplate { row, table: other, partition, .. }| {
            let place = (other.unwrap_or(table), *partition);
            RowSchema { eventual: true, ..RowSchema::of(row, place, escape, properties) }
        });
    own.chain(eventual).collect()
}

fn uniques(table: &'static str, guards: &[GuardTemplate]) -> Vec<UniqueSchema> {
    let guards = guards.iter().map(|guard| UniqueSchema {
        name: guard.name,
        key: guard.key,
        table: guard.table.unwrap_or(table),
        across: guard.across,
    });
    guards.collect()
}

/// The methods of a row's key. A range of a component exists where text order is value order.
fn methods(
    key: &KeyTemplate<'static>,
    escape: Escape,
) -> impl Iterator<Item = QueryMethod> + use<> {
    let parts = key.parts;
    parts.iter().enumerate().flat_map(move |(at, part)| {
        let last = at + 1 == parts.len();
        let given = if last { QueryClass::Point } else { QueryClass::RowRange };
        let range = part.sorts(last, escape).then(|| format!("{}_in", part.name));
        let prefix =
            matches!(part.shape, Shape::Text).then(|| format!("{}_starts_with", part.name));
        let ranges = [range, prefix].into_iter().flatten();
        let ranges = ranges.map(|name| QueryMethod { name, class: QueryClass::RowRange });
        let whole = QueryMethod { name: part.name.to_owned(), class: given };
        std::iter::once(whole).chain(ranges)
    })
}

/// The properties of a type, those of its flattened structs among them.
fn properties(declared: &'static [Declared], aliases: &'static [Alias]) -> Vec<PropertySchema> {
    let mut properties = of_fields(declared);
    for property in &mut properties {
        let own = aliases.iter().filter(|(_, present)| *present == property.name);
        property.aliases = own.map(|(former, _)| *former).collect();
    }
    properties
}

fn of_fields(declared: &'static [Declared]) -> Vec<PropertySchema> {
    declared.iter().flat_map(of_field).collect()
}

fn of_field(declared: &'static Declared) -> Vec<PropertySchema> {
    match *declared {
        Declared::One(name, values, limit) => vec![property(name, values, limit)],
        Declared::Series(name, slots, values) => {
            let (stamps, period_seconds) = (slots.has_stamps(), slots.period());
            let slots = Some(slots.most());
            vec![PropertySchema { slots, stamps, period_seconds, ..property(name, values, None) }]
        }
        Declared::Chunked(name, edm) => {
            let (slots, max_bytes) = (Some(MAX_CHUNKS), Some(MAX_ENTITY_BYTES));
            let whole = property(name, ValueType { edm: Some(edm), ..ValueType::ANY }, None);
            vec![PropertySchema { slots, max_bytes, chunked: true, ..whole }]
        }
        Declared::Group(field, group) => {
            let of_group = |property| PropertySchema { field, ..property };
            of_fields(group).into_iter().map(of_group).collect()
        }
        Declared::Open => Vec::new(),
    }
}

fn property(name: &'static str, values: ValueType, limit: Option<Limit>) -> PropertySchema {
    let ValueType { edm, codes } = values;
    let max_bytes = edm.map(|edm| match (edm, limit) {
        (EdmType::String, Some(Limit::MaxLen(units))) => 2 * units.min(MAX_STRING_UNITS),
        (EdmType::String | EdmType::Binary, _) => 2 * MAX_STRING_UNITS,
        (edm, _) => edm.size(0),
    });
    let max = match limit {
        Some(Limit::Max(max)) => Some(max),
        _ => None,
    };
    PropertySchema {
        name,
        aliases: Vec::new(),
        field: name,
        edm,
        codes,
        max_bytes,
        max,
        slots: None,
        chunked: false,
        stamps: false,
        period_seconds: None,
    }
}

fn is_open(declared: &[Declared]) -> bool {
    declared.iter().any(|declared| match declared {
        Declared::Open => true,
        Declared::Group(_, group) => is_open(group),
        _ => false,
    })
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on `{}`", self.entity, self.table)?;
        if let Some(PeriodsSchema { length, field }) = self.periods {
            write!(f, ", a table for each {} of `{field}`", length.name())?;
        }
        write!(f, "\n  PartitionKey  {}", self.partition)?;
        for row in &self.rows {
            write!(f, "\n  row {row}")?;
        }
        for UniqueSchema { name, key, table, across } in &self.uniques {
            let place = if *across { "over all partitions" } else { "in the partition" };
            write!(f, "\n  unique {name}  {key}, {place}")?;
            if *table != self.table {
                write!(f, ", on `{table}`")?;
            }
        }
        for property in &self.properties {
            write!(f, "\n  property {property}")?;
        }
        if self.open {
            f.write_str("\n  any other property")?;
        }
        if let Some(property) = self.expires {
            write!(f, "\n  expires  at {property}")?;
        }
        for sum in &self.sums {
            write!(f, "\n  sum {sum}")?;
        }
        if let Some(EventValues { before, after }) = self.events {
            let values = [("before", before), ("after", after)].into_iter();
            let values: Vec<_> = values.filter(|(_, has)| *has).map(|(name, _)| name).collect();
            let values = if values.is_empty() { "keys".to_owned() } else { values.join(", ") };
            write!(f, "\n  events  {values}")?;
        }
        Ok(())
    }
}

impl fmt::Display for RowSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}", self.name, self.key)?;
        if self.eventual {
            write!(f, "\n    follows on `{}` in {}", self.table, self.partition)?;
        }
        write!(f, "\n    {}", self.kind())?;
        if self.sparse {
            f.write_str(", sparse")?;
        }
        if let Some(field) = self.each {
            write!(f, ", for each element of `{field}`")?;
        }
        if self.copy == CopyKind::Partial {
            write!(f, "\n    stores {}", self.properties.join(", "))?;
        }
        let methods: Vec<_> = self.methods.iter().map(|method| &*method.name).collect();
        if !methods.is_empty() {
            write!(f, "\n    queries {}", methods.join(", "))?;
        }
        Ok(())
    }
}

impl PropertySchema {
    /// The most UTF-16 units of a text whose field allows fewer than the service.
    pub(crate) fn max_units(&self) -> Option<usize> {
        let bytes = self.max_bytes.filter(|_| self.edm == Some(EdmType::String))?;
        (bytes < 2 * MAX_STRING_UNITS).then_some(bytes / 2)
    }
}

impl fmt::Display for PropertySchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Some(slots) = self.slots {
            let what = if self.chunked { "in chunks" } else { "numbered" };
            write!(f, ", {what}, at most {slots}")?;
        }
        if self.stamps {
            f.write_str(", each with a stamp")?;
        }
        if self.field != self.name {
            write!(f, " of {}", self.field)?;
        }
        if !self.aliases.is_empty() {
            write!(f, ", formerly {}", self.aliases.join(", "))?;
        }
        match self.edm {
            Some(edm) => write!(f, "  {edm}")?,
            None => write!(f, "  of a type of the app")?,
        }
        if let Some(max) = self.max {
            write!(f, ", at most {max}")?;
        }
        match self.max_units() {
            Some(units) => write!(f, ", at most {units} UTF-16 units"),
            None => Ok(()),
        }
    }
}
