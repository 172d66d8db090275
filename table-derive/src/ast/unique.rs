//! A `unique(..)` of an entity.

use crate::attr::{Item, Items, Value};
use crate::errors::{Errors, mistake};
use crate::symbol::{GUARD_START, ON_UNIQUE};
use crate::template::Template;
use crate::tokens::*;

/// A `unique(..)`: values that no two entities of a partition share, or with `across` no two at all.
pub struct Unique {
    /// Its fields and components, joined by `_`.
    pub name: String,
    /// The attribute's name, where errors are shown.
    pub at: Ident,
    pub components: Vec<Ident>,
    /// The template of the guard row's RowKey.
    pub template: Template,
    /// Whether the user wrote the template.
    pub given: bool,
    /// Whether its values are unique over all partitions, and the table of its guard rows.
    pub across: Option<Span>,
    pub table: Option<LitStr>,
}

impl Unique {
    pub fn parse(at: Ident, list: Vec<Item>, errors: &Errors) -> Option<Self> {
        let is_name = |item: &Item| matches!(item.value, Value::None) && item.name != "across";
        let (named, options): (Vec<_>, Vec<_>) = list.into_iter().partition(is_name);
        let components: Vec<Ident> = named.into_iter().map(|item| item.name).collect();
        let Some(first) = components.first() else {
            mistake!(errors, at => "`unique` names no field", help: "write `unique(field)`");
            return None;
        };
        let names: Vec<_> = components.iter().map(|name| name.unraw().to_string()).collect();
        let name = names.join("_");
        let mut items = Items::new(options, ON_UNIQUE, errors);
        let (across, table): (_, Option<LitStr>) = (items.get("across"), items.get("table"));
        let key: Option<LitStr> = items.get("key");
        if let (Some(key), Some(_)) = (&key, across) {
            mistake!(errors, key => "the guard row of `unique({name}, across)` has a key of its own",
                help: "remove `key`: values that are unique over all partitions are not guarded in the entity's partition");
        }
        if let (Some(table), None) = (&table, across) {
            mistake!(errors, table => "the guard row of `unique({name})` is in the entity's partition",
                help: "remove `table`, or add `across`: the values are then unique over all partitions");
        }
        let given = key.is_some();
        let literal = key.unwrap_or_else(|| {
            LitStr::new(&format!("{GUARD_START}{name}:{{{}}}", names.join("}__{")), first.span())
        });
        let template = Template::parse_or_guess(literal, errors);
        Some(Self { name, at, components, template, given, across, table })
    }

    /// Its fields and components, as written.
    pub fn list(&self) -> String {
        let names: Vec<_> = self.components.iter().map(|name| name.unraw().to_string()).collect();
        names.join(", ")
    }
}
