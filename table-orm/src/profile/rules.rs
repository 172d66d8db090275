//! The rules of the service's documentation that a profile can check, each with its threshold.
//!
//! Invariant: advice follows from the report alone. A table of less than [`MANY`] rows gets none about
//! figures, because a few rows show no habit.

use super::advice::{Advice, AdviceKind};
use super::report::{
    ComponentProfile, Distinct, KindProfile, ProfileReport, PropertyProfile, RowRole,
};
use crate::figures::{bytes as size, grouped};
use crate::model::{self, DateTime, MAX_BINARY_BYTES, MAX_ENTITY_BYTES};
use std::time::Duration;

/// The fewest rows that show a habit.
const MANY: u64 = 1000;
/// Rows a second of one partition.
const PARTITION_TARGET: u64 = model::PARTITION_TARGET as u64;
/// The fewest partitions whose order of writes says something.
const MANY_PARTITIONS: u64 = 20;
const DAY: Duration = Duration::from_hours(24);
/// The most names of one piece of advice.
const NAMED: usize = 5;

/// The advice about a report, whose newest row was written then.
pub(super) fn advice(report: &ProfileReport, newest: Option<DateTime>) -> Vec<Advice> {
    let of_whole = partitions(report)
        .into_iter()
        .chain(two_partitions(report))
        .chain(constant_components(report))
        .chain(write_order(report));
    let habits = [
        large_entities(report),
        large_property(report),
        long_names(report).filter(|_| report.is_whole),
        rare_properties(report, false),
        rare_properties(report, true),
        constant_properties(report).filter(|_| report.is_whole),
        full_copies(report).filter(|_| report.is_whole),
    ];
    // A part of a table has the partitions and values that were asked for.
    let habits = of_whole.filter(|_| report.is_whole).chain(habits.into_iter().flatten());
    let habits = habits.filter(|_| report.rows >= MANY);
    let faults =
        [mixed_types(report), unknown_rows(report), unfinished(report, newest), unreadable(report)];
    habits.chain(faults.into_iter().flatten()).collect()
}

fn new(kind: AdviceKind, finding: String, action: &str, rule: &str) -> Option<Advice> {
    Some(Advice { kind, finding, action: action.to_owned(), rule: rule.to_owned() })
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.0} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// Whether a part is at least that number of hundredths of the whole.
const fn is_share(part: u64, whole: u64, hundredths: u64) -> bool {
    part as u128 * 100 >= whole as u128 * hundredths as u128
}

fn partitions(report: &ProfileReport) -> Option<Advice> {
    let partitions = &report.partitions;
    let entities = partitions.count - partitions.only_helpers;
    if let Some(largest) = partitions.most_rows.first()
        && (partitions.count == 1
            || largest.rows >= 10 * PARTITION_TARGET && is_share(largest.rows, report.rows, 10))
    {
        let seconds = largest.rows.div_ceil(PARTITION_TARGET);
        let reading = format!("Reading it takes {seconds} s or more with any number of workers.");
        let (kind, finding) = if partitions.count == 1 {
            let rows = grouped(report.rows);
            let finding = format!("All {rows} rows are in one partition. {reading}");
            (AdviceKind::SinglePartition, finding)
        } else {
            let share = percent(largest.rows, report.rows);
            let (key, rows) = (&largest.key, grouped(largest.rows));
            let finding = format!("Partition {key:?} has {share} of all rows: {rows}. {reading}");
            (AdviceKind::HotPartition, finding)
        };
        return new(
            kind,
            finding,
            "If its share of the requests is as large, divide it: by another component of the PartitionKey, or \
             by a `shard`.",
            "Rule: one server answers a partition, with 2,000 rows a second; load spreads over many \
             partitions (Scalability and performance targets for Table storage).",
        );
    }
    if entities >= MANY && is_share(partitions.single_row, entities, 90) {
        return new(
            AdviceKind::SingleRows,
            format!(
                "{} of {} partitions have one row.",
                grouped(partitions.single_row),
                grouped(entities)
            ),
            "That is right for point queries alone. If rows are listed or changed together, give them one \
             PartitionKey.",
            "Rule: entities that are queried or changed together belong in one partition: a transaction is of \
             one partition, and a range over many of them is a scan (Guidelines for table design).",
        );
    }
    None
}

/// Whether they are rows in the partition of their entity.
const fn in_partition(kind: &KindProfile) -> bool {
    matches!(kind.role, RowRole::Entity | RowRole::Copy)
}

/// The compiler refuses a PartitionKey of one `bool`. This finds two values in what is stored.
fn two_partitions(report: &ProfileReport) -> Vec<Advice> {
    let of = |entity: &str, is: fn(&KindProfile) -> bool| {
        let own = report.kinds.iter().filter(|kind| kind.entity.as_deref() == Some(entity));
        own.filter(|kind| is(kind)).map(|kind| kind.rows).sum::<u64>()
    };
    let is_whole = |one: &&ComponentProfile| {
        let mut others = report.components.iter().filter(|other| {
            other.entity == one.entity && other.row.is_none() && other.name != one.name
        });
        one.row.is_none()
            && one.values == Distinct::Exactly(2)
            && others.all(|other| other.values.is_one())
            && of(&one.entity, in_partition) >= 10 * PARTITION_TARGET
    };
    let of_each = report.components.iter().filter(is_whole).filter_map(|one| {
        let ComponentProfile { entity, name, .. } = one;
        let entities = grouped(of(entity, |kind| kind.role == RowRole::Entity));
        new(
            AdviceKind::TwoPartitions,
            format!(
                "All {entities} entities of `{entity}` are in partitions of two values of `{name}`."
            ),
            "If more values do not come with time, add another component to the PartitionKey, or a `shard`.",
            "Rule: one server answers a partition, with 2,000 rows a second; load spreads over many \
             partitions (Scalability and performance targets for Table storage).",
        )
    });
    of_each.collect()
}

/// Components of a PartitionKey whose values are all the same, while another one spreads the rows.
fn constant_components(report: &ProfileReport) -> Vec<Advice> {
    let many = |one: &ComponentProfile| {
        let own = report.kinds.iter().filter(|kind| kind.entity.as_ref() == Some(&one.entity));
        let rows = own.filter(|kind| in_partition(kind)).map(|kind| kind.rows);
        rows.sum::<u64>() >= MANY
    };
    let spreads = |one: &ComponentProfile| {
        let mut others = report.components.iter().filter(|other| other.entity == one.entity);
        others.any(|other| other.row.is_none() && !other.values.is_one())
    };
    let is_constant = |one: &&ComponentProfile| {
        one.row.is_none() && one.values.is_one() && spreads(one) && many(one)
    };
    let of_each = report.components.iter().filter(is_constant).filter_map(|one| {
        let ComponentProfile { entity, name, .. } = one;
        new(
            AdviceKind::ConstantComponent,
            format!("`{name}` has one value in the PartitionKeys of all entities of `{entity}`."),
            "If no more values come with time, leave it out of the key. As it is, it spreads no load.",
            "Rule: load spreads over many partitions, by the values of the PartitionKey that differ (Scalability \
             and performance targets for Table storage).",
        )
    });
    of_each.collect()
}

fn write_order(report: &ProfileReport) -> Option<Advice> {
    let order = report.write_order.as_ref()?;
    let (from, to): (DateTime, DateTime) = (order.from.parse().ok()?, order.to.parse().ok()?);
    // Rows that were loaded in key order look the same.
    if order.partitions < MANY_PARTITIONS || order.correlation.abs() < 0.9 || to.since(from) < DAY {
        return None;
    }
    let (kind, place) = if order.correlation > 0.0 {
        (AdviceKind::AppendOnly, "behind")
    } else {
        (AdviceKind::PrependOnly, "before")
    };
    let finding = format!(
        "New partitions come {place} all others: the order of PartitionKeys and that of their first writes \
         correlate by {:.2}.",
        order.correlation
    );
    new(
        kind,
        finding,
        "If writes come fast, begin the PartitionKey with something that does not follow time, such as a \
         `shard` or the name of the writer.",
        "Rule: avoid the prepend/append anti-pattern: neighbouring partitions share a server, so all writes go \
         to one (Table design patterns).",
    )
}

fn large_entities(report: &ProfileReport) -> Option<Advice> {
    const LARGE: u64 = MAX_BINARY_BYTES as u64;
    let sizes = report.sizes.as_ref()?;
    let large = sizes.histogram.iter().filter(|bucket| bucket.at_most > LARGE);
    let (rows, bytes) =
        large.fold((0, 0), |(rows, bytes), one| (rows + one.rows, bytes + one.bytes));
    let is_near_limit = sizes.row.most > MAX_ENTITY_BYTES as u64 / 2;
    if !is_near_limit && !is_share(bytes, sizes.bytes, 25) {
        return None;
    }
    let finding = format!(
        "{} rows have more than 64 KiB and {} of the bytes. The largest has {}; the limit is 1 MiB.",
        grouped(rows),
        percent(bytes, sizes.bytes),
        size(sizes.row.most)
    );
    new(
        AdviceKind::LargeEntities,
        finding,
        "Store large values in blobs, and their names in the rows.",
        "Rule: the large entities pattern: an entity has at most 1 MiB, and each read of it transfers all of \
         it (Table design patterns).",
    )
}

fn large_property(report: &ProfileReport) -> Option<Advice> {
    let all = report.bytes()?;
    let is_large = |property: &&PropertyProfile| {
        property.types.iter().any(|edm| edm == "Edm.String")
            && property.bytes >= 1024 * property.rows
            && is_share(property.bytes, all, 30)
    };
    let PropertyProfile { name, bytes, rows, .. } = report.properties.iter().find(is_large)?;
    let finding = format!(
        "The text `{name}` has {} of the bytes, {} in a row.",
        percent(*bytes, all),
        size(bytes / rows.max(&1))
    );
    new(
        AdviceKind::LargeProperty,
        finding,
        "If filters do not name it, store it compressed: `Zstd<String>`. If lists do not show it, leave it out \
         of index rows.",
        "Rule: text takes two bytes for a character, and is billed so (Understanding the Table service data \
         model).",
    )
}

fn long_names(report: &ProfileReport) -> Option<Advice> {
    let sizes = report.sizes.as_ref()?;
    if !is_share(sizes.name_bytes, sizes.bytes, 50) {
        return None;
    }
    let share = percent(sizes.name_bytes, sizes.bytes);
    new(
        AdviceKind::LongNames,
        format!("The names of properties are {share} of the bytes."),
        "Where the cost of storage matters, shorten them: `#[table(rename = \"..\")]`.",
        "Rule: each entity stores the names of its properties, two bytes for a character (Understanding the \
         Table service data model).",
    )
}

/// Those that a type declares are no mistake, and those that none declares may be one.
fn rare_properties(report: &ProfileReport, are_declared: bool) -> Option<Advice> {
    let is_rare = |property: &&PropertyProfile| {
        property.is_declared == are_declared
            && property.of_rows >= MANY
            && !is_share(property.rows, property.of_rows, 1)
    };
    let rare: Vec<_> = report.properties.iter().filter(is_rare).collect();
    let shown = |one: &&PropertyProfile| {
        format!("`{}` in {} of {}", one.name, grouped(one.rows), grouped(one.of_rows))
    };
    let finding = format!("Few rows have these properties: {}.", list(&rare, shown)?);
    if are_declared {
        return new(
            AdviceKind::RareProperties,
            finding,
            "A type declares them, so that may be right. To find the entities that have one, add an index row with \
             it: a row with a component of type `Option` exists only with a value.",
            "Rule: only keys are indexed; a filter on another property reads all rows of the range (Design for \
             querying).",
        );
    }
    new(
        AdviceKind::RareProperties,
        finding,
        "Check whether a name is misspelled, or of an older version.",
        "Rule: a table fixes no properties, so nothing refuses a wrong name (Understanding the Table service \
         data model).",
    )
}

fn mixed_types(report: &ProfileReport) -> Option<Advice> {
    let is_mixed = |property: &&PropertyProfile| property.types.len() > 1;
    let mixed: Vec<_> = report.properties.iter().filter(is_mixed).collect();
    let shown = |one: &&PropertyProfile| format!("`{}` ({})", one.name, one.types.join(", "));
    let finding = format!("Values have several types in {}.", list(&mixed, shown)?);
    new(
        AdviceKind::MixedTypes,
        finding,
        "Write the values again with one type. Until then a filter leaves out rows without an error.",
        "Rule: a filter compares a property only with values of its own type (Querying tables and entities).",
    )
}

fn constant_properties(report: &ProfileReport) -> Option<Advice> {
    let all = report.bytes()?;
    let is_constant = |property: &&PropertyProfile| {
        property.constant.is_some()
            && property.of_rows >= MANY
            && is_share(property.rows, property.of_rows, 99)
            && is_share(property.bytes, all, 5)
    };
    let constant: Vec<_> = report.properties.iter().filter(is_constant).collect();
    let shown = |one: &&PropertyProfile| {
        let value = one.constant.as_deref().unwrap_or_default();
        format!("`{}` ({value}, {} of the bytes)", one.name, percent(one.bytes, all))
    };
    let finding = format!("All values are the same in {}.", list(&constant, shown)?);
    new(
        AdviceKind::ConstantProperties,
        finding,
        "If that is so by design, leave the property out, and let the app know the value. Mark a component of the \
         key `key_only`: it is read from the key.",
        "Rule: capacity is billed by the bytes of all properties (Understanding the Table service data model).",
    )
}

fn full_copies(report: &ProfileReport) -> Option<Advice> {
    let all = report.bytes()?;
    let sum = |is: fn(&KindProfile) -> bool| {
        let kinds = report.kinds.iter().filter(|kind| is(kind));
        kinds.fold((0, 0), |(rows, bytes), kind| (rows + kind.rows, bytes + kind.bytes))
    };
    let (entities, entity_bytes) = sum(|kind| kind.role == RowRole::Entity);
    let (copies, copy_bytes) = sum(|kind| matches!(kind.role, RowRole::Copy | RowRole::Eventual));
    let mean = |rows: u64, bytes: u64| bytes as f64 / rows.max(1) as f64;
    // Without types, a row is no copy of an entity.
    if entities == 0
        || !is_share(copy_bytes, all, 50)
        || mean(copies, copy_bytes) < 0.75 * mean(entities, entity_bytes)
    {
        return None;
    }
    let finding = format!(
        "{} index rows of {} entities have {} of the bytes: they store nearly all properties.",
        grouped(copies),
        grouped(entities),
        percent(copy_bytes, all)
    );
    new(
        AdviceKind::FullCopies,
        finding,
        "Where a list shows a few properties, store only these: `include(..)`. A change of any other then \
         writes fewer rows.",
        "Rule: weigh the storage and the writes of copies against the reads that they save: secondary index \
         and index entities patterns (Table design patterns).",
    )
}

fn unknown_rows(report: &ProfileReport) -> Option<Advice> {
    if report.kinds.iter().all(|kind| kind.entity.is_none()) {
        return None;
    }
    let unknown: Vec<_> = report.kinds.iter().filter(|kind| kind.role == RowRole::Other).collect();
    let shown = |kind: &&KindProfile| format!("{} {}", grouped(kind.rows), kind.name);
    let list = list(&unknown, shown)?;
    let rows = grouped(report.rows_of(RowRole::Other));
    new(
        AdviceKind::UnknownRows,
        format!("{rows} rows are of no type that this profile knows. Their RowKeys begin: {list}."),
        "Name the other types of the table: `with_type`, or `--lock` and `--type`. What is left is of an older version or of another \
         program, and no query of the types reads it.",
        "Rule: where types share a table, each row has to show its type (Table design patterns: \
         heterogeneous entity types).",
    )
}

fn unfinished(report: &ProfileReport, newest: Option<DateTime>) -> Option<Advice> {
    let newest = newest?;
    let is_old = |kind: &&KindProfile| {
        let oldest = kind.oldest.as_deref().and_then(|oldest| oldest.parse::<DateTime>().ok());
        matches!(kind.role, RowRole::Intent | RowRole::Ticket | RowRole::Event)
            && oldest.is_some_and(|oldest| newest.since(oldest) > DAY)
    };
    let old: Vec<_> = report.kinds.iter().filter(is_old).collect();
    let shown = |kind: &&KindProfile| {
        let oldest = kind.oldest.as_deref().unwrap_or_default();
        format!("{} {} ({} since {oldest})", kind.role, kind.name, grouped(kind.rows))
    };
    let finding = format!(
        "Rows of unfinished work are older than the newest row by more than a day: {}.",
        list(&old, shown)?
    );
    new(
        AdviceKind::Unfinished,
        finding,
        "Settle what writers left with `Repo::settle`, delete tickets with `repair`, and check that events are \
         handed on.",
        "Rule: in the eventually consistent transactions pattern, each step is carried out in the end (Table \
         design patterns).",
    )
}

fn unreadable(report: &ProfileReport) -> Option<Advice> {
    if report.unreadable == 0 {
        return None;
    }
    new(
        AdviceKind::Unreadable,
        format!(
            "{} rows could not be read, and are in no other number.",
            grouped(report.unreadable)
        ),
        "Read them with a scan that says why: `skip_unreadable`.",
        "Rule: a property has one of eight types (Understanding the Table service data model).",
    )
}

/// The first of some items as one text; `None` without an item.
fn list<T>(items: &[T], shown: impl Fn(&T) -> String) -> Option<String> {
    let texts: Vec<_> = items.iter().take(NAMED).map(shown).collect();
    let more = items.len() - texts.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!texts.is_empty()).then(|| texts.join(", ") + &rest)
}
