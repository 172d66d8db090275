//! The lock's text: an entity, its items, and their facts, each on a line of its own.
//!
//! Invariant: a text that was written is parsed as what it was written from.

use std::fmt::Write as _;

/// What is written above the entities.
const HEAD: &str = "\
# What rows the types of this app store. A test compares it with the types.
# `TABLE_ORM_LOCK=update cargo test` adds changes that stored rows survive.
# To make another change, delete the lines that it contradicts: then no stored row may need them.
";

/// What a type is.
pub(super) const ENTITY: &str = "entity";
pub(super) const UNION: &str = "union";

/// What the item is called that says when entities expire.
pub(super) const EXPIRY: &str = "expiry";
/// The fact with a name that a property had in earlier versions.
pub(super) const FORMER_NAME: &str = "formerly";

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entity {
    pub what: &'static str,
    pub name: String,
    pub items: Vec<Item>,
}

/// Its keys, or one of its rows, unique values, properties and sums: what it is, and its name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub what: String,
    pub name: String,
    /// Labels with values. Labels may repeat.
    pub facts: Vec<(String, String)>,
}

impl Item {
    pub fn new(what: &str, name: &str) -> Self {
        Self { what: what.to_owned(), name: name.to_owned(), facts: Vec::new() }
    }

    pub fn fact(mut self, label: &str, value: impl ToString) -> Self {
        self.facts.push((label.to_owned(), value.to_string()));
        self
    }

    pub fn get(&self, label: &str) -> Option<&str> {
        let mut facts = self.facts.iter();
        facts.find(|(other, _)| other == label).map(|(_, value)| &**value)
    }

    /// What errors call it.
    pub fn title(&self) -> String {
        format!("{} {}", self.what, self.name).trim_end().to_owned()
    }
}

impl Entity {
    pub fn items(&self, what: &str) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(move |item| item.what == what)
    }

    pub fn item(&self, what: &str, name: &str) -> Option<&Item> {
        self.items(what).find(|item| item.name == name)
    }
}

pub(super) fn write(entities: &[Entity]) -> String {
    let mut text = HEAD.to_owned();
    // Text takes all that is written to it.
    for Entity { what, name, items } in entities {
        let _ = writeln!(text, "\n{what} {name}");
        for item in items {
            let _ = writeln!(text, "  {}", item.title());
            for (label, value) in &item.facts {
                // No line ends with a space, which editors remove.
                let space = if value.is_empty() { "" } else { " " };
                let _ = writeln!(text, "    {label}:{space}{value}");
            }
        }
    }
    text
}

/// The entities of a text, or the number of the first line that is not as it was written.
pub(super) fn parse(text: &str) -> Result<Vec<Entity>, usize> {
    let mut entities: Vec<Entity> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = || index + 1;
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        if let Some(fact) = line.strip_prefix("    ") {
            let empty = || Some((fact.strip_suffix(':')?, ""));
            let (label, value) = fact.split_once(": ").or_else(empty).ok_or_else(wrong)?;
            let item = entities.last_mut().and_then(|entity| entity.items.last_mut());
            let item = item.ok_or_else(wrong)?;
            item.facts.push((label.to_owned(), value.to_owned()));
        } else if let Some(title) = line.strip_prefix("  ") {
            let (what, name) = title.split_once(' ').unwrap_or((title, ""));
            entities.last_mut().ok_or_else(wrong)?.items.push(Item::new(what, name));
        } else {
            let (what, name) = line.split_once(' ').ok_or_else(wrong)?;
            let what = [ENTITY, UNION].into_iter().find(|known| *known == what);
            let (what, name) = (what.ok_or_else(wrong)?, name.to_owned());
            entities.push(Entity { what, name, items: Vec::new() });
        }
    }
    Ok(entities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_spaces_at_line_ends_is_parsed_as_what_it_was_written_from() {
        let keys = Item::new("keys", "of the partition").fact("template", "").fact("kind", "a: b");
        let open = Item::new("open", "").fact("template", "{day}: ");
        let entities = [Entity { what: ENTITY, name: "Order".to_owned(), items: vec![keys, open] }];
        let text = write(&entities);
        assert_eq!(parse(&text).unwrap(), entities);
        assert_eq!(parse(&text.replace('\n', "\r\n")).unwrap(), entities);
        assert!(text.contains("    template:\n"), "{text}");
        assert_eq!(parse(&text.replace("    template:\n", "    template: \n")).unwrap(), entities);
    }
}
