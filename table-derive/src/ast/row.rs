//! A row: what the user wrote in `#[row(..)]`, or in `row` of an entity.

use crate::attr::{Each, Item, Items, named};
use crate::errors::{Errors, mistake};
use crate::symbol::ON_ROW;
use crate::template::Template;
use crate::tokens::*;

pub struct Row {
    pub name: Ident,
    pub template: Template,
    pub copy: Copy,
    pub when: Option<Path>,
    pub canonical: Option<Span>,
    /// The elements that it is written for, if not for the entity.
    pub each: Option<Each>,
    /// Where it is, if not in the entity's own partition.
    pub eventual: Option<Eventual>,
    pub allow_duplicate: Option<Span>,
    pub allow_key_conflict: Option<Span>,
}

/// A place outside the entity's own partition.
pub struct Eventual {
    /// `None` for the entity's own table.
    pub table: Option<LitStr>,
    /// `None` for the PartitionKey of the entity's own partition.
    pub partition: Option<Template>,
}

pub enum Copy {
    Full,
    Include(Vec<Ident>),
    Exclude(Vec<Ident>),
}

/// The rows, those of other partitions last. After a malformed attribute the entity is not `complete`, and may seem to have none.
pub fn rows(
    input: &DeriveInput,
    short: Option<LitStr>,
    complete: bool,
    errors: &Errors,
) -> Vec<Row> {
    let attrs: Vec<_> = input.attrs.iter().filter(|attr| attr.path().is_ident("row")).collect();
    if short.is_none() && attrs.is_empty() && complete {
        mistake!(errors, input.ident => "the entity has no rows",
            help: "add `#[row(by_x, key = \"..\")]`, or `row = \"..\"` in `#[table(..)]`");
    }
    let short = short.map(|literal| {
        let name = Ident::new("row", literal.span());
        Row::full(name, Template::parse_or_guess(literal, errors))
    });
    let mut rows = Vec::from_iter(short);
    for attr in attrs {
        let row = errors.keep(named(attr));
        rows.extend(row.map(|(name, items)| Row::parse(name, items, errors)));
    }
    rows.sort_by_key(|row| row.eventual.is_some());
    rows
}

impl Row {
    pub fn full(name: Ident, template: Template) -> Self {
        Self {
            name,
            template,
            copy: Copy::Full,
            when: None,
            canonical: None,
            each: None,
            eventual: None,
            allow_duplicate: None,
            allow_key_conflict: None,
        }
    }

    /// The placeholder for rows that the user did not write.
    pub fn missing() -> Self {
        Self::full(Ident::new("row", Span::call_site()), Template::missing())
    }

    fn parse(name: Ident, given: Vec<Item>, errors: &Errors) -> Self {
        let mut items = Items::new(given, ON_ROW, errors);
        let include: Option<Vec<_>> = items.get("include");
        let exclude: Option<Vec<_>> = items.get("exclude");
        if include.is_some() && exclude.is_some() {
            mistake!(errors, name => "row `{name}` has both `include` and `exclude`",
                help: "keep the shorter of the two");
        }
        let copy = include.map(Copy::Include).or(exclude.map(Copy::Exclude)).unwrap_or(Copy::Full);
        let mut row = Self {
            copy,
            when: items.get("when"),
            canonical: items.get("canonical"),
            each: items.get("each"),
            eventual: Eventual::parse(&name, &mut items, errors),
            allow_duplicate: items.get("allow_duplicate"),
            allow_key_conflict: items.get("allow_key_conflict"),
            ..Self::full(name, Template::missing())
        };
        let name = &row.name;
        row.template = if let Some(key) = items.get("key") {
            Template::parse_or_guess(key, errors)
        } else {
            mistake!(errors, name => "row `{name}` has no key template",
                help: "write `#[row({name}, key = \"..\")]`");
            Template::guess(LitStr::new("", name.span()))
        };
        row
    }
}

impl Eventual {
    fn parse(row: &Ident, items: &mut Items<'_>, errors: &Errors) -> Option<Self> {
        let eventual: Option<Span> = items.get("eventual");
        let (table, partition): (Option<LitStr>, Option<LitStr>) =
            (items.get("table"), items.get("partition"));
        match (eventual, partition.as_ref().or(table.as_ref())) {
            (None, Some(at)) => {
                mistake!(errors, at => "row `{row}` is in another partition or table, so no transaction can write it together with the entity",
                    help: "add `eventual`: the row then follows each write of the entity in a transaction of its own");
            }
            (Some(at), None) => {
                mistake!(errors, Ident::new("eventual", at) => "row `{row}` is `eventual`, but in the entity's own partition",
                    help: "remove `eventual`: one transaction writes all rows of the partition; or add the row's place: `partition = \"..\"` or `table = \"..\"`");
            }
            _ => {}
        }
        let partition = partition.map(|literal| Template::parse_or_guess(literal, errors));
        (table.is_some() || partition.is_some()).then_some(Self { table, partition })
    }
}
