//! Rules over an entity's table: its name, and how its partitions and transactions spread the load.

use crate::ast::{Encoder, Entity};
use crate::errors::{Errors, mistake};
use crate::growing::{FEW, Few, Growing, Growth, few_partitions, growing};
use crate::kind::Kind;
use crate::model::{Model, Part};
use crate::tokens::*;

/// The most operations of one transaction (service documentation).
const MAX_ROWS: usize = 100;

/// The service creates no table of another name.
pub fn name(table: &LitStr, errors: &Errors) {
    let name = table.value();
    let valid = (3..=63).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
        && !name.eq_ignore_ascii_case("tables");
    if !valid {
        mistake!(errors, table => "`{name}` is not a valid table name",
            help: "use 3 to 63 ASCII letters and digits that start with a letter; `tables` is reserved");
    }
}

/// One transaction writes all rows of an entity.
pub fn rows(entity: &Entity<'_>, errors: &Errors) {
    let eventual = entity.rows.iter().filter(|row| row.eventual.is_some()).count();
    let across = entity.uniques.iter().any(|unique| unique.across.is_some());
    // The transaction also writes an intent, in place of a guard in another partition a ticket, and an event
    // and its number. That of `eventual` rows deletes a ticket.
    let helpers = usize::from(across || eventual > 0) + 2 * usize::from(entity.outbox.is_some());
    let own = entity.rows.len() - eventual + entity.uniques.len() + helpers;
    let rows = own.max(eventual + 1);
    if let Some(row) = entity.rows.last().filter(|_| rows > MAX_ROWS) {
        mistake!(errors, row.name => "the entity has {rows} rows with its helper rows, but one transaction writes at most {MAX_ROWS}",
            help: "remove some of the rows; `eventual`, `across` and `outbox` add helper rows");
    }
}

/// A PartitionKey that starts with a growing value sends all writes to one partition server, and one with few values
/// before it to few of them.
pub fn append_only(model: &Model<'_>, errors: &Errors) {
    if model.entity.allow_append_only.is_some() {
        return;
    }
    let mut sure = growing(model).into_iter().filter(Growing::is_sure);
    let Some(Growing { part, growth, before }) = sure.next() else { return };
    let name = &part.name;
    let (value, end, help) = match growth {
        Growth::ByType(what) => {
            let descends =
                matches!(part.encoder, Encoder::Descending | Encoder::DescendingPadded(_));
            let help = if part.kind() == Kind::Ulid {
                format!(
                    "start it with `shard({name}, N)`; for long-lived things, use a random UUID, or add \
                     `allow_append_only` if new ones are rare"
                )
            } else {
                "start it with a value that spreads the load, or add `allow_append_only` to accept that"
                    .to_owned()
            };
            (format!("the {what} `{name}`"), if descends { "prepend" } else { "append" }, help)
        }
        // A name is no proof, so the error says what to do where the value does not grow.
        Growth::ByName(name) => (
            format!("`{name}`, which follows the clock or a count, as its name says"),
            "append",
            format!(
                "start it with a value that spreads the load; if `{name}` does not follow them, or few rows are \
                 written at a time, add `allow_append_only`"
            ),
        ),
        Growth::Unknown => return,
    };
    let (starts, servers) = if before.is_empty() {
        ("starts with".to_owned(), "one partition server".to_owned())
    } else {
        (format!("has at most {FEW} values before"), format!("at most {FEW} partition servers"))
    };
    mistake!(errors, model.partition.template.literal =>
        "the PartitionKey {starts} {value}, so all writes go to {servers} ({end}-only hot partition)", help = help);
}

/// One server serves a partition, so a few of them cannot carry a table that grows.
pub fn single_partition(model: &Model<'_>, errors: &Errors) {
    let key = &model.partition;
    // A placeholder with a mistake is no component.
    if key.parts.len() != key.template.slots.len() {
        return;
    }
    let wrong = match few_partitions(model) {
        Few::Sure(_) if key.parts.is_empty() => {
            "is the same for all entities, so one partition server has the whole table".to_owned()
        }
        Few::Sure(number) => format!(
            "has {number} values, so at most {number} partition servers share the whole table"
        ),
        Few::Unknown(..) | Few::No => return,
    };
    let is_reported = key.template.broken || model.lacks_braces(key);
    if !is_reported && model.entity.allow_single_partition.is_none() {
        mistake!(errors, key.template.literal => "the PartitionKey {wrong}",
            help: "start it with a value that spreads the load, or add `allow_single_partition` if the table stays small");
    }
}

/// Rows of one partition share one server, whatever their RowKeys are.
pub fn shards_of_rows(model: &Model<'_>, errors: &Errors) {
    for key in model.rows.iter().map(|row| &row.key).chain(&model.guards) {
        if let Some(part) = key.parts.iter().find(|part| part.is_shard()) {
            let (name, attribute) = (&part.name, attribute(part));
            mistake!(errors, key.template.literal => "`{name}` is a `{attribute}` in a RowKey, which does not spread the load",
                help: "write `{{{name}}}` in `partition`");
        }
    }
}

/// The attribute of a component that spreads an entity's partitions.
fn attribute(part: &Part<'_>) -> &'static str {
    if part.encoder == Encoder::Spread { "spread" } else { "shard" }
}

/// A second shard only multiplies the partitions, as a larger number of shards does.
pub fn one_shard(model: &Model<'_>, errors: &Errors) {
    let eventual = model.eventual().map(|(_, partition)| partition);
    for key in std::iter::once(&model.partition).chain(eventual) {
        let mut shards = key.parts.iter().filter(|part| part.is_shard());
        let (Some(first), Some(second)) = (shards.next(), shards.next()) else { continue };
        let (name, attributes) = (&second.name, [first, second].map(attribute));
        let help = match attributes {
            ["shard", "shard"] => "remove one of them, and give the other more shards",
            ["spread", "spread"] => "remove one of them: both have 60 partitions for each day",
            _ => {
                "keep `spread` for rows that are read by time, or `shard` to divide the writes of each second"
            }
        };
        let [first, second] = attributes;
        mistake!(errors, key.template.literal => "`{name}` is a `{second}` beside a `{first}` in one PartitionKey, which has at most one of them",
            help = help);
    }
}
