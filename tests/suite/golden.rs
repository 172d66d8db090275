//! The stored text of keys, pinned: `fixtures/golden/keys.txt` is only ever added to, never edited.
//!
//! Each line is a case, a PartitionKey and a RowKey, with tabs between. A line that no case writes
//! and a case without its line are errors that print the line.

// Two rows are `eventual`; clippy takes the repeated word for a repeated attribute (rust-clippy issue
// 13238).
#![allow(clippy::duplicated_attributes)]

use crate::growing;
use support::reference::{self, Distance, Registration, Sex};
use table_orm::entity::{EntityRows, eventual_rows};
use table_orm::model::DateTime;
use table_orm::plan::Step;
use table_orm::{KeyPart, TableEntity, Tables};
use time::{Date, Duration, Month, OffsetDateTime, Time, UtcOffset};
use uuid::Uuid;

#[derive(Debug, KeyPart)]
struct Sku(String);

/// A row for each encoder and type.
#[derive(Debug, TableEntity)]
#[table(name = "encoders", partition = "P:{id}")]
#[row(all, key = "ID")]
#[row(padded, key = "A:{small:03}{medium:05}{number:010}{large:020}")]
#[row(bare, key = "B:{small}_{medium}_{number}_{large}", allow_duplicate)]
#[row(ascending, key = "C:{up}_{signed_up}_{at_up}")]
#[row(descending, key = "D:{down}_{small_down:04}_{signed_down}_{at_down}_{day_down}")]
#[row(biased, key = "E:{bias8}_{bias16}_{bias32}_{bias64}")]
#[row(text, key = "F:{letter}_{flag}_{sku}_{low}")]
#[row(instants, key = "G:{at}_{day}_{clock}_{guid}_{ulid}_{chrono}_{jiff}")]
#[row(computed, key = "H:{initials}")]
#[component(up = asc(number), signed_up = asc(int32), at_up = asc(at), down = desc(number))]
#[component(small_down = desc(small), signed_down = desc(int32), at_down = desc(at))]
#[component(day_down = desc(day), bias8 = biased(int8), bias16 = biased(int16))]
#[component(bias32 = biased(int32), bias64 = biased(int64), low = lower(title))]
#[component(initials = with(initials))]
struct Encoders {
    id: String,
    small: u8,
    medium: u16,
    number: u32,
    large: u64,
    int8: i8,
    int16: i16,
    int32: i32,
    int64: i64,
    letter: char,
    flag: bool,
    sku: Sku,
    title: String,
    at: OffsetDateTime,
    day: Date,
    clock: Time,
    guid: Uuid,
    ulid: ulid::Ulid,
    chrono: chrono::DateTime<chrono::Utc>,
    jiff: jiff::Timestamp,
}

fn initials(encoders: &Encoders) -> String {
    encoders.title.split(' ').filter_map(|word| word.chars().next()).collect()
}

/// Text that a key cannot hold, escaped.
#[derive(Debug, TableEntity)]
#[table(name = "escaped", partition = "{folder}", row = "{name}__{kind}", escape = encode)]
struct Escaped {
    folder: String,
    name: String,
    kind: String,
}

/// A shard of each kind of value.
#[derive(Debug, TableEntity)]
#[table(name = "sharded", partition = "{few}__{name}", row = "{id}")]
#[component(few = shard(id, 16))]
struct ShardedByNumber {
    id: u64,
    name: String,
}

#[derive(Debug, TableEntity)]
#[table(name = "sharded", partition = "{kind}__{many}", row = "{name}")]
#[component(many = shard(name, 1000))]
struct ShardedByText {
    kind: Distance,
    name: String,
}

/// Growing ids, newest first.
#[derive(Debug, TableEntity)]
#[table(name = "growing", partition = "P", row = "{guid_down}_{ulid_down}", allow_single_partition)]
#[component(guid_down = desc(guid), ulid_down = desc(ulid))]
struct Growing {
    guid: Uuid,
    ulid: ulid::Ulid,
}

#[derive(Debug, TableEntity)]
#[table(name = "sharded", partition = "{two}", row = "{guid}", allow_single_partition)]
#[component(two = shard(guid, 2))]
struct ShardedByGuid {
    guid: Uuid,
}

#[derive(Debug, TableEntity)]
#[table(name = "sharded", partition = "{thousand}", row = "{at}")]
#[component(thousand = shard(height, 1000), at = biased(height))]
struct ShardedBySigned {
    height: i32,
}

/// The second and the day of an instant, of every crate.
#[derive(Debug, TableEntity)]
#[table(name = "spread", partition = "P:{second}__{id}", row = "AT:{at}")]
#[row(copy, partition = "{again}__{chrono_down}_{id}", key = "COPY:{at}", eventual)]
#[component(second = spread(at, second), again = spread(jiff, second))]
#[component(chrono_down = desc(chrono))]
struct SpreadByTime {
    id: String,
    at: OffsetDateTime,
    chrono: chrono::DateTime<chrono::Utc>,
    jiff: jiff::Timestamp,
}

/// Dates and times of day of every crate, which have one text.
#[derive(Debug, TableEntity)]
#[table(name = "civil", partition = "P:{id}")]
#[row(dates, key = "A:{time}{chrono}{jiff}")]
#[row(newest, key = "B:{time_down}{chrono_down}{jiff_down}")]
#[row(clocks, key = "C:{clock}{chrono_clock}{jiff_clock}", allow_key_conflict)]
#[component(time_down = desc(time), chrono_down = desc(chrono), jiff_down = desc(jiff))]
struct Civil {
    id: String,
    time: Date,
    chrono: chrono::NaiveDate,
    jiff: jiff::civil::Date,
    clock: Time,
    chrono_clock: chrono::NaiveTime,
    jiff_clock: jiff::civil::Time,
}

/// Rows in other partitions and tables.
#[derive(Debug, TableEntity)]
#[table(name = "parcels", partition = "{sender}__{part}", row = "PAR:{number:08}", escape = encode)]
#[row(by_day, partition = "{day}__{part}", key = "DAY:{newest}__{sender}", eventual)]
#[row(
    by_place,
    table = "places",
    partition = "AT:{place}",
    key = "PAR:{number}__{sender}",
    include(),
    eventual
)]
#[row(copy, table = "copies", key = "PAR:{number:08}", eventual)]
#[component(part = shard(number, 16), newest = desc(number))]
struct Parcel {
    sender: String,
    number: u32,
    day: Date,
    place: Option<String>,
}

/// Values that are unique over all partitions.
#[derive(Debug, TableEntity)]
#[table(
    name = "travellers", partition = "{id}", row = "ID", escape = encode,
    unique(alias, across), unique(country, passport, born, across, table = "passports")
)]
struct Traveller {
    id: String,
    alias: Option<String>,
    country: String,
    passport: u32,
    born: Date,
}

struct Written(Vec<String>);

impl Written {
    fn add<E: TableEntity>(&mut self, case: &str, entity: &E) {
        let rows = EntityRows::of(entity).unwrap();
        for row in &rows.rows {
            let name = E::ROWS[row.index].name;
            self.0.push(format!("{case}/{name}\t{}\t{}", rows.partition_key, row.row_key));
        }
        let plan = Tables::in_memory().unwrap().repo::<E>().insert(entity).plan().unwrap();
        if let Some(Step::Reserve { guards }) = plan.steps.first() {
            for (table, partition_key) in guards {
                self.0.push(format!("{case}/guard@{table}\t{partition_key}\tUNQ"));
            }
        }
        for row in eventual_rows(entity).unwrap() {
            let template = E::EVENTUAL[row.index - E::ROWS.len() - E::GUARDS.len()];
            let place = format!("{}@{}", template.row.name, row.table.unwrap_or_default());
            self.0.push(format!("{case}/{place}\t{}\t{}", row.partition_key, row.row_key));
        }
    }
}

fn cases() -> Vec<String> {
    let mut written = Written(Vec::new());
    let gun = OffsetDateTime::UNIX_EPOCH + Duration::days(15_284) + Duration::minutes(850);
    let john = Registration { registered_at: gun, ..reference::john() };
    written.add("reference", &john);
    let emma = Registration {
        distance: Distance::Half,
        bib: 0,
        name: "Émma O'Neil-Łuk \u{1F3C3}".to_owned(),
        sex: Sex::F,
        age: 255,
        registered_at: gun.to_offset(UtcOffset::from_hms(5, 30, 0).unwrap()),
        ..john
    };
    written.add("unicode", &emma);
    let least = Encoders {
        id: "least".to_owned(),
        small: 0,
        medium: 0,
        number: 0,
        large: 0,
        int8: i8::MIN,
        int16: i16::MIN,
        int32: i32::MIN,
        int64: i64::MIN,
        letter: 'a',
        flag: false,
        sku: Sku("A-1".to_owned()),
        title: "Straße Nach Ägypten".to_owned(),
        at: OffsetDateTime::from(DateTime::MIN),
        day: Date::from_calendar_date(1601, Month::January, 1).unwrap(),
        clock: Time::MIDNIGHT,
        guid: Uuid::nil(),
        ulid: ulid::Ulid(0),
        chrono: chrono::DateTime::UNIX_EPOCH,
        jiff: jiff::Timestamp::UNIX_EPOCH,
    };
    written.add("least", &least);
    let most = Encoders {
        id: "most".to_owned(),
        small: u8::MAX,
        medium: u16::MAX,
        number: u32::MAX,
        large: i64::MAX.cast_unsigned(),
        int8: i8::MAX,
        int16: i16::MAX,
        int32: i32::MAX,
        int64: i64::MAX,
        letter: '\u{1F3C3}',
        flag: true,
        sku: Sku("Z".to_owned()),
        title: "O'NEIL".to_owned(),
        at: OffsetDateTime::from(DateTime::MAX),
        day: Date::from_calendar_date(9999, Month::December, 31).unwrap(),
        clock: Time::from_hms_nano(23, 59, 59, 999_999_999).unwrap(),
        guid: Uuid::max(),
        ulid: ulid::Ulid(u128::MAX),
        chrono: chrono::DateTime::from_timestamp(1_320_588_600, 123_456_789).unwrap(),
        jiff: jiff::Timestamp::new(1_320_588_600, 123_456_789).unwrap(),
    };
    written.add("most", &most);
    let zero = Encoders {
        id: "zero".to_owned(),
        small: 7,
        medium: 7,
        number: 7,
        large: 7,
        int8: 0,
        int16: -2,
        int32: 10,
        int64: -2,
        ..least
    };
    written.add("middle", &zero);
    let escaped = Escaped {
        folder: "a/b\\c#d?e~f".to_owned(),
        name: "plain_and/é\u{7f}".to_owned(),
        kind: "under_score".to_owned(),
    };
    written.add("escaped", &escaped);
    for id in [0, 1, i64::MAX as u64] {
        written.add(&format!("shard{id}"), &ShardedByNumber { id, name: "N".to_owned() });
    }
    for name in ["", "a", "Émma 🏃"] {
        let name = name.to_owned();
        written.add(&format!("shard-{name}"), &ShardedByText { kind: Distance::Full, name });
    }
    let marathon = Civil {
        id: "marathon".to_owned(),
        time: Date::from_calendar_date(2011, Month::November, 6).unwrap(),
        chrono: chrono::NaiveDate::from_ymd_opt(2011, 11, 6).unwrap(),
        jiff: jiff::civil::date(2011, 11, 6),
        clock: Time::from_hms_nano(9, 10, 0, 123_456_789).unwrap(),
        chrono_clock: chrono::NaiveTime::from_hms_nano_opt(9, 10, 0, 123_456_789).unwrap(),
        jiff_clock: jiff::civil::time(9, 10, 0, 123_456_789),
    };
    written.add("civil", &marathon);
    let last = Civil {
        id: "last".to_owned(),
        time: Date::from_calendar_date(9999, Month::December, 31).unwrap(),
        chrono: chrono::NaiveDate::from_ymd_opt(9999, 12, 31).unwrap(),
        jiff: jiff::civil::Date::MAX,
        ..marathon
    };
    written.add("civil-last", &last);
    written.add("shard-guid", &ShardedByGuid { guid: Uuid::from_u128(7) });
    for height in [i32::MIN, -1, 0, 7] {
        written.add(&format!("signed-shard{height}"), &ShardedBySigned { height });
    }
    for bits in [0, 0x018B_CFE5_6800_7000_8000_0000_0000_0042, u128::MAX] {
        let growing = Growing { guid: Uuid::from_u128(bits), ulid: ulid::Ulid(bits) };
        written.add(&format!("growing{bits:x}"), &growing);
    }
    let day = Date::from_calendar_date(2026, Month::November, 23).unwrap();
    let parcel =
        Parcel { sender: "a/b".to_owned(), number: 7, day, place: Some("Łódź #1".to_owned()) };
    written.add("parcel", &parcel);
    written.add("parcel-nowhere", &Parcel { place: None, number: 99_999_999, ..parcel });
    let traveller = Traveller {
        id: "7".to_owned(),
        alias: Some("Å/b_c".to_owned()),
        country: "DK".to_owned(),
        passport: 12_345,
        born: day,
    };
    written.add("traveller", &traveller);
    written.add("traveller-unnamed", &Traveller { alias: None, ..traveller });
    for bits in growing::IDS {
        written.add(&format!("ulid-behind-a-shard-{bits:x}"), &growing::SpreadUlid::of(bits));
        written.add(&format!("ulid-in-a-shard-{bits:x}"), &growing::GatheredUlid::of(bits));
        written.add(&format!("ulid-first-{bits:x}"), &growing::LeadingUlid::of(bits));
        written.add(&format!("ulid-first-newest-{bits:x}"), &growing::NewestUlid::of(bits));
        written.add(&format!("guid-behind-a-shard-{bits:x}"), &growing::SpreadGuid::of(bits));
        written.add(&format!("guid-first-{bits:x}"), &growing::LeadingGuid::of(bits));
    }
    let last = "9998-12-31T23:59:58.9999999Z".parse().unwrap();
    for (name, at) in [("first", DateTime::MIN), ("gun", gun.try_into().unwrap()), ("last", last)] {
        let (id, jiff) = ("I".to_owned(), at.try_into().unwrap());
        let (at, chrono) = (at.into(), at.into());
        written.add(&format!("spread-{name}"), &SpreadByTime { id, at, chrono, jiff });
    }
    written.0
}

#[test]
fn stored_keys_never_change() {
    let golden = include_str!("../fixtures/golden/keys.txt");
    let pinned: Vec<_> = golden.lines().filter(|line| !line.starts_with('#')).collect();
    let written = cases();
    let missing: Vec<_> =
        written.iter().filter(|line| !pinned.contains(&line.as_str())).cloned().collect();
    let changed: Vec<_> =
        pinned.iter().filter(|line| !written.iter().any(|w| w == **line)).collect();
    assert!(changed.is_empty(), "these stored keys changed:\n{changed:#?}");
    assert!(missing.is_empty(), "add to fixtures/golden/keys.txt:\n{}", missing.join("\n"));
}
