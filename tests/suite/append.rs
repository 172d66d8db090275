//! Appends without a time or a number: no value is lost, and none is stored twice.

use futures_util::future::join_all;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use support::{dose, on_virtual_time};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Faults, Retry};
use table_orm::property::{Numbered, Ring};
use table_orm::{Error, Repo, TableEntity, Tables};

/// A part of a series, of three values.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "series", partition = "{host}", row = "P:{newest}")]
#[component(newest = desc(part))]
struct Part {
    host: String,
    part: u32,
    #[table(series)]
    values: Vec<i64>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "series", partition = "{host}", row = "LAST")]
struct Last {
    #[table(key_only)]
    host: String,
    #[table(series)]
    values: Ring<i64, 5, Numbered>,
}

fn parts(store: &Arc<EmbeddedStore>) -> Repo<Part> {
    Tables::new(Arc::clone(store)).repo::<Part>()
}

async fn append(parts: &Repo<Part>, value: i64) -> table_orm::Result<()> {
    let append = parts.append(Part::partition("a").row(), move |newest| match newest {
        Some(last) if last.values.len() < 3 => {
            last.values.push(value);
            None
        }
        full => {
            let part = full.map_or(0, |last| last.part + 1);
            Some(Part { host: "a".into(), part, values: vec![value] })
        }
    });
    append.await.map(drop)
}

/// The values of all parts, oldest first.
async fn stored(parts: &Repo<Part>) -> Vec<Vec<i64>> {
    let mut all = parts.list(Part::partition("a")).collect().await.unwrap();
    all.reverse();
    assert!(all.iter().map(|part| part.part).eq(0..u32::try_from(all.len()).unwrap()));
    all.into_iter().map(|part| part.values).collect()
}

#[tokio::test]
async fn an_append_goes_on_in_the_next_row_when_a_row_is_full() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let parts = parts(&store);
    parts.create_table().await.unwrap();
    for value in 0..7 {
        append(&parts, value).await.unwrap();
    }
    assert_eq!(stored(&parts).await, [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
    let nothing = parts.append(Part::partition("empty").row(), |_| None).await.unwrap();
    assert!(nothing.is_none());
}

#[tokio::test]
async fn appends_of_many_writers_are_each_stored_once() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    parts(&store).create_table().await.unwrap();
    // Each has locks of its own, as another process has.
    let writers: Vec<_> = (0..6).map(|_| parts(&store)).collect();
    let appends = (0..30).map(|value| append(&writers[value % 6], i64::try_from(value).unwrap()));
    for appended in join_all(appends).await {
        appended.unwrap();
    }
    let rows = stored(&writers[0]).await;
    assert!(rows[..9].iter().all(|row| row.len() == 3), "{rows:?}");
    let mut values = rows.concat();
    values.sort_unstable();
    assert!(values.into_iter().eq(0..30));
}

/// Appends of three clients over a network with faults. Returns how many were told that they are stored, and that they are
/// not.
async fn append_among_faults(seed: u64) -> [usize; 2] {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let faults = Faults::seeded(seed).lost_replies(0.1).lost_requests(0.1).errors_after(0.05);
    let latest = Duration::from_secs(20);
    let faults = faults.late(0.05).latest(latest).slow(0.5).slowest(Duration::from_millis(300));
    let network = faults.store(store.clone()).unwrap();
    network.disable();
    parts(&store).create_table().await.unwrap();
    network.enable();
    let client = async |number: i64| {
        let tables = Tables::builder(network.clone()).bare().build().unwrap();
        let tables = tables.layer(Retry::interactive().write_id("WriteId")).unwrap();
        let parts = tables.on_virtual_time(seed * 10 + number as u64).repo::<Part>();
        let (mut done, mut refused) = (Vec::new(), Vec::new());
        for value in number * 100..number * 100 + 12 {
            match append(&parts, value).await {
                Ok(()) => done.push(value),
                Err(Error::Ambiguous(_)) => {}
                Err(_) => refused.push(value),
            }
        }
        (done, refused)
    };
    let told = join_all((0..3).map(client)).await;
    network.disable();
    tokio::time::sleep(latest + Duration::from_secs(1)).await;
    let values = stored(&parts(&store)).await.concat();
    let once: BTreeSet<_> = values.iter().collect();
    assert_eq!(once.len(), values.len(), "seed {seed}: {values:?}");
    for (done, refused) in &told {
        assert!(done.iter().all(|value| once.contains(value)), "seed {seed}: {done:?}");
        assert!(!refused.iter().any(|value| once.contains(value)), "seed {seed}: {refused:?}");
        // Each client's own come in their order.
        let own = values.iter().filter(|value| done.contains(value));
        assert!(own.eq(done), "seed {seed}: {values:?}");
    }
    [told.iter().map(|told| told.0.len()).sum(), told.iter().map(|told| told.1.len()).sum()]
}

#[test]
fn an_append_that_was_answered_is_stored_once_whatever_is_lost_or_late() {
    let (mut done, mut refused) = (0, 0);
    for seed in 0..dose(6, 300) {
        let [more_done, more_refused] = on_virtual_time(append_among_faults(seed));
        (done, refused) = (done + more_done, refused + more_refused);
    }
    assert!(done > 50, "{done}, {refused}");
}

#[tokio::test]
async fn an_append_of_a_row_that_does_not_come_first_says_so() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let parts = parts(&store);
    parts.create_table().await.unwrap();
    append(&parts, 1).await.unwrap();
    let same = Part { host: "a".into(), part: 0, values: vec![2] };
    let again = parts.append(Part::partition("a").row(), |_| Some(same.clone()));
    let refused = again.retry_for(Duration::ZERO).await;
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    assert_eq!(stored(&parts).await, [vec![1]]);
}

#[tokio::test]
async fn a_pushed_value_has_the_next_number_and_the_last_ones_stay() {
    let tables = Tables::in_memory().unwrap();
    let lasts = tables.repo::<Last>();
    lasts.create_table().await.unwrap();
    let key = Last::partition("a").row();
    lasts.insert(&Last { host: "a".into(), values: Ring::default() }).await.unwrap();
    let pushes = (0..8).map(|value| {
        lasts.update(&key, move |last| {
            last.values.push(value);
        })
    });
    for pushed in join_all(pushes.map(IntoFuture::into_future)).await {
        pushed.unwrap();
    }
    let stored = lasts.get(&key).await.unwrap().unwrap().values;
    let numbers: Vec<_> =
        stored.last(7, 5).map(|(number, value)| (number, value.copied())).collect();
    assert!(numbers.iter().map(|(number, _)| *number).eq(3..8));
    assert!(numbers.iter().all(|(_, value)| value.is_some()));
    let mut full = Ring::<i64, 5, Numbered>::default();
    assert!(full.put(i64::MAX, 1));
    assert_eq!(full.push(2), None);
    assert_eq!(full.newest(), Some((i64::MAX, &1)));
}

#[tokio::test]
async fn of_two_values_for_one_slot_in_a_patch_the_later_period_is_stored() {
    let lasts = Tables::in_memory().unwrap().repo::<Last>();
    lasts.create_table().await.unwrap();
    let key = Last::partition("a").row();
    // 2, 7 and 12 have one slot.
    for numbers in [[2, 7, 12], [12, 7, 2], [7, 12, 2]] {
        let patch = numbers
            .into_iter()
            .fold(LastPatch::default(), |patch, number| patch.values_at(number, 10 * number));
        lasts.merge(&key, patch).or_insert().await.unwrap();
        let stored = lasts.get(&key).await.unwrap().unwrap().values;
        assert_eq!((stored.get(12), stored.get(7), stored.get(2)), (Some(&120), None, None));
    }
    let twice = LastPatch::default().values_at(13, 1).values_at(13, 2);
    lasts.merge(&key, twice).await.unwrap();
    assert_eq!(lasts.get(&key).await.unwrap().unwrap().values.get(13), Some(&2));
}
