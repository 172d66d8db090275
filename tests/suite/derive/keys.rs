//! Encoders, sparse rows, and which keys determine which.

// Rows may have the same mark: https://github.com/rust-lang/rust-clippy/issues/13238.
#![allow(clippy::duplicated_attributes)]

use super::{exact, keys, repo, row_keys};
use futures_util::TryStreamExt as _;
use std::ops::Bound;
use table_orm::entity::{EntityRows, Query as _};
use table_orm::key::KeyFault;
use table_orm::plan::Step;
use table_orm::query::{QueryClass, Span};
use table_orm::{Error, KeyPart, Projection, TableEntity, Tables};
use time::{Date, Duration, OffsetDateTime, Time};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "encoders", partition = "{tenant}")]
#[row(plain, key = "A:{number}_{flag}_{letter}_{id}_{text}")]
#[row(padded, key = "B:{number:06}{small_up}{number_down:06}{number_up:07}")]
#[row(whole, key = "C:{number_all}{small_down}{at}{newest}{oldest}")]
#[row(text, key = "D:{lower_text}__{twice}", allow_key_conflict)]
#[component(number_down = desc(number), number_up = asc(number), number_all = asc(number))]
#[component(small_up = biased(small))]
#[component(small_down = desc(small), newest = desc(at), oldest = asc(at))]
#[component(lower_text = lower(text), twice = with(Encoders::twice))]
struct Encoders {
    tenant: u64,
    number: u32,
    small: i8,
    flag: bool,
    letter: char,
    id: Uuid,
    at: OffsetDateTime,
    text: String,
}

impl Encoders {
    fn twice(&self) -> String {
        self.text.repeat(2)
    }
}

fn encoders() -> Encoders {
    Encoders {
        tenant: 5,
        number: 42,
        small: -2,
        flag: true,
        letter: 'x',
        id: Uuid::from_u128(1),
        at: OffsetDateTime::UNIX_EPOCH,
        text: "Ab".to_owned(),
    }
}

#[test]
fn every_encoder_writes_its_text() {
    assert_eq!(EntityRows::of(&encoders()).unwrap().partition_key, "5");
    assert_eq!(
        row_keys(&encoders()),
        [
            "A:42_true_x_00000000-0000-0000-0000-000000000001_Ab",
            "B:0000421269999570000042",
            "C:00000000421291970-01-01T00:00:00.0000000Z25340230079999999991970-01-01T00:00:00.0000000Z",
            "D:ab__AbAb",
        ]
    );
}

#[test]
fn every_encoder_builds_the_key_it_stores() {
    let entity = encoders();
    let partition = Encoders::partition(5);
    let plain = partition.plain().number(42).flag(true).letter('x').id(entity.id).text("Ab");
    let padded = partition.padded().number(42).small_up(-2).number_down(42).number_up(42);
    let whole = partition.whole().number_all(42).small_down(-2).at(entity.at);
    let whole = whole.newest(entity.at).oldest(entity.at);
    let text = partition.text().lower_text("aB").twice("AbAb");
    assert_eq!([exact(plain), exact(padded), exact(whole), exact(text)], *row_keys(&entity));
}

#[test]
fn ranges_follow_the_order_of_values() {
    let partition = Encoders::partition(5);
    let (range, _) = keys(partition.padded().number(42).small_up_in(-2..=10));
    for (small, inside) in [(-3_i8, false), (-2, true), (0, true), (10, true), (11, false)] {
        let entity = Encoders { small, ..encoders() };
        assert_eq!(range.row.contains(&row_keys(&entity)[1]), inside, "{small}");
    }
    let (range, _) = keys(partition.padded().number(42).small_up(-2).number_down_in(40..42));
    for (number, inside) in [(39_u32, false), (40, true), (41, true), (42, false)] {
        let key =
            exact(partition.padded().number(42).small_up(-2).number_down(number).number_up(1));
        assert_eq!(range.row.contains(&key), inside, "{number}");
    }
    let (range, class) = keys(partition.text().lower_text("ab").twice_in("a".to_owned()..));
    assert_eq!(class, QueryClass::RowRange);
    assert!(range.row.contains("D:ab__b") && !range.row.contains("D:ab__A"));
    let (range, _) = keys(partition.text().lower_text_starts_with("AB"));
    assert_eq!(range.row, Span::prefix("D:ab"));
    // The keys of the text "a" begin with "D:a_", too.
    for start in ["a_", "a__", "a__b"] {
        let error = partition.text().lower_text_starts_with(start).into_keys().unwrap_err();
        assert_eq!(error.fault, KeyFault::SeparatorStart("__"), "{start}");
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "runners", partition = "all", allow_single_partition)]
#[row(by_id, key = "ID:{id:04}")]
#[row(by_finish, key = "FIN:{finished_first}__{id:04}", exclude(note))]
#[row(by_team, key = "TEAM:{team}", allow_key_conflict)]
#[row(winners, key = "WIN:{id:04}", when = Runner::has_won)]
#[component(finished_first = asc(finished))]
struct Runner {
    id: u16,
    finished: Option<OffsetDateTime>,
    team: Option<String>,
    won: bool,
    note: String,
}

impl Runner {
    const fn has_won(&self) -> bool {
        self.won
    }
}

#[tokio::test]
async fn sparse_rows_are_there_when_their_values_are() {
    let none = Runner { id: 1, finished: None, team: None, won: false, note: String::new() };
    assert_eq!(row_keys(&none), ["ID:0001"]);
    let all = Runner {
        id: 2,
        finished: Some(OffsetDateTime::UNIX_EPOCH),
        team: Some("Blue".to_owned()),
        won: true,
        note: "fast".to_owned(),
    };
    let stored = ["ID:0002", "FIN:1970-01-01T00:00:00.0000000Z__0002", "TEAM:Blue", "WIN:0002"];
    assert_eq!(row_keys(&all), stored);

    let repo = repo::<Runner>().await;
    repo.insert(&none).await.unwrap();
    repo.insert(&all).await.unwrap();
    let runners = Runner::partition();
    let blue = repo.get(runners.by_team().team("Blue")).await.unwrap();
    assert_eq!(blue.as_ref(), Some(&all));
    assert_eq!(repo.list(runners.winners()).collect().await.unwrap(), [all]);
    assert_eq!(repo.list(&runners).count().await.unwrap(), 2);

    let mut runner = repo.load(runners.by_id().id(1_u16)).await.unwrap().one().unwrap();
    runner.team = Some("Red".to_owned());
    repo.save(runner).await.unwrap();
    assert_eq!(repo.list(runners.by_team()).count().await.unwrap(), 2);
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "settings", partition = "config", row = "current", allow_single_partition)]
struct Settings {
    limit: u32,
}

#[test]
fn a_constant_key_is_complete_at_once() {
    let (range, class) = keys(Settings::partition().row());
    assert_eq!(class, QueryClass::Point);
    assert_eq!(range.partition, Span::Exact("config".to_owned()));
    assert_eq!(range.row, Span::Exact("current".to_owned()));
    assert_eq!(row_keys(&Settings { limit: 1 }), ["current"]);
    const { assert!(Settings::KEYS_FOLLOW_CANONICAL) };
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "files", partition = "{folder}", row = "{name}", escape = encode)]
struct File {
    folder: String,
    name: String,
    size: u64,
}

#[tokio::test]
async fn escaped_keys_hold_any_text() {
    let file = File { folder: "a/b".to_owned(), name: "c#?~d".to_owned(), size: 1 };
    let rows = EntityRows::of(&file).unwrap();
    assert_eq!(rows.partition_key, "a~2Fb");
    assert_eq!(rows.rows[0].row_key, "c~23~3F~7Ed");
    let repo = repo::<File>().await;
    repo.insert(&file).await.unwrap();
    let folder = File::partition("a/b");
    let found = repo.list(folder.row().name_starts_with("c#")).collect().await.unwrap();
    assert_eq!(found, [file]);
    let (range, class) = keys(folder.row());
    assert_eq!((range.row, class), (Span::All, QueryClass::Partition));
}

#[test]
fn a_value_that_no_key_can_hold_is_refused() {
    let file = Runner {
        id: 1,
        finished: None,
        team: Some("a/b".to_owned()),
        won: false,
        note: String::new(),
    };
    let error = EntityRows::of(&file).unwrap_err().to_string();
    assert!(error.contains("`team` of `Runner`") && error.contains("\"a/b\""), "{error}");
    let wide = Runner { id: 10_000, ..file };
    EntityRows::of(&wide).unwrap_err();
}

#[derive(Debug, TableEntity)]
#[table(name = "follow", partition = "{owner}")]
#[row(canonical_first, key = "A:{day}__{name}")]
#[row(second, key = "B:{name}__{day_down}")]
#[component(day_down = desc(day))]
struct Follow {
    owner: Uuid,
    #[table(key_only)]
    day: Date,
    name: String,
    #[table(json)]
    hour: Option<u8>,
}

/// Two names may have one lower case, so the second row may belong to another entity.
#[derive(Debug, TableEntity)]
#[table(name = "lossy", partition = "{owner}")]
#[row(first, key = "A:{name}")]
#[row(second, key = "B:{name_low}", allow_key_conflict)]
#[component(name_low = lower(name))]
struct Lossy {
    owner: Uuid,
    name: String,
}

#[derive(Debug, TableEntity)]
#[table(name = "follownot", partition = "{owner}")]
#[row(first, key = "A:{name_low}", allow_key_conflict)]
#[row(second, key = "B:{name}")]
#[row(third, key = "C:{name}", canonical, allow_duplicate)]
#[row(fourth, key = "D:{hour}", when = NotFollow::early, allow_key_conflict)]
#[component(name_low = lower(name))]
struct NotFollow {
    #[table(key_only)]
    owner: Uuid,
    name: String,
    #[table(skip)]
    skipped: u8,
    #[table(json)]
    hour: u8,
}

impl NotFollow {
    const fn early(&self) -> bool {
        self.hour < 6
    }
}

#[test]
fn keys_follow_the_canonical_key_when_each_determines_the_other() {
    const { assert!(Follow::KEYS_FOLLOW_CANONICAL) };
    const { assert!(!Lossy::KEYS_FOLLOW_CANONICAL) };
    const { assert!(!NotFollow::KEYS_FOLLOW_CANONICAL) };
    let entity = NotFollow { owner: Uuid::nil(), name: "N".to_owned(), skipped: 1, hour: 9 };
    assert_eq!(row_keys(&entity), ["C:N", "A:n", "B:N"]);
    assert_eq!(entity.skipped, 1);
    let (range, _) = keys(NotFollow::partition(Uuid::nil()));
    assert_eq!(range.row, Span::prefix("C:"));
}

#[derive(Debug, PartialEq, KeyPart)]
struct Lap(u16);

#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "laps", allow_append_only, partition = "{day}{start}", row = "{{{lap:03}}}{split}.")]
struct Split {
    #[table(key_only)]
    day: Date,
    #[table(key_only)]
    start: Time,
    lap: Lap,
    split: char,
}

#[test]
fn fixed_widths_need_no_separator_and_braces_are_doubled() {
    let day = Date::from_ordinal_date(2011, 310).unwrap();
    let entity = Split { day, start: Time::MIDNIGHT, lap: Lap(7), split: 'b' };
    let rows = EntityRows::of(&entity).unwrap();
    assert_eq!(rows.partition_key, "2011-11-0600:00:00.0000000");
    assert_eq!(rows.rows[0].row_key, "{007}b.");
    let key = Split::partition(day, Time::MIDNIGHT).row().lap(Lap(7)).split('b');
    assert_eq!(exact(key), "{007}b.");
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "races", partition = "{club}")]
#[row(by_day, key = "D:{day}{start}")]
#[row(newest, key = "N:{day_down}{opens}{gun}", include())]
#[component(day_down = desc(day))]
struct Race {
    #[table(key_only)]
    club: String,
    day: chrono::NaiveDate,
    start: chrono::NaiveTime,
    opens: jiff::civil::Date,
    gun: jiff::civil::Time,
}

#[tokio::test]
async fn dates_of_other_crates_are_asked_for_by_range_and_by_filter() {
    let repo = repo::<Race>().await;
    let day = |day| chrono::NaiveDate::from_ymd_opt(2011, 11, day).unwrap();
    let (opens, gun) = (jiff::civil::date(2011, 5, 1), jiff::civil::time(9, 10, 0, 0));
    for day in (1..=9).map(day) {
        let start = chrono::NaiveTime::from_hms_opt(9, 0, 0).unwrap();
        repo.insert(&Race { club: "a".into(), day, start, opens, gun }).await.unwrap();
    }
    let club = Race::partition("a");
    let some = repo.list(club.by_day().day_in(day(3)..day(6))).collect().await.unwrap();
    assert!(some.iter().map(|race| race.day).eq((3..6).map(day)));
    let filtered =
        repo.list(club.by_day()).filter(|race| race.day.gt(day(7)).and(race.gun.le(gun)));
    assert_eq!(filtered.count().await.unwrap(), 2);
    let newest = repo.list(club.newest().day_down_in(day(3)..=day(6))).project::<Day>();
    let newest = newest.collect().await.unwrap();
    assert!(newest.iter().map(|race| race.day).eq((3..=6).rev().map(day)));
    assert!(newest.iter().all(|race| (race.opens, race.gun) == (opens, gun)));
}

#[derive(Debug, Projection)]
#[projection(of = Race)]
struct Day {
    day: chrono::NaiveDate,
    opens: jiff::civil::Date,
    gun: jiff::civil::Time,
}

/// A partition with a shard in front of what only the key stores.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "sharded", partition = "{share}__{tenant}", row = "{id:05}")]
#[component(share = shard(id, 16))]
struct Sharded {
    #[table(key_only)]
    tenant: String,
    id: u32,
}

/// Components that are not `Clone`, in either part of the PartitionKey.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "sharded", partition = "{lap}__{share}", row = "x")]
#[component(share = shard(height, 4))]
struct ShardedLap {
    lap: Lap,
    height: i16,
}

#[test]
fn components_beside_a_shard_need_no_clone() {
    let all: Vec<_> = ShardedLap::partitions(Lap(7)).into_iter().map(|one| keys(one).0).collect();
    assert_eq!(all.len(), 4);
    let one = keys(ShardedLap::partition(Lap(7), -3)).0;
    assert_eq!(all.iter().filter(|any| any.partition == one.partition).count(), 1);
}

#[tokio::test]
async fn a_shard_is_found_from_its_value_and_all_shards_are_read_together() {
    let repo = Tables::in_memory().unwrap().repo::<Sharded>();
    repo.create_table().await.unwrap();
    let entities: Vec<_> = (0..200).map(|id| Sharded { tenant: "acme".to_owned(), id }).collect();
    repo.insert_many(entities.clone()).await.all().unwrap();
    for entity in &entities {
        let key = Sharded::partition(entity.id, "acme").row().id(entity.id);
        assert_eq!(repo.get(key).await.unwrap().as_ref(), Some(entity));
    }
    let partitions = Sharded::partitions("acme");
    assert_eq!(partitions.len(), 16);
    let lists = repo.list_many(partitions.iter().map(|shard| shard.row().id_in(50..150)));
    assert_eq!(lists.plan().unwrap().steps.len(), 16);
    let mut found: Vec<_> = lists.collect().await.unwrap().into_iter().map(|one| one.id).collect();
    found.sort_unstable();
    assert_eq!(found, (50..150).collect::<Vec<_>>());
    assert_eq!(repo.list_many(Sharded::partitions("other")).count().await.unwrap(), 0);
    let ids = |rows: Vec<Sharded>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    let all = || repo.list_many(&partitions);
    let merged = all().merge_by(|row| row.id).try_collect().await.unwrap();
    assert_eq!(ids(merged), (0..200).collect::<Vec<_>>());
    let streamed = all().stream().try_collect::<Vec<_>>().await.unwrap();
    assert_eq!(streamed, all().collect().await.unwrap());
    let first = all().take_each(2);
    let two = |step: &Step| matches!(step, Step::Read { limit: Some(2), .. });
    assert!(first.plan().unwrap().steps.iter().all(two));
    assert_eq!(first.merge_by(|row| row.id).try_collect::<Vec<_>>().await.unwrap().len(), 32);
    let missing = Tables::in_memory().unwrap().repo::<Sharded>().list_many(&partitions);
    assert!(missing.merge_by(|row| row.id).try_collect::<Vec<_>>().await.is_err());
    let filtered = repo.list_many(&partitions).filter(|row| row.id.ge(190));
    assert_eq!(filtered.count().await.unwrap(), 10);
}

#[derive(Debug, Clone, PartialEq, KeyPart)]
struct Moment(OffsetDateTime);

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "moments", partition = "{one}")]
#[row(oldest, key = "A:{at}")]
#[row(newest, key = "B:{newest_first}")]
#[row(by_moment, key = "C:{moment}", allow_key_conflict)]
#[row(by_clock, key = "D:{clock}", allow_key_conflict)]
#[row(by_width, key = "E:{tick:01}", allow_key_conflict)]
#[row(by_tick, key = "F:{most_first:01}", allow_key_conflict)]
#[component(newest_first = desc(at), most_first = desc(tick))]
struct Tick {
    one: u8,
    tick: u8,
    at: OffsetDateTime,
    moment: Moment,
    clock: Time,
}

/// What is stored at an instant between two ticks of 100 ns is stored at the earlier tick, and so is every
/// bound and every compared value.
#[tokio::test]
async fn instants_between_ticks_are_the_earlier_tick_everywhere() {
    let repo = Tables::in_memory().unwrap().repo::<Tick>();
    repo.create_table().await.unwrap();
    let at = |nanoseconds: i64| OffsetDateTime::UNIX_EPOCH + Duration::nanoseconds(nanoseconds);
    let stored = [0, 199, 201, 350, 499];
    for (tick, nanoseconds) in (0..).zip(stored) {
        let at = at(nanoseconds);
        let entity = Tick { one: 1, tick, at, moment: Moment(at), clock: at.time() };
        repo.insert(&entity).await.unwrap();
    }
    let one = Tick::partition(1);
    let bounds = [0, 50, 100, 199, 200, 201, 399, 400, 450, 499];
    for (from, to) in bounds.iter().flat_map(|from| bounds.map(|to| (*from, to))) {
        if from > to {
            continue;
        }
        let ticks = (from / 100, to / 100);
        let inside = |range: &dyn Fn(i64) -> bool| {
            stored.iter().filter(|nanoseconds| range(*nanoseconds / 100)).count()
        };
        let wanted = inside(&|tick| (ticks.0..ticks.1).contains(&tick));
        let wanted_inclusive = inside(&|tick| (ticks.0..=ticks.1).contains(&tick));
        for (range, wanted) in [
            ((Bound::Included(at(from)), Bound::Excluded(at(to))), wanted),
            ((Bound::Included(at(from)), Bound::Included(at(to))), wanted_inclusive),
        ] {
            let moments = (range.0.map(Moment), range.1.map(Moment));
            let clocks = (range.0.map(|at| at.time()), range.1.map(|at| at.time()));
            let found = [
                repo.list(one.oldest().at_in(range)).count().await.unwrap(),
                repo.list(one.newest().newest_first_in(range)).count().await.unwrap(),
                repo.list(one.by_moment().moment_in(moments)).count().await.unwrap(),
                repo.list(one.by_clock().clock_in(clocks)).count().await.unwrap(),
            ];
            assert_eq!(found, [wanted; 4], "{from} to {to}: {range:?}");
        }
        let filtered = [
            repo.list(&one).filter(|row| row.at.ge(at(from)).and(row.at.lt(at(to)))),
            repo.list(&one)
                .filter(|row| row.moment.ge(Moment(at(from))).and(row.moment.lt(Moment(at(to))))),
            repo.list(&one)
                .filter(|row| row.clock.ge(at(from).time()).and(row.clock.lt(at(to).time()))),
        ];
        for filtered in filtered {
            assert_eq!(filtered.count().await.unwrap(), wanted, "{from} to {to}");
        }
        let filtered = repo.list(&one).filter(|row| row.at.ge(at(from)).and(row.at.le(at(to))));
        assert_eq!(filtered.count().await.unwrap(), wanted_inclusive, "{from} to {to}");
        let after = inside(&|tick| tick > ticks.0);
        let range = (Bound::Excluded(at(from)), Bound::<OffsetDateTime>::Unbounded);
        assert_eq!(repo.list(one.oldest().at_in(range)).count().await.unwrap(), after);
        assert_eq!(repo.list(one.newest().newest_first_in(range)).count().await.unwrap(), after);
        assert_eq!(repo.list(&one).filter(|row| row.at.gt(at(from))).count().await.unwrap(), after);
    }
}

type ChronoInstant = chrono::DateTime<chrono::Utc>;

#[derive(Debug, Clone, PartialEq, KeyPart)]
struct Outer(Inner);

#[derive(Debug, Clone, PartialEq, KeyPart)]
struct Inner(ChronoInstant);

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "clocks", partition = "{one}")]
#[row(by_outer, key = "A:{outer}")]
#[row(by_newest_outer, key = "B:{newest_outer}")]
#[row(by_stamp, key = "C:{stamp}", allow_key_conflict)]
#[row(by_newest_stamp, key = "D:{newest_stamp}", allow_key_conflict)]
#[row(by_chrono_time, key = "E:{chrono_time}", allow_key_conflict)]
#[row(by_jiff_time, key = "F:{jiff_time}", allow_key_conflict)]
#[component(newest_outer = desc(outer), newest_stamp = desc(stamp))]
struct Clock {
    one: u8,
    outer: Outer,
    stamp: jiff::Timestamp,
    chrono_time: chrono::NaiveTime,
    jiff_time: jiff::civil::Time,
}

/// The row stored from an instant is found by that instant, in every call, for every type of instants; and
/// what is before it is not what is from it on.
#[tokio::test]
async fn a_row_is_found_by_the_instant_that_it_was_stored_from() {
    let repo = repo::<Clock>().await;
    let nanoseconds = -1_234_567_850;
    let clock = Clock {
        one: 1,
        outer: Outer(Inner(ChronoInstant::from_timestamp_nanos(nanoseconds))),
        stamp: jiff::Timestamp::from_nanosecond(nanoseconds.into()).unwrap(),
        chrono_time: chrono::NaiveTime::from_hms_nano_opt(23, 59, 59, 999_999_999).unwrap(),
        jiff_time: jiff::civil::time(23, 59, 59, 999_999_999),
    };
    repo.insert(&clock).await.unwrap();
    let one = Clock::partition(1);
    let Clock { outer, stamp, chrono_time, jiff_time, .. } = &clock;
    macro_rules! found {
        ($row:ident, $set:ident, $set_in:ident, $value:expr) => {
            let row = || one.$row();
            let count = |query| async { repo.list(query).count().await.unwrap() };
            assert!(repo.get(row().$set($value)).await.unwrap().is_some());
            assert_eq!(count(row().$set_in($value..)).await, 1);
            assert_eq!(count(row().$set_in($value..=$value)).await, 1);
            assert_eq!(count(row().$set_in(..=$value)).await, 1);
            assert_eq!(count(row().$set_in(..$value)).await, 0);
        };
    }
    found!(by_outer, outer, outer_in, outer);
    found!(by_newest_outer, newest_outer, newest_outer_in, outer);
    found!(by_stamp, stamp, stamp_in, stamp);
    found!(by_newest_stamp, newest_stamp, newest_stamp_in, stamp);
    found!(by_chrono_time, chrono_time, chrono_time_in, chrono_time);
    found!(by_jiff_time, jiff_time, jiff_time_in, jiff_time);
    macro_rules! filtered {
        ($column:ident) => {
            for (condition, count) in [(0, 1), (1, 1), (2, 1), (3, 0), (4, 0), (5, 0)] {
                let list = repo.list(&one).filter(|row| match condition {
                    0 => row.$column.eq($column),
                    1 => row.$column.ge($column),
                    2 => row.$column.le($column),
                    3 => row.$column.lt($column),
                    4 => row.$column.gt($column),
                    _ => row.$column.ne($column),
                });
                assert_eq!(list.count().await.unwrap(), count, "{condition}");
            }
        };
    }
    filtered!(outer);
    filtered!(stamp);
    filtered!(chrono_time);
    filtered!(jiff_time);
    let mut loaded = repo.load(one.by_outer().outer(outer)).await.unwrap().one().unwrap();
    assert_eq!(loaded.outer.0.0.timestamp_nanos_opt().unwrap(), -1_234_567_900);
    // The instant that was inserted is the instant that is stored: nothing is written.
    loaded.outer = outer.clone();
    assert!(repo.save(&mut loaded).plan().unwrap().steps.is_empty());
}

#[tokio::test]
async fn a_range_may_start_and_end_above_what_its_width_holds() {
    let repo = Tables::in_memory().unwrap().repo::<Tick>();
    repo.create_table().await.unwrap();
    let at = OffsetDateTime::UNIX_EPOCH;
    for tick in [0, 5, 9] {
        let at = at + Duration::seconds(tick.into());
        let entity = Tick { one: 1, tick, at, moment: Moment(at), clock: at.time() };
        repo.insert(&entity).await.unwrap();
    }
    let one = Tick::partition(1);
    assert_eq!(repo.list(one.by_width().tick_in(5..10)).count().await.unwrap(), 2);
    assert_eq!(repo.list(one.by_width().tick_in(..=200)).count().await.unwrap(), 3);
    assert_eq!(repo.list(one.by_width().tick_in(10..)).count().await.unwrap(), 0);
    assert_eq!(repo.list(one.by_width().tick_in(10..=200)).count().await.unwrap(), 0);
    let inverted = (Bound::Included(10), Bound::Excluded(5));
    let inverted = repo.list(one.by_width().tick_in(inverted)).count().await;
    assert!(matches!(inverted, Err(Error::Key(error)) if error.fault == KeyFault::InvertedRange));
    assert_eq!(repo.list(one.by_tick().most_first_in(0..10)).count().await.unwrap(), 3);
    assert_eq!(repo.list(one.by_tick().most_first_in(10..)).count().await.unwrap(), 0);
    let above = (Bound::Excluded(10), Bound::<u8>::Unbounded);
    assert_eq!(repo.list(one.by_tick().most_first_in(above)).count().await.unwrap(), 0);
    let bare = super::repo::<Bare>().await;
    bare.insert(&Bare { one: 1, tick: 9 }).await.unwrap();
    assert_eq!(bare.list(Bare::partition(1).row().tick_in(5..)).count().await.unwrap(), 1);
    assert_eq!(bare.list(Bare::partition(1).row().tick_in(10..)).count().await.unwrap(), 0);
}

#[derive(Debug, TableEntity)]
#[table(name = "bare", partition = "{one}", row = "{tick:01}")]
struct Bare {
    one: u8,
    tick: u8,
}
