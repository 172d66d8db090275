//! The sample keys of generated documentation. `fixtures/golden/samples.txt` holds those of this entity; the
//! derive's own tests read the entity from this file and compare them with what it documents.

use table_orm::TableEntity;
use table_orm::entity::EntityRows;
use time::{Date, Duration, Month, OffsetDateTime, Time};
use uuid::Uuid;

#[derive(TableEntity)]
#[table(name = "samples", partition = "P:{word}x{small}", unique(number))]
#[row(bare, key = "A:{small}_{medium}_{number}_{large}_{few}")]
#[row(padded, key = "B:{small:03}_{number:05}_{large:020}_{large_up:025}_{few:01}")]
#[row(ascending, key = "C:{small_up}_{number_up}_{large_up}_{at_up}")]
#[row(descending, key = "D:{small_down}_{number_down}_{large_down}_{number_down_5:05}")]
#[row(signed, key = "E:{int8_biased}_{int16_biased}_{int32_biased}_{int64_biased}")]
#[row(signed_order, key = "F:{int8_up}_{int8_down}_{int32_down}_{int64_down}")]
#[row(text, key = "G:{letter}_{flag}_{low}_{code}_{name}")]
#[row(clocks, key = "H:{at}_{day}_{clock}_{chrono}_{jiff}")]
#[row(newest, key = "I:{at_down}_{day_down}")]
#[row(ids, key = "J:{guid}_{ulid}")]
#[component(small_up = asc(small), number_up = asc(number), large_up = asc(large), at_up = asc(at))]
#[component(small_down = desc(small), number_down = desc(number), large_down = desc(large))]
#[component(number_down_5 = desc(number), int8_biased = biased(int8), int16_biased = biased(int16))]
#[component(int32_biased = biased(int32), int64_biased = biased(int64), int8_up = asc(int8))]
#[component(int8_down = desc(int8), int32_down = desc(int32), int64_down = desc(int64))]
#[component(at_down = desc(at), day_down = desc(day), low = lower(name))]
struct Sample {
    #[table(max = 9)]
    small: u8,
    medium: u16,
    number: u32,
    large: u64,
    #[table(max = 7)]
    few: u64,
    int8: i8,
    int16: i16,
    int32: i32,
    int64: i64,
    letter: char,
    flag: bool,
    name: String,
    /// Has another sample than `name`, which holds the separator after it.
    word: String,
    #[table(max_len = 2)]
    code: String,
    at: OffsetDateTime,
    day: Date,
    clock: Time,
    chrono: chrono::DateTime<chrono::Utc>,
    jiff: jiff::Timestamp,
    guid: Uuid,
    ulid: ulid::Ulid,
}

#[test]
fn documented_sample_keys_are_what_the_encoders_write() {
    let at = OffsetDateTime::UNIX_EPOCH + Duration::days(15_284) + Duration::minutes(850);
    let seconds = at.unix_timestamp();
    let sample = Sample {
        small: 9,
        medium: 42,
        number: 42,
        large: 42,
        few: 7,
        int8: 42,
        int16: 42,
        int32: 42,
        int64: 42,
        letter: 'J',
        flag: true,
        name: "text".to_owned(),
        word: "john".to_owned(),
        code: "te".to_owned(),
        at,
        day: Date::from_calendar_date(2011, Month::November, 6).unwrap(),
        clock: Time::from_hms(14, 10, 0).unwrap(),
        chrono: chrono::DateTime::from_timestamp(seconds, 0).unwrap(),
        jiff: jiff::Timestamp::from_second(seconds).unwrap(),
        guid: "00000000-0000-4000-8000-000000000042".parse::<Uuid>().unwrap(),
        ulid: ulid::Ulid::from_string("01ARYZ6S410000000000000042").unwrap(),
    };
    let EntityRows { partition_key, mut rows } = EntityRows::of(&sample).unwrap();
    rows.sort_by_key(|row| row.index);
    let keys = std::iter::once(partition_key).chain(rows.into_iter().map(|row| row.row_key));
    let written: String = keys.map(|key| key + "\n").collect();
    assert_eq!(written, include_str!("../../fixtures/golden/samples.txt"));
}
