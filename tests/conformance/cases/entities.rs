//! Typed entities: several rows each, written in one transaction, read without metadata.

use crate::subject::Subject;
use futures_util::TryStreamExt as _;
use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use support::reference::{Distance, EVENT};
use table_orm::property::PropertyError;
use table_orm::query::Span;
use table_orm::{DynamicEntity, Error, Projection, Repo, ScanPermit, TableEntity};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

/// A property of every kind of type beside those of keys.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "finishers", partition = "{event}__{distance}")]
#[row(by_bib, key = "BIB:{bib:05}__{name}")]
#[row(by_age, key = "AGE:{age:03}__{bib}")]
#[row(by_time, key = "NEW:{newest}__{bib:05}", include(name))]
#[component(newest = desc(registered_at))]
pub struct Finisher {
    pub event: String,
    pub distance: Distance,
    #[table(max = 99_999)]
    pub bib: u32,
    #[table(max_len = 60)]
    pub name: String,
    pub age: u8,
    pub registered_at: OffsetDateTime,
    pub city: Option<String>,
    pub fee: f64,
    pub paid: bool,
    pub chip: i64,
    pub club: Uuid,
    pub photo: Vec<u8>,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Finisher)]
pub struct NameOnly {
    pub name: String,
}

/// Texts of the page, and values of other types.
#[derive(Projection)]
#[projection(of = Finisher, borrow)]
pub struct Line<'a> {
    pub bib: u32,
    pub name: Cow<'a, str>,
    pub city: Option<Cow<'a, str>>,
    pub fee: f64,
    pub registered_at: OffsetDateTime,
}

fn runner(bib: u32, name: &str, age: u8) -> Finisher {
    Finisher {
        event: EVENT.into(),
        distance: Distance::Full,
        bib,
        name: name.into(),
        age,
        registered_at: OffsetDateTime::UNIX_EPOCH + Duration::seconds(bib.into()),
        city: bib.is_multiple_of(2).then(|| "Saint-Étienne's".to_owned()),
        fee: 255.0,
        paid: true,
        chip: 9_007_199_254_740_993 + i64::from(bib),
        club: Uuid::from_u128(bib.into()),
        photo: vec![0, 255, 10],
    }
}

fn repo(subject: &Subject) -> Repo<Finisher> {
    subject.tables().repo_in(subject.table.clone())
}

async fn stored_keys(subject: &Subject) -> Vec<String> {
    let keys = subject.keys(subject.query(Span::All, Span::All)).await;
    keys.into_iter().map(|(_, row_key)| row_key).collect()
}

pub async fn are_stored_under_every_key_and_read_back(subject: Subject) {
    let repo = repo(&subject);
    let john = runner(1234, "O'Brien", 55);
    repo.insert(&john).await.unwrap();
    let expected = ["AGE:055__1234", "BIB:01234__O'Brien", "NEW:2534022995659999999__01234"];
    assert_eq!(stored_keys(&subject).await, expected);

    let race = Finisher::partition(EVENT, Distance::Full);
    let read = repo.get(race.by_bib().bib(1234).name("O'Brien")).await.unwrap();
    assert_eq!(read.as_ref(), Some(&john));
    let read = repo.get(race.by_age().age(55).bib(1234)).await.unwrap();
    assert_eq!(read.as_ref(), Some(&john));
    assert_eq!(repo.get(race.by_bib().bib(1).name("none")).await.unwrap(), None);
    let again = repo.insert(&john).await.unwrap_err();
    assert!(matches!(again, Error::AlreadyExists(_)), "{again}");
    assert_eq!(stored_keys(&subject).await.len(), 3);
}

pub async fn are_found_by_range_filter_and_projection(subject: Subject) {
    let repo = repo(&subject);
    for bib in 0..30 {
        repo.insert(&runner(bib, &format!("R{bib}"), 20 + bib as u8)).await.unwrap();
    }
    let race = Finisher::partition(EVENT, Distance::Full);
    let some = repo.list(race.by_bib().bib_in(5..8)).collect().await.unwrap();
    assert_eq!(some.iter().map(|runner| runner.bib).collect::<Vec<_>>(), [5, 6, 7]);
    let old = repo.list(race.by_age().age_in(40..)).filter(|r| r.city.eq("Saint-Étienne's"));
    assert_eq!(old.count().await.unwrap(), 5);
    let chip = repo.list(race.by_bib()).filter(|r| r.chip.eq(9_007_199_254_740_994_i64));
    assert_eq!(chip.one().await.unwrap().bib, 1);
    let last = repo.list(race.by_time()).project::<NameOnly>().take(2).collect().await.unwrap();
    assert_eq!(last, [NameOnly { name: "R29".into() }, NameOnly { name: "R28".into() }]);
    let all = repo.scan(ScanPermit::because("a test")).stream();
    assert_eq!(all.try_collect::<Vec<_>>().await.unwrap().len(), 30);
    let half = Finisher::partition(EVENT, Distance::Half);
    assert_eq!(repo.list(half.by_bib()).count().await.unwrap(), 0);
}

pub async fn are_mapped_with_texts_of_the_page(subject: Subject) {
    let repo = repo(&subject);
    // JSON has escapes for some of the characters.
    let names = ["Ann", "O'Brien", "Zoë \"Z\" Ö", "日本 \\ 𐍈"];
    let key = ["Ann", "O'Brien", "Zoë Z", "日本 𐍈"];
    for (bib, (name, key)) in (0..).zip(names.into_iter().zip(key)) {
        repo.insert(&Finisher { city: Some(name.to_owned()), ..runner(bib, key, 40) })
            .await
            .unwrap();
    }
    let race = Finisher::partition(EVENT, Distance::Full);
    let owned = |line: Line<'_>| {
        let Line { bib, name, city, fee, registered_at } = line;
        (bib, name.into_owned(), city.map(Cow::into_owned), fee, registered_at)
    };
    let mapped = repo.list(race.by_bib()).map::<Line<'_>, _>(owned).collect().await.unwrap();
    let read = repo.list(race.by_bib()).collect().await.unwrap();
    let expected = read.into_iter().map(|runner| {
        let Finisher { bib, name, city, fee, registered_at, .. } = runner;
        (bib, name, city, fee, registered_at)
    });
    let expected: Vec<_> = expected.collect();
    assert_eq!(expected.iter().map(|row| row.2.as_deref().unwrap()).collect::<Vec<_>>(), names);
    assert_eq!(mapped, expected);
    let scan = repo.scan(ScanPermit::because("a test")).ordered(true);
    assert_eq!(scan.map::<Line<'_>, _>(owned).collect().await.unwrap(), expected);
}

pub async fn move_their_rows_when_saved(subject: Subject) {
    let repo = repo(&subject);
    repo.insert(&runner(7, "John", 55)).await.unwrap();
    let race = Finisher::partition(EVENT, Distance::Full);
    let mut loaded = repo.load(race.by_bib().bib(7)).await.unwrap().one().unwrap();
    let mut stale = loaded.clone();
    loaded.age = 56;
    loaded.city = None;
    repo.save(&mut loaded).await.unwrap();
    let keys = stored_keys(&subject).await;
    assert_eq!(keys[..2], ["AGE:056__7", "BIB:00007__John"]);
    let read = repo.get(race.by_age().age(56).bib(7)).await.unwrap().unwrap();
    assert_eq!(read, *loaded);

    // The version that a save returns is valid for the next save; the version loaded before is not.
    loaded.paid = false;
    repo.save(&mut loaded).await.unwrap();
    stale.age = 57;
    let error = repo.save(&mut stale).await.unwrap_err();
    assert!(matches!(error, Error::Conflict(_)), "{error}");
    assert_eq!(stored_keys(&subject).await, keys);

    let loaded = repo.load(race.by_age().age(56)).await.unwrap().one().unwrap();
    assert!(!loaded.paid);
    repo.delete(loaded).await.unwrap();
    assert_eq!(stored_keys(&subject).await, Vec::<String>::new());
}

pub async fn are_listed_with_their_versions(subject: Subject) {
    let (repo, rows) = (repo(&subject), subject.dynamic());
    repo.insert_many((0..30).map(|bib| runner(bib, "Ann", 20 + bib as u8))).await.all().unwrap();
    // A row of that age was left behind.
    let partition_key = format!("{EVENT}__Full");
    let mut left = rows.get(&partition_key, "AGE:040__20").await.unwrap().unwrap().with("Age", 60);
    left.row_key = "AGE:060__20".into();
    rows.insert(&left).await.unwrap();
    let race = Finisher::partition(EVENT, Distance::Full);
    let by_age = || {
        let list = repo.list(race.by_age().age_in(40..));
        list.filter(|row| row.city.eq("Saint-Étienne's")).loaded()
    };
    let found = by_age().collect().await.unwrap();
    assert!(found.iter().map(|runner| runner.bib).eq([20, 22, 24, 26, 28]));
    assert_eq!(by_age().take(2).collect().await.unwrap(), found[..2]);
    let (mut pages, mut paged) = (by_age().pages(2), Vec::new());
    while let Some(page) = pages.next().await.unwrap() {
        paged.extend(page.items);
    }
    assert_eq!(paged, found);
    let canonical = repo.list(race.by_bib().bib_in(20..)).filter(|row| row.city.is_present());
    assert_eq!(canonical.loaded().collect().await.unwrap(), found);
    // They are the versions that a save expects, and no later one.
    for mut runner in paged {
        runner.paid = false;
        repo.save(runner).await.unwrap();
    }
    for runner in found {
        assert!(matches!(repo.delete(runner).await, Err(Error::Conflict(_))));
    }
    for runner in repo.list(race.by_age()).loaded().collect().await.unwrap() {
        assert_eq!(runner.paid, runner.bib < 20 || runner.bib % 2 == 1);
        repo.delete(runner).await.unwrap();
    }
    assert_eq!(stored_keys(&subject).await, ["AGE:060__20"]);
}

pub async fn are_not_loaded_from_under_another_key(subject: Subject) {
    let (repo, rows) = (repo(&subject), subject.dynamic());
    let partition = Finisher::partition(EVENT, Distance::Full);
    for bib in [1, 2] {
        repo.insert(&runner(bib, "Ann", 30)).await.unwrap();
    }
    // Another program corrects the bib, but does not move the row.
    let partition_key = format!("{EVENT}__Full");
    let corrected = DynamicEntity::new(&*partition_key, "BIB:00002__Ann").with("Bib", 3_i64);
    rows.merge(&corrected).await.unwrap();
    let key = partition.by_bib().bib(2).name("Ann");
    assert_eq!(repo.get(&key).await.unwrap().unwrap().bib, 3);
    for rejected in [repo.load(&key).await.map(drop), repo.update(&key, |_| ()).await.map(drop)] {
        let Err(Error::KeyMismatch(mismatch)) = rejected else { panic!("{rejected:?}") };
        assert_eq!(mismatch.row_key, "BIB:00002__Ann");
        assert_eq!(mismatch.made_row_key.as_deref(), Some("BIB:00003__Ann"));
    }
    assert_eq!(repo.delete_partition(&partition).await.unwrap().entities, 2);
    assert_eq!(repo.list(&partition).count().await.unwrap(), 0);
}

pub async fn are_not_loaded_through_a_row_that_was_left_behind(subject: Subject) {
    let (repo, rows) = (repo(&subject), subject.dynamic());
    let partition = Finisher::partition(EVENT, Distance::Full);
    let partition_key = format!("{EVENT}__Full");
    for bib in [1, 2] {
        repo.insert(&runner(bib, "Ann", 30)).await.unwrap();
    }
    // A copy of the first under an older age, and all copies of the second without the entity.
    let copy = rows.get(&partition_key, "AGE:030__1").await.unwrap().unwrap();
    let mut older = copy.with("Age", 29);
    older.row_key = "AGE:029__1".into();
    rows.insert(&older).await.unwrap();
    let second = DynamicEntity::new(&*partition_key, "BIB:00002__Ann");
    rows.delete(&second).await.unwrap();

    assert_eq!(repo.list(partition.by_age()).count().await.unwrap(), 3);
    assert_eq!(repo.load(partition.by_age().age(29)).await.unwrap().len(), 0);
    let loaded = repo.load(partition.by_age()).await.unwrap();
    assert!(loaded.iter().map(|runner| &**runner).eq([&runner(1, "Ann", 30)]));
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "loads", partition = "{meter}")]
#[row(by_day, key = "D:{day:05}")]
#[row(newest, key = "N:{newest}", include(load))]
#[component(newest = desc(day))]
struct Day {
    meter: String,
    day: u32,
    note: String,
    #[table(series)]
    load: [Option<f64>; 24],
    #[table(series)]
    alarms: Vec<i32>,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Day)]
struct Morning {
    day: u32,
    #[projection(slots(6..9))]
    load: [Option<f64>; 3],
    #[projection(slots(1..3))]
    alarms: [Option<i32>; 2],
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Day)]
struct Noon {
    #[projection(slots(11..13))]
    load: [Option<f64>; 2],
}

pub async fn are_projected_to_slots_of_a_series(subject: Subject) {
    let repo: Repo<Day> = subject.tables().repo_in(subject.table.clone());
    let meter = Day::partition("m");
    let days = (1..=30).map(|day| {
        // Some slots are empty, and some days have none.
        let load = std::array::from_fn(|hour| (hour as u32 % day == 1).then_some(hour as f64));
        let alarms = (0..(day as i32 % 4)).map(|alarm| 10 + alarm).collect();
        Day { meter: "m".into(), day, note: "x".into(), load, alarms }
    });
    let days: Vec<_> = days.collect();
    repo.insert_many(days.clone()).await.all().unwrap();

    let morning = |day: &Day| Morning {
        day: day.day,
        load: [day.load[6], day.load[7], day.load[8]],
        alarms: [day.alarms.get(1).copied(), day.alarms.get(2).copied()],
    };
    let mornings: Vec<_> = days.iter().map(morning).collect();
    assert_eq!(repo.list(&meter).project::<Morning>().collect().await.unwrap(), mornings);
    let scan = repo.scan(ScanPermit::because("a test")).project::<Morning>().ordered(true);
    assert_eq!(scan.collect().await.unwrap(), mornings);
    for (day, morning) in days.iter().zip(mornings) {
        let one = repo.get(meter.by_day().day(day.day)).project::<Morning>().await.unwrap();
        assert_eq!(one, Some(morning));
    }
    let noons = repo.list(meter.newest()).project::<Noon>().collect().await.unwrap();
    let noon = |day: &Day| Noon { load: [day.load[11], day.load[12]] };
    assert!(noons.into_iter().eq(days.iter().rev().map(noon)));
}

pub async fn are_read_without_those_that_cannot_be(subject: Subject) {
    let (repo, rows) = (repo(&subject), subject.dynamic());
    repo.insert_many((1..=30).map(|bib| runner(bib, "Ann", 30))).await.all().unwrap();
    let partition_key = format!("{EVENT}__Full");
    for bib in [1, 2, 30] {
        let row_key = format!("BIB:{bib:05}__Ann");
        let broken = DynamicEntity::new(&*partition_key, row_key).with("Distance", "Quarter");
        rows.merge(&broken).await.unwrap();
    }
    let skipped = Arc::new(Mutex::new(Vec::new()));
    let teller = || {
        let (skipped, partition_key) = (Arc::clone(&skipped), partition_key.clone());
        move |error: &PropertyError| {
            assert_eq!((&*error.partition_key, &*error.property), (&*partition_key, "Distance"));
            skipped.lock().unwrap().push(error.row_key.clone());
        }
    };
    let list = || repo.list(Finisher::partition(EVENT, Distance::Full).by_bib());
    assert!(list().collect().await.is_err());
    let read = list().skip_unreadable(teller()).collect().await.unwrap();
    assert!(read.iter().map(|runner| runner.bib).eq(3..30));
    let keys = ["BIB:00001__Ann", "BIB:00002__Ann", "BIB:00030__Ann"];
    assert_eq!(std::mem::take(&mut *skipped.lock().unwrap()), keys);
    assert_eq!(list().skip_unreadable(teller()).count().await.unwrap(), 30);

    let scan = || repo.scan(ScanPermit::because("a test")).page_size(7);
    assert!(scan().collect().await.is_err());
    assert_eq!(scan().skip_unreadable(teller()).collect().await.unwrap().len(), 27);
    let mut scanned = std::mem::take(&mut *skipped.lock().unwrap());
    scanned.sort();
    assert_eq!(scanned, keys);
    assert_eq!(scan().skip_unreadable(teller()).first().await.unwrap().unwrap().bib, 3);
}
