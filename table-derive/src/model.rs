//! An entity whose key templates are resolved: each placeholder is a field or a component.

use crate::ast::{Argument, Copy, Encoder, Entity, Field, Role, Row};
use crate::attr::Each;
use crate::errors::{Errors, mistake};
use crate::kind::{self, Kind, kind};
use crate::nearest::{nearest, suggestion};
use crate::template::{Slot, Template};
use crate::tokens::*;
use std::collections::BTreeSet;

pub struct Model<'a> {
    pub entity: &'a Entity<'a>,
    pub partition: Key<'a>,
    /// In the order of `entity.rows`: those of other partitions are the last.
    pub rows: Vec<KeyedRow<'a>>,
    /// In the order of `entity.uniques`.
    pub guards: Vec<Key<'a>>,
    pub canonical: usize,
}

pub struct KeyedRow<'a> {
    pub row: &'a Row,
    /// The number by which the runtime knows it: guards come before the rows of other partitions.
    pub index: usize,
    /// Its RowKey.
    pub key: Key<'a>,
    /// Its PartitionKey, if it is in another partition.
    pub partition: Option<Key<'a>>,
}

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
    /// The literal after it.
    pub separator: &'a str,
    /// Whether the key ends with it.
    pub last: bool,
}

#[derive(Clone, Copy)]
pub enum Source<'a> {
    Field(&'a Field<'a>),
    /// Each element of a collection, with its type.
    Element(&'a Field<'a>, &'a Type),
    With(&'a Path),
}

/// How long a component's text is, as far as the derive knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    Fixed(usize),
    UpTo(usize),
    Unbounded,
    /// Only the type knows.
    Unknown,
}

impl Encoder {
    /// With the width of a placeholder; `None` where the encoder takes no width.
    fn padded(self, digits: usize) -> Option<Self> {
        match self {
            Self::Plain | Self::Ascending => Some(Self::Padded(digits)),
            Self::Descending => Some(Self::DescendingPadded(digits)),
            _ => None,
        }
    }

    /// Whether its purpose is the order: `asc` or `desc`.
    pub fn is_ordered(self) -> bool {
        matches!(self, Self::Ascending | Self::Descending | Self::DescendingPadded(_))
    }

    pub fn tokens(self) -> TokenStream {
        let (name, digits) = match self {
            // A shard is a type of its own, plainly encoded.
            Self::Plain | Self::Shard(_) | Self::Spread => (quote!(Plain), None),
            Self::Padded(digits) => (quote!(Padded), Some(digits)),
            Self::Ascending => (quote!(Ascending), None),
            Self::Descending => (quote!(Descending), None),
            Self::DescendingPadded(digits) => (quote!(DescendingPadded), Some(digits)),
            Self::Biased => (quote!(Biased), None),
            Self::Lower => (quote!(Lower), None),
        };
        let digits = digits.map(Literal::usize_unsuffixed).map(|digits| quote!(<#digits>));
        quote!(_orm::#name #digits)
    }
}

impl<'a> Part<'a> {
    pub fn value_type(&self) -> TokenStream {
        self.origin().map_or_else(|| quote!(_orm::String), |(_, ty)| ty.to_token_stream())
    }

    pub fn kind(&self) -> Kind {
        self.origin().map_or(Kind::Text, |(_, ty)| kind(ty))
    }

    /// Whether it spreads an entity's partitions.
    pub fn is_shard(&self) -> bool {
        matches!(self.encoder, Encoder::Shard(_) | Encoder::Spread)
    }

    /// Its type and encoder as generated code names them.
    pub fn tokens(&self) -> TokenStream {
        let (ty, encoder) = (self.value_type(), self.encoder.tokens());
        match self.encoder {
            Encoder::Shard(shards) => {
                let shards = Literal::u32_unsuffixed(shards);
                quote!(<_orm::Shard<#shards> as _orm::Part>)
            }
            Encoder::Spread => quote!(<_orm::Spread as _orm::Part>),
            Encoder::Plain => quote!(<#ty as _orm::Part>),
            _ => quote!(<#ty as _orm::Part<#encoder>>),
        }
    }

    /// The field that it is the value of.
    pub fn field(&self) -> Option<&'a Field<'a>> {
        match self.source {
            Source::Field(field) => Some(field),
            Source::Element(..) | Source::With(_) => None,
        }
    }

    /// The field that its value comes from, with the value's type.
    pub fn origin(&self) -> Option<(&'a Field<'a>, &'a Type)> {
        match self.source {
            Source::Field(field) => Some((field, field.value_type())),
            Source::Element(field, ty) => Some((field, ty)),
            Source::With(_) => None,
        }
    }

    /// The field, if it is an `Option`: the row is written only if it is `Some`.
    pub fn sparse(&self) -> Option<&'a Field<'a>> {
        self.field().filter(|field| kind::option(field.ty).is_some())
    }

    /// Whether its text always starts with an ASCII digit.
    fn starts_with_digit(&self) -> bool {
        match (self.width(false), self.kind()) {
            _ if self.is_shard() => false,
            (Width::Fixed(_), _) | (Width::UpTo(_), Kind::Unsigned(_)) => true,
            _ => false,
        }
    }

    /// Whether the value can be read back from a stored key.
    pub fn is_recoverable(&self) -> bool {
        self.field().is_some() && self.encoder != Encoder::Lower && !self.is_shard()
    }

    pub fn max_len(&self) -> Option<usize> {
        let (max_len, _) = self.field()?.max_len.as_ref()?;
        Some(usize::try_from(*max_len).unwrap_or(usize::MAX))
    }

    /// The most UTF-16 units that its field's limit leaves it.
    pub fn max(&self, escaped: bool) -> Option<usize> {
        let field = self.field()?;
        match self.width(escaped) {
            Width::UpTo(units) if field.max_len.is_some() || field.max.is_some() => Some(units),
            _ => None,
        }
    }

    pub fn width(&self, escaped: bool) -> Width {
        let field = self.field();
        match (self.encoder, self.kind()) {
            (Encoder::Shard(shards), _) => Width::Fixed(digits_of(u64::from(shards) - 1)),
            (Encoder::Spread, _) => Width::Fixed(10),
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
                // The lower case of `İ` takes two units.
                Some(max_len) if !escaped && self.encoder == Encoder::Lower => {
                    Width::UpTo(max_len.saturating_mul(2))
                }
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
    /// Resolves every template. A placeholder of unknown name is an error, and is left out.
    pub fn resolve(entity: &'a Entity<'a>, errors: &Errors) -> Self {
        let key = |template, each, sortable| Key::resolve(template, entity, each, sortable, errors);
        let partition = key(&entity.partition, None, false);
        let rows = entity.rows.iter().enumerate().map(|(at, row)| {
            let eventual = row.eventual.as_ref().map(|place| match &place.partition {
                Some(template) => key(template, row.each.as_ref(), false),
                // Its mistakes are reported already.
                None => Key::resolve(&entity.partition, entity, None, false, &Errors::default()),
            });
            let index = if eventual.is_some() { at + entity.uniques.len() } else { at };
            let key = key(&row.template, row.each.as_ref(), false);
            KeyedRow { row, index, key, partition: eventual }
        });
        let rows = rows.collect();
        let guards = entity.uniques.iter();
        let guards = guards.map(|unique| key(&unique.template, None, !unique.given)).collect();
        let canonical = entity.rows.iter().position(|row| row.canonical.is_some()).unwrap_or(0);
        Self { entity, partition, rows, guards, canonical }
    }

    /// The rows in the entity's own partition.
    pub fn own_rows(&self) -> impl Iterator<Item = &KeyedRow<'a>> {
        self.rows.iter().filter(|row| row.partition.is_none())
    }

    /// The rows in other partitions, each with its PartitionKey.
    pub fn eventual(&self) -> impl Iterator<Item = (&KeyedRow<'a>, &Key<'a>)> {
        self.rows.iter().filter_map(|row| Some((row, row.partition.as_ref()?)))
    }

    pub fn has_eventual(&self) -> bool {
        self.eventual().next().is_some()
    }

    /// The PartitionKey and the RowKey of a row.
    pub fn keys_of<'m>(&'m self, row: &'m KeyedRow<'a>) -> [&'m Key<'a>; 2] {
        [row.partition.as_ref().unwrap_or(&self.partition), &row.key]
    }

    pub fn keys(&self) -> impl Iterator<Item = &Key<'a>> {
        let own = |key: &&Key<'a>| !std::ptr::eq(key.template, self.partition.template);
        let rows = self.rows.iter().map(|row| &row.key);
        let eventual = self.eventual().map(|(_, partition)| partition).filter(own);
        std::iter::once(&self.partition).chain(rows).chain(&self.guards).chain(eventual)
    }

    pub fn parts(&self) -> impl Iterator<Item = &Part<'a>> {
        self.keys().flat_map(|key| &key.parts)
    }

    /// Whether a template is the name of a field that no key has.
    pub fn lacks_braces(&self, key: &Key<'_>) -> bool {
        let (name, no_slots) = (&key.template.text, key.template.slots.is_empty());
        let in_key =
            || self.parts().any(|part| part.origin().is_some_and(|(field, _)| field.name == *name));
        no_slots && self.entity.field(name).is_some() && !in_key()
    }

    /// Whether the canonical row's key determines every other row's key, and each of those the
    /// canonical one. Then no other entity can have the same index row, so an unconditional write
    /// replaces no other entity's. But two entities may want the same guard row.
    pub fn keys_follow_canonical(&self) -> bool {
        let Some(canonical) = self.rows.get(self.canonical) else { return false };
        let known = self.fields_from(canonical);
        let follows = |row: &KeyedRow<'_>| {
            let own = self.fields_from(row);
            row.row.when.is_none()
                && determines(&known, &row.key)
                && determines(&own, &canonical.key)
        };
        let is_canonical = |row| std::ptr::eq(row, canonical);
        let in_partition = self.guards.is_empty() && !self.has_eventual();
        in_partition && self.rows.iter().all(|row| is_canonical(row) || follows(row))
    }

    /// Whether a patch, which sets no field of a key, can change only the canonical row.
    pub fn patch_is_one_row(&self) -> bool {
        let computed = |part: &Part<'_>| matches!(part.source, Source::With(_));
        let rows = self.rows.len() + self.guards.len();
        // A row under a former name has to be replaced.
        let renamed = self.entity.fields.iter().any(|field| !field.aliases.is_empty());
        rows == 1 && !renamed && !self.parts().any(computed)
    }

    /// The fields that a patch can set: of one property or of slots, and in no key.
    pub fn settable(&self) -> impl Iterator<Item = &Field<'a>> {
        let has_setter = |field: &Field<'_>| match field.role {
            Role::Property | Role::Json | Role::Chunked | Role::ChunkedJson => field.is_stored(),
            Role::Series => field.is_stored() && kind::has_slots(field.ty),
            Role::Flatten | Role::Skip | Role::ETag | Role::Timestamp => false,
        };
        // A key, or the name of a table, is made of it.
        let names = |name: &str| self.entity.bucket.iter().flatten().any(|own| own.unraw() == name);
        let in_key = move |name: &str| {
            names(name) || self.parts().filter_map(Part::field).any(|field| field.name == name)
        };
        self.entity.fields.iter().filter(move |field| has_setter(field) && !in_key(&field.name))
    }

    /// The fields whose values a row's two keys hold.
    pub fn fields_from(&self, row: &KeyedRow<'_>) -> BTreeSet<String> {
        let parts = self.keys_of(row).into_iter().flat_map(|key| &key.parts);
        let fields = parts.filter(|part| part.is_recoverable()).filter_map(Part::field);
        fields.map(|field| field.name.clone()).collect()
    }

    /// Whether a row's two keys hold the field's value.
    pub fn recovers(&self, row: &KeyedRow<'_>, field: &Field<'_>) -> bool {
        self.keys_of(row).iter().any(|key| key.position(field).is_some())
    }
}

fn determines(fields: &BTreeSet<String>, key: &Key<'_>) -> bool {
    key.parts.iter().all(|part| part.field().is_some_and(|field| fields.contains(&field.name)))
}

impl Row {
    /// Whether one of its properties holds the field.
    pub fn has_property(&self, field: &Field<'_>) -> bool {
        field.is_stored() && self.stores(field)
    }

    /// Whether it is a copy with that field.
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

/// Reports the placeholders that name no field or component.
fn unknown(template: &Template, entity: &Entity<'_>, each: Option<&Each>, errors: &Errors) {
    let mut names = entity.names();
    names.extend(each.map(|each| each.name.unraw().to_string()));
    let known: BTreeSet<_> = names.iter().map(String::as_str).collect();
    let given = template.slots.iter().map(|slot| slot.name.as_str());
    let unknown = given.filter(|name| {
        let is_known = known.contains(name) || entity.each(name).is_some();
        !template.broken && !is_known && !entity.broken.iter().any(|own| own == name)
    });
    let unknown: Vec<_> = unknown.collect();
    let is_near = |name: &&str| nearest(name, known.iter().copied()).is_some();
    if !unknown.is_empty() && unknown.iter().all(is_near) {
        return errors.misspelled(&template.literal, &known);
    }
    for name in unknown {
        mistake!(errors, template.literal => "no field or component is called `{name}`",
            help = suggestion(name, known.iter().copied()));
    }
}

impl<'a> Key<'a> {
    /// The position of a component that holds the field's value.
    pub fn position(&self, field: &Field<'_>) -> Option<usize> {
        self.parts.iter().position(|part| {
            part.is_recoverable() && part.field().is_some_and(|own| own.name == field.name)
        })
    }

    /// Whether nothing bounds a range of keys without components: they start with no literal and no
    /// digit. Such a range is the whole partition.
    pub fn is_open(&self) -> bool {
        self.template.start.is_empty() && !self.parts.first().is_some_and(Part::starts_with_digit)
    }

    /// Whether an entity may have no such key.
    pub fn is_sparse(&self) -> bool {
        self.parts.iter().any(|part| part.sparse().is_some())
    }

    /// The most UTF-16 units of a key, as far as the derive knows its components.
    pub fn known_units(&self, encode: bool) -> usize {
        let literals = self.template.literals().map(|literal| literal.encode_utf16().count());
        let parts = self.parts.iter().map(|part| match part.width(encode) {
            Width::Fixed(units) | Width::UpTo(units) => units,
            Width::Unbounded | Width::Unknown => 0,
        });
        literals.chain(parts).fold(0, usize::saturating_add)
    }

    /// Resolves one template. If `sortable`, numbers without a format are encoded so that they sort.
    fn resolve(
        template: &'a Template,
        entity: &'a Entity<'a>,
        each: Option<&'a Each>,
        sortable: bool,
        errors: &Errors,
    ) -> Self {
        unknown(template, entity, each, errors);
        // The placeholders of a malformed template are a guess.
        let slots = if template.broken { &[] } else { &template.slots[..] };
        let parts = slots.iter().enumerate().filter_map(|(at, slot)| {
            let last = at + 1 == slots.len() && slot.separator.is_empty();
            let part = Part::resolve(template, (slot, last), entity, each, errors)?;
            Some(if sortable { part.sortable() } else { part })
        });
        Self { template, parts: parts.collect() }
    }
}

impl<'a> Part<'a> {
    fn resolve(
        template: &'a Template,
        (slot, last): (&'a Slot, bool),
        entity: &'a Entity<'a>,
        each: Option<&'a Each>,
        errors: &Errors,
    ) -> Option<Self> {
        let name = slot.name.clone();
        let component = entity.components.iter().find(|other| other.name.unraw() == name);
        let encoder = component.map_or(Encoder::Plain, |component| component.encoder);
        let value = |name: &str| {
            if let Some(each) = each.filter(|each| each.name.unraw() == name) {
                let field = entity.field(&each.field.unraw().to_string())?;
                return Some(Source::Element(field, kind::element(field.ty)?));
            }
            let field = entity.field(name);
            if let (None, Some(Each { field, .. })) = (field, entity.each(name)) {
                mistake!(errors, template.literal => "`{name}` is any element of `{field}`, and this key is not written for each of them",
                    help: "write it in the key of a row with `each({name} in {field})`");
            }
            field.map(Source::Field)
        };
        let source = match component.map(|component| &component.argument) {
            Some(Argument::With(path)) => Source::With(path),
            Some(Argument::Field(own)) => value(&own.unraw().to_string())?,
            None => value(&name)?,
        };
        let padded = match (slot.digits, source) {
            (None, _) => Some(encoder),
            (Some(_), Source::With(_)) => None,
            (Some(digits), _) => encoder.padded(digits),
        };
        let Some(encoder) = padded else {
            mistake!(errors, template.literal => "component `{name}` takes no width", help: "write `{{{name}}}`");
            return None;
        };
        let ident = match (component, source) {
            (Some(component), _) => component.name.clone(),
            (None, Source::Field(field)) => field.ident.clone(),
            (None, _) => each?.name.clone(),
        };
        Some(Self { ident, name, source, encoder, separator: &slot.separator, last })
    }

    /// With the encoder that makes a plain number sort.
    fn sortable(mut self) -> Self {
        self.encoder = match (self.encoder, self.kind()) {
            (Encoder::Plain, Kind::Unsigned(_)) => Encoder::Ascending,
            (Encoder::Plain, Kind::Signed(_)) => Encoder::Biased,
            (encoder, _) => encoder,
        };
        self
    }
}
