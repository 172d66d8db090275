//! Rules over an entity's table: its name, and how its partitions and transactions spread the load.

use crate::ast::{Encoder, Entity};
use crate::errors::{Errors, mistake};
use crate::kind::Kind;
use crate::model::{Model, Part};
use crate::tokens::*;

/// The last words of names of values that grow with time. A `second` comes again each minute, so it spreads.
const TIMES: [&str; 20] = [
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "date",
    "hour",
    "minute",
    "seconds",
    "time",
    "timestamp",
    "at",
    "ts",
    "ms",
    "millis",
    "micros",
    "nanos",
    "yyyymmdd",
    "ticks",
    "epoch",
];
/// Those of numbers that count up.
const COUNTERS: [&str; 6] = ["n", "seq", "sequence", "serial", "ordinal", "counter"];

/// The most operations of one transaction (service documentation).
const MAX_ROWS: usize = 100;

/// The service creates no table of another name.
pub fn name(table: &LitStr, errors: &mut Errors) {
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
pub fn rows(entity: &Entity<'_>, errors: &mut Errors) {
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

/// A PartitionKey that starts with a growing value sends all writes to one partition server.
pub fn append_only(model: &Model<'_>, errors: &mut Errors) {
    let Some(part) = model.partition.parts.first() else { return };
    if model.entity.allow_append_only {
        return;
    }
    let Some(what) = grows(part) else { return grows_by_name(model, part, errors) };
    let end = match part.encoder {
        Encoder::Descending | Encoder::DescendingPadded(_) => "prepend",
        _ => "append",
    };
    let name = &part.name;
    let help = if part.kind() == Kind::Ulid {
        format!(
            "start it with `shard({name}, N)`; for long-lived things, use a random UUID, or add \
             `allow_append_only` if new ones are rare"
        )
    } else {
        "start it with a value that spreads the load, or add `allow_append_only` to accept that"
            .to_owned()
    };
    mistake!(errors, model.partition.template.literal =>
        "the PartitionKey starts with the {what} `{name}`, so all writes go to one partition server ({end}-only hot partition)",
        help = help);
}

/// Whether its type or its encoder says that it has two values.
fn has_two_values(part: &Part<'_>) -> bool {
    match part.encoder {
        Encoder::Shard(shards) => shards == 2,
        _ => part.kind() == Kind::Bool,
    }
}

/// One server serves a partition, so one or two of them cannot carry a table that grows.
pub fn single_partition(model: &Model<'_>, errors: &mut Errors) {
    let key = &model.partition;
    // A placeholder with a mistake is no component.
    let wrong = match &key.parts[..] {
        [] if key.template.slots.is_empty() => {
            "is the same for all entities, so one partition server has the whole table"
        }
        [part] if key.template.slots.len() == 1 && has_two_values(part) => {
            "has two values, so at most two partition servers share the whole table"
        }
        _ => return,
    };
    let is_reported = key.template.broken || model.lacks_braces(key);
    if !is_reported && !model.entity.allow_single_partition {
        mistake!(errors, key.template.literal => "the PartitionKey {wrong}",
            help: "start it with a value that spreads the load, or add `allow_single_partition` if the table stays small");
    }
}

/// What a component counts, as far as its type and encoder show. An integer in its plain form or with
/// a width may be an id, but one with `asc` or `desc` is a sequence.
fn grows(part: &Part<'_>) -> Option<&'static str> {
    let field = part.field().filter(|_| !part.is_shard())?;
    let ordered = part.encoder.is_ordered() || part.name != field.name;
    match part.kind() {
        Kind::Instant => Some("clock"),
        Kind::Date => Some("date"),
        Kind::Ulid => Some("ULID"),
        Kind::Unsigned(_) if ordered => Some("counter"),
        Kind::Signed(_) if part.encoder.is_ordered() => Some("counter"),
        _ => None,
    }
}

/// A name is no proof, so the error says what to do where the value does not grow.
fn grows_by_name(model: &Model<'_>, part: &Part<'_>, errors: &mut Errors) {
    let Some(field) = part.field().filter(|_| !part.is_shard()) else { return };
    let is_number = matches!(part.kind(), Kind::Unsigned(_) | Kind::Signed(_));
    let grows = |name: &String| {
        let last = name.rsplit('_').next().unwrap_or_default();
        let is_time = TIMES.contains(&last) && (is_number || part.kind() == Kind::Text);
        is_time || (COUNTERS.contains(&last) && is_number)
    };
    // A component has a name of its own, and the field's value.
    let names = [part.name.to_string(), field.name.to_string()];
    let Some(name) = names.iter().find(|name| grows(name)) else { return };
    mistake!(errors, model.partition.template.literal =>
        "the PartitionKey starts with `{name}`, which follows the clock or a count, as its name says, so all writes go to one partition server (append-only hot partition)",
        help: "start it with a value that spreads the load; if `{name}` does not follow them, or few rows are written at a time, add `allow_append_only`");
}

/// Rows of one partition share one server, whatever their RowKeys are.
pub fn shards_of_rows(model: &Model<'_>, errors: &mut Errors) {
    for key in model.rows.iter().chain(&model.guards) {
        if let Some(Part { name, .. }) = key.parts.iter().find(|part| part.is_shard()) {
            mistake!(errors, key.template.literal => "shard `{name}` in a RowKey does not spread the load",
                help: "write `{{{name}}}` in `partition`");
        }
    }
}

/// A second shard only multiplies the partitions, as a larger number of shards does.
pub fn one_shard(model: &Model<'_>, errors: &mut Errors) {
    for key in std::iter::once(&model.partition).chain(&model.eventual_partitions) {
        let mut shards = key.parts.iter().filter(|part| part.is_shard());
        let Some(Part { name, .. }) = shards.nth(1) else { continue };
        mistake!(errors, key.template.literal => "`{name}` is a second shard in one PartitionKey",
            help: "remove one of them, and give the other more shards");
    }
}

#[cfg(test)]
mod tests {
    /// The words that the runtime's tests read too.
    const WORDS: [(&str, &[&str]); 4] = include!("../../../tests/fixtures/words.rs");

    #[test]
    fn names_of_times_are_those_of_the_runtime() {
        assert_eq!(("times", &super::TIMES[..]), WORDS[0]);
    }
}
