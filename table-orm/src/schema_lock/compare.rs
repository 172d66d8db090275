//! What the differences between a lock and its types mean for stored rows.

use super::Type;
use super::change::{Reads, SchemaChange};
use super::describe::{CODES, ENCODER, MIGRATES_FROM};
use super::samples::{NEW_UNIQUE, Read, STORED, TAKES};
use super::text::{EXPIRY, Entity, FORMER_NAME, Item, UNION};
use crate::model::EXPIRY_START;
use crate::property::renames_slots;
use std::collections::BTreeSet;

/// What a difference means.
struct Verdict {
    reads: Reads,
    breaking: bool,
    remedy: &'static str,
}

const fn fine(remedy: &'static str) -> Verdict {
    Verdict { reads: Reads::All, breaking: false, remedy }
}

const fn lossy(remedy: &'static str) -> Verdict {
    Verdict { reads: Reads::All, breaking: true, remedy }
}

const fn unread(remedy: &'static str) -> Verdict {
    Verdict { reads: Reads::NotAll, breaking: true, remedy }
}

const NEW_TABLE: &str = "keep it, or move the entities to the new keys with `migrate_from`, or store them in a new table \
                         and copy them";
const MOVE: &str =
    "deploy it in the phases of the guide's page on new keys: entities move while clients go on";
const MOVED: &str = "deploy it once `verify_migrated` is complete";
const UNCHECKED: &str = "check it with the others; if the Rust type was renamed, write its new name behind `entity` in the \
                         file; if not, delete its lines once no row of it is stored";
const NEW_ROW: &str = "keep it, and add a row of another name beside it, with `allow_duplicate` if only a literal or \
                       a width differs: `backfill` that, move queries to it, then `drop_row` or `drop_eventual_row` this one";
const REWRITE: &str = "run `rewrite`: until then, `verify` reports the rows";
const REPAIR: &str = "run `verify`, then `repair`, before queries read what it lacks from this row";
const KEEP_VALUES: &str = "read it into the new field with `alias`, keep the field, or keep the values in \
                           `#[table(flatten)] rest: BTreeMap<String, Edm>`: else the next write drops them";

const SAME_CODES: &str = "check that each variant has the code that it had: two variants whose codes are swapped read \
                          each other's rows";
const COUNT_AGAIN: &str =
    "run `repair_sums` in each partition: until then, totals lack the stored entities";
const NEW_SUM: &str = "give the new sum another name, and run `repair_sums`: the stored totals were counted otherwise";
const NEW_INSTANT: &str = "let entities expire by a property that no stored row has; or, if entities whose instant has \
                           passed are to be left out and deleted now, add the lines of this item to the file by hand";
const NO_INSTANT: &str =
    "keep it, or `purge` with the version before: entities that have expired are read again";
const OTHER_INSTANT: &str = "keep it, or `purge` with the version before, and run `rewrite`: entities without the other \
                             property never expire";
const NO_EXPIRY: &str = "keep an instant: entities never expire by another value, and those that have expired are read again";

/// The lock as it has to be now, and the changes since it was written: none exactly if each type is the same.
pub(super) fn all(before: &[Entity], types: Vec<Type>) -> (Vec<Entity>, Vec<SchemaChange>) {
    let (before, mut changes) = with_old_forms(before, &types);
    let is_gone = |old: &&Entity| {
        types.iter().all(|new| (new.entity.what, &new.entity.name) != (old.what, &old.name))
    };
    for gone in before.iter().filter(is_gone) {
        // A type that is still checked has its entities in its own form now.
        let ended = before.iter().any(|new| {
            let keys = new.items("keys").next();
            let old_form = keys.and_then(|keys| keys.get(MIGRATES_FROM));
            old_form == Some(&*gone.name) && !is_gone(&new)
        });
        changes.push(match ended {
            true => change(&gone.name, "the old form is not checked any more", &fine(MOVED)),
            false => change(&gone.name, "the type is not checked any more", &lossy(UNCHECKED)),
        });
    }
    let mut now = Vec::new();
    let is_noted =
        |changes: &[SchemaChange], name: &str| changes.iter().any(|one| one.entity == name);
    for Type { mut entity, read, .. } in types {
        match before.iter().find(|old| (old.what, &old.name) == (entity.what, &entity.name)) {
            None if is_noted(&changes, &entity.name) => {}
            None => changes.push(change(&entity.name, "the type is new", &fine(""))),
            Some(old) => {
                let stored = old.items(STORED).next();
                let samples = stored.zip(entity.items(STORED).next());
                let samples = samples.map(|(old, now)| read(old, now)).unwrap_or_default();
                let mut found = items(old, &entity, &samples);
                found.extend(samples.changes);
                keep_samples(&mut entity, stored);
                if found.is_empty() && entity != *old {
                    found.push(change(&entity.name, unlike(stored, &entity), &fine("")));
                }
                changes.extend(found);
            }
        }
        now.push(entity);
    }
    (now, changes)
}

/// The lock, in which what a type was before its migration is its old form, and what that means.
fn with_old_forms(before: &[Entity], types: &[Type]) -> (Vec<Entity>, Vec<SchemaChange>) {
    let (mut before, mut changes) = (before.to_vec(), Vec::new());
    let migrating = types.iter().filter_map(|one| Some((&one.entity, one.old_form.as_ref()?)));
    for (new, old_form) in migrating {
        let is = |old: &Entity, name: &str| (old.what, &*old.name) == (new.what, name);
        if before.iter().any(|old| is(old, old_form)) {
            continue;
        }
        // The lock may have the old form under another name.
        let locked = before.iter().find(|old| is(old, &new.name));
        let named = locked.and_then(|locked| locked.items("keys").next()?.get(MIGRATES_FROM));
        let named = named.unwrap_or(&new.name).to_owned();
        let Some(old) = before.iter_mut().find(|old| is(old, &named)) else { continue };
        old.name.clone_from(old_form);
        if named != new.name {
            continue;
        }
        let what = format!("its keys in the lock are those of `{old_form}` now, and it has others");
        changes.push(change(&new.name, what, &fine(MOVE)));
    }
    (before, changes)
}

/// What is not the same where no item means something else.
fn unlike(stored: Option<&Item>, now: &Entity) -> &'static str {
    if stored == now.items(STORED).next() {
        "its rows and properties have other names or another order"
    } else {
        "the lock lacks some of its samples"
    }
}

/// Puts the sample rows of earlier versions before those that are new.
fn keep_samples(entity: &mut Entity, stored: Option<&Item>) {
    let Some(stored) = stored else { return };
    for item in entity.items.iter_mut().filter(|item| item.what == STORED) {
        // A sample is a group that starts with its canonical row.
        let first = item.facts.first().map(|(name, _)| name.clone()).unwrap_or_default();
        let (mut kept, mut new) = (stored.facts.clone(), Vec::new());
        for group in item.facts.chunk_by(|_, next| next.0 != first) {
            let is_row = |(name, _): &&(String, String)| !name.starts_with(TAKES);
            let rows: Vec<_> = group.iter().filter(is_row).cloned().collect();
            let place = |facts: &[_]| kept.windows(facts.len()).position(|some| some == facts);
            match (place(group), place(&rows)) {
                (Some(_), _) => {}
                // An earlier lock did not have the rest.
                (None, Some(at)) => drop(kept.splice(at..at + rows.len(), group.iter().cloned())),
                (None, None) => new.extend_from_slice(group),
            }
        }
        item.facts = [kept, new].concat();
    }
}

fn change(entity: &str, what: impl Into<String>, verdict: &Verdict) -> SchemaChange {
    let Verdict { reads, breaking, remedy } = *verdict;
    let (entity, remedy) = (entity.to_owned(), remedy.to_owned());
    SchemaChange { entity, what: what.into(), reads, breaking, remedy }
}

fn items(old: &Entity, new: &Entity, samples: &Read) -> Vec<SchemaChange> {
    let mut changes = Vec::new();
    let is_other = |item: &&Item| item.what != STORED;
    for item in old.items.iter().filter(is_other) {
        match new.item(&item.what, &item.name).or_else(|| renamed(item, new)) {
            Some(present) => changes.extend(facts(&old.name, (item, present), new, samples)),
            None => changes.extend(gone(item, new).map(|verdict| {
                change(&old.name, format!("no {} any more", item.title()), &verdict)
            })),
        }
    }
    changes.extend(new.items("property").filter_map(|item| merged(item, old)));
    for item in new.items.iter().filter(is_other) {
        if old.item(&item.what, &item.name).is_none() {
            changes.extend(
                added(item, old, new)
                    .map(|verdict| change(&old.name, format!("new {}", item.title()), &verdict)),
            );
        }
    }
    changes
}

/// The property that has the values of one that is gone.
fn renamed<'n>(item: &Item, new: &'n Entity) -> Option<&'n Item> {
    let mut properties = new.items("property").filter(|_| item.what == "property");
    properties.find(|other| is_alias(other, &item.name))
}

/// What it means that a property has the values of several: a row that has them all is read with one of them.
fn merged(item: &Item, old: &Entity) -> Option<SchemaChange> {
    let former = item.facts.iter().filter(|(label, _)| label == FORMER_NAME).map(|(_, name)| name);
    let is_stored = |name: &&String| old.item("property", name).is_some();
    let names: Vec<_> = former.chain([&item.name]).filter(is_stored).cloned().collect();
    let what = || format!("properties {} are one now", listed(&names));
    (names.len() > 1).then(|| change(&old.name, what(), &lossy(KEEP_VALUES)))
}

/// What it means that an item is gone; `None` where it has another name now.
fn gone(item: &Item, new: &Entity) -> Option<Verdict> {
    let same = |other: &Item| other.facts == item.facts;
    Some(match &*item.what {
        "row" if new.items("row").any(same) => return None,
        "row" if item.get("place") == Some("canonical") => unread(NEW_TABLE),
        "row" if item.get("place") == Some("in the partition") => fine(
            "run `drop_row` with this text of the lock: its rows stay, and no write changes them",
        ),
        "row" => fine(
            "run `drop_eventual_row` with the former type: its rows stay, and no write changes them",
        ),
        "unique" => fine(
            "guard rows stay; before its values are unique again, run `backfill`, `verify` and `repair`",
        ),
        "property" if new.item("open", "properties").is_some() => fine(""),
        "property" | "open" => lossy(KEEP_VALUES),
        "sum" => fine("its totals stay, and no write changes them"),
        EXPIRY => lossy(NO_INSTANT),
        _ => fine(""),
    })
}

fn is_alias(property: &Item, former: &str) -> bool {
    property.facts.iter().any(|(label, value)| label == FORMER_NAME && value == former)
}

/// What a new item means; `None` where it had another name.
fn added(item: &Item, old: &Entity, new: &Entity) -> Option<Verdict> {
    Some(match &*item.what {
        "row" if old.items("row").any(|other| other.facts == item.facts) => return None,
        "row" if item.get("place") == Some("canonical") => unread(NEW_TABLE),
        "row" => fine("deploy it, then run `backfill`, before queries rely on it"),
        "unique" => {
            fine("deploy it, then run `backfill`: until then, a value may have two entities")
        }
        "property" if item.facts.iter().any(|(label, _)| label == FORMER_NAME) => {
            fine("deploy both names first, then run `rewrite`")
        }
        "property" if item.get("in every row") == Some("yes") => {
            unread("give the field `#[table(default)]`, or the type `Option`")
        }
        "property" => fine(""),
        "sum" => fine(COUNT_AGAIN),
        // Stored rows without the instant never expire.
        EXPIRY if item.get("instant").is_some_and(|at| !has_values(at, old, new)) => fine(""),
        EXPIRY => unread(NEW_INSTANT),
        _ => fine(""),
    })
}

/// Whether stored rows have values of a property, under its name or a former one.
fn has_values(property: &str, old: &Entity, new: &Entity) -> bool {
    let is_former = |former: &Item| {
        new.item("property", property).is_some_and(|item| is_alias(item, &former.name))
    };
    old.item("property", property).is_some() || old.items("property").any(is_former)
}

fn facts(
    entity: &str,
    (old, new): (&Item, &Item),
    now: &Entity,
    samples: &Read,
) -> Vec<SchemaChange> {
    let labels: BTreeSet<&String> =
        old.facts.iter().chain(&new.facts).map(|(label, _)| label).collect();
    let values = |item: &Item, label: &str| -> Vec<String> {
        let facts = item.facts.iter().filter(|(other, _)| other == label);
        facts.map(|(_, value)| value.clone()).collect()
    };
    let mut changes = Vec::new();
    for label in labels {
        let (before, after) = (values(old, label), values(new, label));
        // What is renamed has a former name more.
        let is_renamed = label == FORMER_NAME
            && old.name != new.name
            && before.iter().all(|former| after.contains(former));
        if before == after || is_renamed {
            continue;
        }
        let what =
            format!("{} of {}: {} is now {}", label, old.title(), listed(&before), listed(&after));
        let one = |values: &[String]| values.first().cloned().unwrap_or_default();
        let verdict = match &*old.what {
            _ if is_same_codes(&one(&before), &one(&after)) => {
                Verdict { reads: Reads::Unknown, breaking: false, remedy: SAME_CODES }
            }
            _ if grows(&one(&before), &one(&after)) => fine(""),
            // An earlier lock did not have it.
            _ if label.starts_with(ENCODER) && before.is_empty() => fine(""),
            "keys" if label == MIGRATES_FROM => fine(if after.is_empty() { MOVED } else { MOVE }),
            "keys" => unread(NEW_TABLE),
            "row" if is_renamed_expiry(old, new) => fine(""),
            "row" => of_row(label, old, (&one(&before), &one(&after)), now),
            "unique" => lossy(NEW_UNIQUE),
            "sum" => of_sum(label, before.is_empty()),
            EXPIRY => of_expiry(label, &one(&before), &one(&after), now),
            UNION => of_union(&before, &after),
            "property" => {
                of_property(label, &before, &after, samples.properties.contains(&old.name))
            }
            _ => fine(""),
        };
        changes.push(change(entity, what, &verdict));
    }
    changes
}

fn listed(values: &[String]) -> String {
    if values.is_empty() { "none".to_owned() } else { format!("`{}`", values.join("`, `")) }
}

/// The codes that a component or a property may have.
fn codes(text: &str) -> Option<BTreeSet<&str>> {
    let codes = text.strip_prefix(CODES)?;
    Some(codes.split("\" \"").map(|code| code.trim_matches('"')).collect())
}

/// Whether a component has all codes that it had, and more.
fn grows(before: &str, after: &str) -> bool {
    let codes = codes(before).zip(codes(after));
    codes.is_some_and(|(before, after)| before.is_subset(&after))
}

/// Whether it has the codes that it had, in another order.
fn is_same_codes(before: &str, after: &str) -> bool {
    codes(before).is_some_and(|before| Some(before) == codes(after))
}

/// Whether it is the row that finds expired entities, and only the names of its components differ. Whether the
/// entities expire by the same property is another item's.
fn is_renamed_expiry(old: &Item, new: &Item) -> bool {
    let is_expiry =
        |item: &Item| item.get("template").is_some_and(|key| key.starts_with(EXPIRY_START));
    let values = |item: &Item| -> Vec<String> {
        let texts = item.facts.iter().filter(|(label, _)| label.starts_with("component "));
        texts.map(|(_, text)| text.clone()).collect()
    };
    is_expiry(old) && is_expiry(new) && values(old) == values(new)
}

fn of_row(label: &str, old: &Item, (before, after): (&str, &str), now: &Entity) -> Verdict {
    // Under its name, or under a former one.
    let has = |name: &str| {
        let property = now.item("property", name);
        let is_it = |other: &str| other == name || property.is_some_and(|now| is_alias(now, other));
        before == "all" || before.split(", ").any(is_it)
    };
    match label {
        // A rewrite leaves a row that lacks what its entity has.
        "stores" if after != "none" && !after.split(", ").all(has) => fine(REPAIR),
        "stores" => fine(REWRITE),
        "exists" => fine("run `backfill`, then `verify` and `repair`"),
        _ if old.get("place") == Some("canonical") => unread(NEW_TABLE),
        _ => unread(NEW_ROW),
    }
}

fn of_sum(label: &str, was_unknown: bool) -> Verdict {
    match label {
        "counts" if !was_unknown => lossy(NEW_SUM),
        "over partitions" => fine("run `repair_sums` in each partition: it makes the copies"),
        _ => fine(""),
    }
}

fn of_expiry(label: &str, before: &str, after: &str, now: &Entity) -> Verdict {
    let mut properties = now.items("property").filter(|property| property.name == after);
    match label {
        "stored as" => unread(NO_EXPIRY),
        _ if properties.any(|property| is_alias(property, before)) => fine(""),
        _ => unread(OTHER_INSTANT),
    }
}

fn of_union(before: &[String], after: &[String]) -> Verdict {
    match before.iter().all(|member| after.contains(member)) {
        true => fine(""),
        false => unread(
            "keep the variant until no row of its type is stored: queries of the union leave out rows of other types",
        ),
    }
}

fn of_property(label: &str, before: &[String], after: &[String], is_read: bool) -> Verdict {
    let number = |values: &[String]| {
        let digits = values.first().and_then(|value| value.split(' ').next());
        digits.and_then(|digits| digits.parse::<u64>().ok())
    };
    match label {
        "type" if is_read => {
            fine("run `rewrite`: until then, filters find only rows with the new type")
        }
        "type" => unread(
            "keep its type, or give the field another name: no sample row shows that it is read",
        ),
        "codes" if !(before.is_empty() || after.is_empty()) => unread(
            "keep the variant of each code that is stored, or give a renamed one its code: `#[key(\"..\")]`",
        ),
        "slots" => match (number(before), number(after)) {
            (Some(before), Some(after)) if renames_slots(before, after) => unread(
                "keep to 100 slots or fewer, or to more than 100: the names of the slots have another number of digits",
            ),
            (Some(before), Some(after)) if after < before => {
                lossy("keep the number of slots: stored values in later slots are not read")
            }
            _ => fine(""),
        },
        "stamps" => unread(
            "keep the stamps, or give the field another name: a series with stamps and one without do not read each other",
        ),
        "period" => unread(
            "keep the period, or give the ring another name: the stored stamps are numbers of the former periods",
        ),
        "limit" => match (number(before), number(after)) {
            (Some(before), Some(after)) if after >= before => fine(""),
            (_, None) => fine(""),
            _ => lossy(
                "keep the limit: a stored value over it is read, but its entity cannot be written again",
            ),
        },
        "in every row" if after.first().is_some_and(|every| every == "yes") => unread(
            "give the field `#[table(default)]`, or the type `Option`: stored rows may lack it",
        ),
        FORMER_NAME if before.iter().any(|former| !after.contains(former)) => fine(
            "first run `rewrite` with the alias: rows that have the former name are not read any more",
        ),
        _ => fine(""),
    }
}
