//! Types with rows in other partitions: one moves to another table, one to other partitions, one stays in its partition.

use super::history::{ENTITIES, History, Rows};
use super::subjects::{Subject, both_ways, by_page, in_one_partition, permit, stamps};
use super::watch::keys;
use crate as table_orm;
use crate::TableEntity;
use crate::entity::{DynamicEntity, Marker, canonical, eventual_rows, read_row};
use crate::error::Result;
use crate::migrate::{Migrate, Migrating};
use crate::model::{Edm, MOVED_TO};
use crate::plan::CanonicalKey;
use crate::repo::{EntityPatch as _, Patch};
use futures_util::TryStreamExt as _;
use std::collections::{BTreeMap, BTreeSet};

/// The days on which an entity can be.
const DAYS: u64 = 2;

macro_rules! followed {
    (
        $new:ident, $old:ident, $patch:ident, $tables:expr, [$($old_keys:tt)*] [$($old_row:tt)*],
        [$($keys:tt)*] [$($row:tt)*], { $($reads:tt)* }
    ) => {
        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($old_keys)*)]
        #[row(by_day, $($old_row)*, eventual)]
        pub(super) struct $old {
            room: u64,
            number: u64,
            day: u64,
            stamp: String,
            base: String,
        }

        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($keys)*, migrate_from = $old)]
        #[row(by_day, $($row)*, eventual)]
        pub(super) struct $new {
            room: u64,
            number: u64,
            day: u64,
            stamp: String,
            base: String,
        }

        both_ways!($new, $old { room, number, day, stamp, base });

        impl Subject for $new {
            const TABLES: &'static [&'static str] = &$tables;
            const CALLS: u64 = 30;

            fn of(number: u64, stamp: &str, base: &str) -> Self {
                let (stamp, base) = (stamp.to_owned(), base.to_owned());
                let mut entity = Self { room: 1, number, day: 0, stamp, base };
                entity.touch();
                entity
            }

            fn touch(&mut self) {
                let sum: u64 = self.stamp.bytes().map(u64::from).sum();
                self.day = sum / 3 % DAYS;
            }

            stamps!($patch);

            fn check(rows: &Rows, history: &mut History) -> std::result::Result<(), String> {
                check::<Self>(rows, history)
            }

            fn check_settled(rows: &Rows) -> std::result::Result<(), String> {
                check_settled::<Self>(rows)
            }

            async fn followers(client: &Migrating<Self>, paged: bool) -> Result<Vec<Self>> {
                let mut all = Vec::new();
                for day in 0..DAYS {
                    let query = || client.list(Self::by_day(day));
                    all.extend(match paged {
                        true => by_page(|| query().filter(|row| row.stamp.ne("")).pages(1)).await?,
                        false => query().await?,
                    });
                }
                Ok(all)
            }

            $($reads)*
        }
    };
}

/// What the rows in other partitions have shown so far.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// What the canonical row of each entity has called for in each form, one state after the other.
    called_for: BTreeMap<(u64, bool), Vec<Shown>>,
    /// Each row that a state has called for: whose it is, and the earliest state that it can show now.
    shown: BTreeMap<Key, ((u64, bool), usize)>,
    /// The day of each entity that counts.
    days: BTreeMap<u64, u64>,
    /// The intents of writes that changed the day of an entity, or whether it is there.
    changing: BTreeSet<Key>,
    known: BTreeSet<Key>,
    /// By entity: its day, if a list by the day must find it, after each write.
    visible: BTreeMap<u64, Vec<Option<u64>>>,
}

impl Followed {
    /// The moment at which a list begins.
    pub fn mark(&self) -> usize {
        self.visible.get(&0).map_or(0, |all| all.len().saturating_sub(1))
    }

    /// Whether a list since then may lack an entity.
    pub fn may_lack(&self, number: u64, since: usize) -> bool {
        let Some(all) = self.visible.get(&number) else { return true };
        let mut since = all[since.min(all.len())..].iter();
        let first = since.next().copied().flatten();
        first.is_none() || since.any(|day| *day != first)
    }
}

/// Table, PartitionKey and RowKey.
type Key = (String, String, String);
/// Rows in other partitions: the stamp that each shows.
type Shown = BTreeMap<Key, String>;

fn text(row: &DynamicEntity, name: &str) -> Option<String> {
    match row.properties.get(name) {
        Some(Edm::String(text)) => Some(text.clone()),
        _ => None,
    }
}

fn at(table: &str, CanonicalKey { partition_key, row_key }: &CanonicalKey) -> Key {
    (table.to_owned(), partition_key.clone(), row_key.clone())
}

/// What the canonical row of an entity calls for.
fn called_for<T: TableEntity>(rows: &Rows, key: &CanonicalKey) -> Shown {
    let row = rows.get(&at(T::TABLE, key)).filter(|row| !row.properties.contains_key(MOVED_TO));
    let Some(row) = row else { return Shown::new() };
    let entity: T = read_row(canonical::<T>(), &row.body().unwrap()).unwrap();
    let stamp = text(row, "Stamp").unwrap();
    let rows = eventual_rows(&entity).unwrap().into_iter();
    rows.map(|row| {
        let table = row.table.unwrap_or(T::TABLE).to_owned();
        ((table, row.partition_key, row.row_key), stamp.clone())
    })
    .collect()
}

/// The rows in other partitions that are stored.
fn stored(rows: &Rows) -> Shown {
    let of_entities = rows.iter().filter(|((_, _, row_key), _)| {
        ["DAY:", "PAST:"].iter().any(|start| row_key.starts_with(start))
    });
    of_entities.map(|(key, row)| (key.clone(), text(row, "Stamp").unwrap())).collect()
}

/// The intents, with what each lists.
fn intents(rows: &Rows) -> impl Iterator<Item = (&Key, String)> {
    let intents = rows.iter().filter(|((_, _, row_key), _)| row_key.starts_with("DUE:"));
    intents.map(|(key, row)| (key, text(row, "Due").unwrap()))
}

fn is_due(rows: &Rows, (table, partition_key, row_key): &Key) -> bool {
    let key = serde_json::json!([table, partition_key, row_key]).to_string();
    intents(rows).any(|(_, due)| due.contains(&key[1..]))
}

/// The day of what counts of an entity: it is in its new row, in its old one, or in its parcel.
fn day<E: Subject>(rows: &Rows, number: u64) -> Option<u64> {
    let (new, old) = keys::<E>(number);
    let of = |key: &Key| match rows.get(key)?.properties.get("Day") {
        Some(Edm::Int64(day)) => Some(*day as u64),
        Some(Edm::String(day)) => day.parse().ok(),
        _ => None,
    };
    let old_row = at(E::Old::TABLE, &old);
    let marker = rows.get(&old_row).and_then(|row| Marker::parse(&text(row, MOVED_TO)?));
    let parcel =
        marker.and_then(|marker| Some((E::TABLE.to_owned(), marker.partition_key, marker.parcel?)));
    of(&at(E::TABLE, &new)).or_else(|| of(&old_row)).or_else(|| of(&parcel?))
}

fn check<E: Subject>(rows: &Rows, history: &mut History) -> std::result::Result<(), String> {
    let Followed { called_for: states, shown, days, changing, known, visible } =
        &mut history.followed;
    let stored = stored(rows);
    let days_now: BTreeMap<_, _> =
        (0..ENTITIES).filter_map(|number| Some((number, day::<E>(rows, number)?))).collect();
    for (intent, _) in intents(rows) {
        if known.insert(intent.clone()) && *days != days_now {
            changing.insert(intent.clone());
        }
    }
    for number in 0..ENTITIES {
        let (new, old) = keys::<E>(number);
        let forms = [called_for::<E>(rows, &new), called_for::<E::Old>(rows, &old)];
        for (form, now) in [true, false].into_iter().zip(&forms) {
            let states = states.entry((number, form)).or_insert_with(|| vec![Shown::new()]);
            if states.last() != Some(now) {
                for key in now.keys() {
                    shown.entry(key.clone()).or_insert(((number, form), 0));
                }
                states.push(now.clone());
            }
        }
        // A row of either form, under the day of what counts.
        let day = days_now.get(&number).copied();
        let of_day = shown.iter().filter(|(key, ((of, _), _))| {
            *of == number && day.is_some_and(|day| key.1.trim_start_matches('D') == day.to_string())
        });
        let of_day: Vec<_> = of_day.map(|(key, _)| key.clone()).collect();
        let is_changing = changing.iter().any(|intent| {
            rows.get(intent).and_then(|row| text(row, "Due")).is_some_and(|due| {
                let lists = |(table, partition_key, row_key): &Key| {
                    let key = serde_json::json!([table, partition_key, row_key]).to_string();
                    due.contains(&key[1..])
                };
                of_day.iter().any(lists)
            })
        });
        let is_shown = of_day.iter().any(|key| stored.contains_key(key));
        let seen = visible.entry(number).or_insert_with(|| vec![None]);
        let before = seen.last().copied().flatten();
        seen.push(day.filter(|_| is_shown && !is_changing));
        if before.is_some() && before == day && !is_shown {
            return Err(format!("entity {number} is not shown on day {day:?} any more"));
        }
    }
    *days = days_now;
    if let Some(key) = stored.keys().find(|key| !shown.contains_key(*key)) {
        return Err(format!("no entity ever called for {key:?}"));
    }
    for (key, (entity, earliest)) in shown {
        let states = &states[entity];
        let (want, is) = (states.last().and_then(|last| last.get(key)), stored.get(key));
        if want != is && !is_due(rows, key) {
            return Err(format!("{key:?} shows {is:?}, not {want:?}, and no intent lists it"));
        }
        let Some(later) = states[*earliest..].iter().position(|state| state.get(key) == is) else {
            return Err(format!("{key:?} goes back to {is:?}: {states:?}"));
        };
        *earliest += later;
    }
    Ok(())
}

/// Nothing is left to settle: the rows in other partitions are those of the new form.
fn check_settled<E: Subject>(rows: &Rows) -> std::result::Result<(), String> {
    let wanted: Shown =
        (0..ENTITIES).flat_map(|number| called_for::<E>(rows, &keys::<E>(number).0)).collect();
    let (stored, left) = (stored(rows), intents(rows).count());
    if stored != wanted || left > 0 {
        return Err(format!("{left} intents are left, and {stored:?} is not {wanted:?}"));
    }
    Ok(())
}

followed!(
    FollowedAway,
    FollowedAwayV1,
    FollowedAwayPatch,
    ["posts", "posts2"],
    [name = "posts", partition = "{room}", row = "ROW:{number:04}"]
    [partition = "D{day}", key = "DAY:{room}__{number:04}"],
    [name = "posts2", partition = "N{room}", row = "ROW:{number:08}"]
    [partition = "D{day}", key = "DAY:{room}__{number:08}"],
    { in_one_partition!(Self::partition(1_u64)); }
);

followed!(
    FollowedWithin,
    FollowedWithinV1,
    FollowedWithinPatch,
    ["boards"],
    [name = "boards", partition = "{room}", row = "ROW:{number:04}"]
    [partition = "D{day}", key = "PAST:{room}__{number:04}"],
    [name = "boards", partition = "{room}", row = "NEW:{number:04}"]
    [partition = "D{day}", key = "DAY:{number:04}__{room}"],
    { in_one_partition!(Self::partition(1_u64)); }
);

followed!(
    FollowedApart,
    FollowedApartV1,
    FollowedApartPatch,
    ["decks", "deckdays"],
    [name = "decks", partition = "{room}", row = "ROW:{number:04}"]
    [table = "deckdays", partition = "{day}", key = "PAST:{room}__{number:04}"],
    [name = "decks", partition = "N{room}__{number}", row = "ROW:{number:04}"]
    [table = "deckdays", partition = "{day}", key = "DAY:{room}__{number:04}"],
    {
        async fn all(client: &Migrating<Self>) -> Result<Vec<Self>> {
            client.scan(&permit()).await
        }

        async fn paged(client: &Migrating<Self>) -> Result<Vec<Self>> {
            client.scan(&permit()).stream().try_collect().await
        }

        fn bulk_mover(client: &Migrating<Self>) -> Migrate<'static, Self> {
            client.migrate_partition(FollowedApartV1::partition(1_u64)).in_bulk()
        }
    }
);
