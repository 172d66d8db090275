//! The key templates of an entity, each placeholder resolved to what it writes.

use crate::ast::{Copy, Entity, Field, Named, Row};
use crate::errors::Errors;
use crate::kind::{self, Kind, kind};
use crate::nearest::{nearest, suggestion};
use crate::template::{Slot, Template};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use std::collections::BTreeSet;
use syn::Path;
use syn::ext::IdentExt;

/// An entity whose templates are resolved.
pub struct Model<'a> {
    pub entity: &'a Entity<'a>,
    pub partition: Key<'a>,
    /// In the order of `entity.rows`.
    pub rows: Vec<Key<'a>>,
    /// In the order of `entity.uniques`.
    pub guards: Vec<Key<'a>>,
    /// The canonical row.
    pub canonical: usize,
}

/// A key template and its components.
pub struct Key<'a> {
    pub template: &'a Template,
    pub parts: Vec<Part<'a>>,
}

/// A component where a template uses it.
pub struct Part<'a> {
    /// Its method's name.
    pub ident: Ident,
    pub name: String,
    pub source: Source<'a>,
    pub encoder: Encoder,
    /// The literal behind it.
    pub then: &'a str,
    /// Whether the key ends with it.
    pub last: bool,
}

/// Where a component's value comes from.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    Field(&'a Field<'a>),
    With(&'a Path),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoder {
    Plain,
    Padded(usize),
    Ascending,
    Descending,
    DescendingPadded(usize),
    Biased,
    Lower,
    Shard(u32),
}

/// How long a component's text is, as far as the derive can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    Fixed(usize),
    UpTo(usize),
    Unbounded,
    /// A type of the user's.
    Unknown,
}

impl Encoder {
    /// Whether it is there for its order: `asc` or `desc`.
    pub fn is_ordered(self) -> bool {
        matches!(self, Self::Ascending | Self::Descending | Self::DescendingPadded(_))
    }

    /// Its type.
    pub fn tokens(self) -> TokenStream {
        match self {
            Self::Plain => quote!(_orm::Plain),
            Self::Padded(digits) => {
                let digits = proc_macro2::Literal::usize_unsuffixed(digits);
                quote!(_orm::Padded<#digits>)
            }
            Self::Ascending => quote!(_orm::Ascending),
            Self::Descending => quote!(_orm::Descending),
            Self::DescendingPadded(digits) => {
                let digits = proc_macro2::Literal::usize_unsuffixed(digits);
                quote!(_orm::DescendingPadded<#digits>)
            }
            Self::Biased => quote!(_orm::Biased),
            Self::Lower => quote!(_orm::Lower),
            // Of another type, in the plain encoding.
            Self::Shard(_) => quote!(_orm::Plain),
        }
    }
}

impl<'a> Part<'a> {
    /// The type of its values.
    pub fn value_type(&self) -> TokenStream {
        match self.source {
            Source::Field(field) => field.value_type().to_token_stream(),
            Source::With(_) => quote!(_orm::String),
        }
    }

    pub fn kind(&self) -> Kind {
        match self.source {
            Source::Field(field) => kind(field.value_type()),
            Source::With(_) => Kind::Text,
        }
    }

    /// Its type and encoder as generated code names them.
    pub fn tokens(&self) -> TokenStream {
        let (ty, encoder) = (self.value_type(), self.encoder.tokens());
        match self.encoder {
            Encoder::Shard(shards) => {
                let shards = proc_macro2::Literal::u32_unsuffixed(shards);
                quote!(<_orm::Shard<#shards> as _orm::Part>)
            }
            Encoder::Plain => quote!(<#ty as _orm::Part>),
            _ => quote!(<#ty as _orm::Part<#encoder>>),
        }
    }

    pub fn field(&self) -> Option<&'a Field<'a>> {
        match self.source {
            Source::Field(field) => Some(field),
            Source::With(_) => None,
        }
    }

    /// The field, when the entity's row depends on whether it has a value.
    pub fn sparse(&self) -> Option<&'a Field<'a>> {
        self.field().filter(|field| kind::option(field.ty).is_some())
    }

    /// How many ASCII digits its text surely starts with.
    pub fn digits(&self) -> usize {
        match (self.encoder, self.kind()) {
            (Encoder::Plain, Kind::Unsigned(_)) => 1,
            (Encoder::Padded(digits) | Encoder::DescendingPadded(digits), Kind::Unsigned(_)) => {
                digits
            }
            (
                Encoder::Ascending | Encoder::Descending | Encoder::Biased,
                Kind::Unsigned(digits) | Kind::Signed(digits),
            ) => digits,
            _ => 0,
        }
    }

    /// Whether a stored key gives the value back.
    pub fn is_recoverable(&self) -> bool {
        self.field().is_some() && !matches!(self.encoder, Encoder::Lower | Encoder::Shard(_))
    }

    /// The most UTF-16 units of its value, where the field declares them.
    pub fn max_len(&self) -> Option<usize> {
        let (max_len, _) = self.field()?.max_len.as_ref()?;
        Some(usize::try_from(*max_len).unwrap_or(usize::MAX))
    }

    pub fn width(&self, escaped: bool) -> Width {
        let field = self.field();
        match (self.encoder, self.kind()) {
            (Encoder::Shard(shards), _) => Width::Fixed(digits_of(u64::from(shards) - 1)),
            (Encoder::Padded(digits) | Encoder::DescendingPadded(digits), Kind::Unsigned(_)) => {
                Width::Fixed(digits)
            }
            (Encoder::Plain, Kind::Unsigned(digits)) => {
                let max = field.and_then(|field| field.max.as_ref());
                Width::UpTo(max.map_or(digits, |(max, _)| digits.min(digits_of(*max))))
            }
            (
                Encoder::Ascending | Encoder::Descending | Encoder::Biased,
                Kind::Unsigned(digits) | Kind::Signed(digits),
            ) => Width::Fixed(digits),
            (_, Kind::Text) => match self.max_len() {
                Some(max_len) if !escaped => Width::UpTo(max_len),
                _ => Width::Unbounded,
            },
            (_, Kind::Bool) => Width::UpTo(5),
            (_, Kind::Char) => Width::UpTo(2),
            _ => Width::Unknown,
        }
    }
}

pub fn digits_of(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

impl<'a> Model<'a> {
    /// Resolves every template; `None` when the partition or all rows are missing. A placeholder
    /// that means nothing is left out after its error.
    pub fn resolve(entity: &'a Entity<'a>, errors: &mut Errors) -> Option<Self> {
        let partition = Key::resolve(entity.partition.as_ref()?, entity, false, errors);
        let rows = entity.rows.iter();
        let rows: Vec<_> =
            rows.map(|row| Key::resolve(&row.template, entity, false, errors)).collect();
        let guards = entity.uniques.iter();
        let guards =
            guards.map(|unique| Key::resolve(&unique.template, entity, !unique.given, errors));
        let guards = guards.collect();
        let canonical = entity.rows.iter().position(|row| row.canonical.is_some()).unwrap_or(0);
        (!rows.is_empty()).then_some(Self { entity, partition, rows, guards, canonical })
    }

    /// Every row with its key.
    pub fn rows(&self) -> impl Iterator<Item = (&'a Row, &Key<'a>)> {
        self.entity.rows.iter().zip(&self.rows)
    }

    /// Whether any row has a component.
    pub fn has_components(&self) -> bool {
        self.rows.iter().any(|key| !key.parts.is_empty())
    }

    /// All templates.
    pub fn keys(&self) -> impl Iterator<Item = &Key<'a>> {
        std::iter::once(&self.partition).chain(&self.rows).chain(&self.guards)
    }

    /// Whether the canonical row's key tells every other row's, and is told by it: then no other
    /// entity can have the same index row, and a blind write replaces nobody else's. A guard row is
    /// there to be contested.
    pub fn keys_follow_canonical(&self) -> bool {
        let Some(canonical) = self.rows.get(self.canonical) else { return false };
        let known = self.known_by(canonical);
        self.guards.is_empty()
            && self.rows().enumerate().all(|(index, (row, key))| {
                index == self.canonical
                    || row.when.is_none()
                        && tells(&known, key)
                        && tells(&self.known_by(key), canonical)
            })
    }

    /// Whether a patch, which sets no field of a key, can change no more than the canonical row.
    pub fn patch_is_one_row(&self) -> bool {
        let computed = |part: &Part<'_>| matches!(part.source, Source::With(_));
        let rows = self.rows.len() + self.guards.len();
        rows == 1 && !self.keys().flat_map(|key| &key.parts).any(computed)
    }

    /// The fields whose values a row's two keys give back.
    fn known_by(&self, key: &Key<'_>) -> BTreeSet<String> {
        key.parts
            .iter()
            .chain(&self.partition.parts)
            .filter(|part| part.is_recoverable())
            .filter_map(|part| part.field().map(|field| field.name.clone()))
            .collect()
    }
}

/// Whether the values of these fields tell a key.
fn tells(fields: &BTreeSet<String>, key: &Key<'_>) -> bool {
    key.parts.iter().all(|part| part.field().is_some_and(|field| fields.contains(&field.name)))
}

impl Row {
    /// Whether its properties hold that field.
    pub fn has_property(&self, field: &Field<'_>) -> bool {
        field.is_stored() && self.stores(field)
    }

    /// Whether it stores that field.
    pub fn stores(&self, field: &Field<'_>) -> bool {
        let named = |names: &[Ident]| names.iter().any(|name| name.unraw() == field.name);
        match &self.copy {
            Copy::Full => true,
            Copy::Include(names) => named(names),
            Copy::Exclude(names) => !named(names),
        }
    }

    pub fn is_full(&self) -> bool {
        matches!(self.copy, Copy::Full)
    }
}

/// Finds the placeholders that no field or component is called by.
fn unknown(template: &Template, entity: &Entity<'_>, errors: &mut Errors) {
    let names = entity.names();
    let known: BTreeSet<_> = names.iter().map(String::as_str).collect();
    let mut unknown = template
        .slots
        .iter()
        .map(|slot| slot.name.as_str())
        .filter(|name| {
            !template.broken
                && !known.contains(name)
                && !entity.broken.iter().any(|own| own == name)
        })
        .peekable();
    if unknown.peek().is_none() {
        return;
    }
    if unknown.clone().all(|name| nearest(name, known.iter().copied()).is_some()) {
        return errors.misspelled(&template.literal, &known);
    }
    for name in unknown {
        errors.push(
            &template.literal,
            format!("no field or component is called `{name}`"),
            suggestion(name, known.iter().copied()),
        );
    }
}

impl<'a> Key<'a> {
    /// The place of the component that gives that field back.
    pub fn giving(&self, field: &Field<'_>) -> Option<usize> {
        self.parts.iter().position(|part| {
            part.is_recoverable() && part.field().is_some_and(|own| own.name == field.name)
        })
    }

    /// Whether a stored key gives that field back.
    pub fn gives(&self, field: &Field<'_>) -> bool {
        self.giving(field).is_some()
    }

    /// Where it is `sortable`, numbers without a format are written so that they sort.
    fn resolve(
        template: &'a Template,
        entity: &'a Entity<'a>,
        sortable: bool,
        errors: &mut Errors,
    ) -> Self {
        unknown(template, entity, errors);
        let count = template.slots.len();
        let parts = template
            .slots
            .iter()
            .enumerate()
            .filter(|_| !template.broken)
            .filter_map(|(at, slot)| {
                let last = at + 1 == count && slot.then.is_empty();
                Part::resolve(template, slot, last, entity, errors)
            })
            .map(|part| if sortable { part.sortable() } else { part })
            .collect();
        Self { template, parts }
    }
}

impl<'a> Part<'a> {
    fn resolve(
        template: &'a Template,
        slot: &'a Slot,
        last: bool,
        entity: &'a Entity<'a>,
        errors: &mut Errors,
    ) -> Option<Self> {
        let name = slot.name.clone();
        let component = entity.components.iter().find(|other| other.name.unraw() == name);
        let field = match component {
            None => Some(name.clone()),
            Some(component) => component.encoder.field().map(|field| field.unraw().to_string()),
        };
        let source = match (&field, component.map(|component| &component.encoder)) {
            (None, Some(Named::With(path))) => Source::With(path),
            (Some(wanted), _) => match entity.field(wanted) {
                Some(field) => Source::Field(field),
                // A component's own field is looked up where it is declared.
                None if component.is_some() => return None,
                None => return None,
            },
            (None, _) => return None,
        };
        let encoder = match (component.map(|component| &component.encoder), slot.digits) {
            (None, None) => Encoder::Plain,
            (None | Some(Named::Ascending(_)), Some(digits)) => Encoder::Padded(digits),
            (Some(Named::Ascending(_)), None) => Encoder::Ascending,
            (Some(Named::Descending(_)), None) => Encoder::Descending,
            (Some(Named::Descending(_)), Some(digits)) => Encoder::DescendingPadded(digits),
            (Some(Named::Biased(_)), None) => Encoder::Biased,
            (Some(Named::Lower(_)), None) => Encoder::Lower,
            (Some(Named::Shard(_, shards)), None) => Encoder::Shard(*shards),
            (Some(Named::With(_)), None) => Encoder::Plain,
            (
                Some(Named::Biased(_) | Named::Lower(_) | Named::Shard(..) | Named::With(_)),
                Some(_),
            ) => {
                errors.push(
                    &template.literal,
                    format!("component `{name}` takes no width"),
                    format!("write `{{{name}}}`"),
                );
                return None;
            }
        };
        let ident = match (component, source) {
            (None, Source::Field(field)) => field.ident.clone(),
            (component, _) => component.map(|component| component.name.clone())?,
        };
        Some(Self { ident, name, source, encoder, then: &slot.then, last })
    }

    /// Written so that it sorts, where it is a number written as it is.
    fn sortable(mut self) -> Self {
        self.encoder = match (self.encoder, self.kind()) {
            (Encoder::Plain, Kind::Unsigned(_)) => Encoder::Ascending,
            (Encoder::Plain, Kind::Signed(_)) => Encoder::Biased,
            (encoder, _) => encoder,
        };
        self
    }
}
