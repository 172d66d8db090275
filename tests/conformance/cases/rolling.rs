//! Rolling series: a slot and its stamp in one merge, and a series that goes on in the next row.

use crate::subject::Subject;
use futures_util::future::join_all;
use table_orm::TableEntity;
use table_orm::property::{Numbered, Ring};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "hosts", partition = "{host}", row = "LAST")]
struct Last {
    #[table(key_only)]
    host: String,
    #[table(series)]
    load: Ring<i64, 4, Numbered>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "hosts", partition = "{host}", row = "P:{newest}")]
#[component(newest = desc(part))]
struct Part {
    host: String,
    part: u32,
    #[table(series)]
    loads: Vec<i64>,
}

pub async fn series_show_each_value_for_its_period_only(subject: Subject) {
    let last = subject.tables().repo_in::<Last>(subject.table.clone());
    let key = || Last::partition("a").row();
    let put = async |number: i64, value: i64| {
        last.merge(key(), LastPatch::default().load_at(number, value)).or_insert().await.unwrap();
    };
    for number in 0..6 {
        put(number, 10 * number).await;
    }
    let stored = last.get(key()).await.unwrap().unwrap().load;
    let shown: Vec<_> = stored.last(6, 4).map(|(number, value)| (number, value.copied())).collect();
    assert_eq!(shown, [(3, Some(30)), (4, Some(40)), (5, Some(50)), (6, None)]);
    // The slot of 2 has no value of 6.
    assert_eq!((stored.get(2), stored.get(6)), (Some(&20), None));
    put(6, 60).await;
    let stored = last.get(key()).await.unwrap().unwrap().load;
    assert_eq!((stored.get(2), stored.get(6)), (None, Some(&60)));
    let push = async |value: i64| {
        let update = last.update(key(), move |last| {
            last.load.push(value);
        });
        update.await.unwrap();
    };
    join_all((0..4).map(push)).await;
    let stored = last.get(key()).await.unwrap().unwrap().load;
    let mut values: Vec<_> = stored.last(10, 4).filter_map(|(_, value)| value.copied()).collect();
    values.sort_unstable();
    assert_eq!(values, [0, 1, 2, 3]);
}

pub async fn series_go_on_in_the_next_row(subject: Subject) {
    let append = async |value: i64| {
        // Clients of their own do not take turns.
        let parts = subject.tables().repo_in::<Part>(subject.table.clone());
        let append = parts.append(Part::partition("a").row(), move |newest| match newest {
            Some(last) if last.loads.len() < 3 => {
                last.loads.push(value);
                None
            }
            full => {
                let part = full.map_or(0, |last| last.part + 1);
                Some(Part { host: "a".into(), part, loads: vec![value] })
            }
        });
        append.await.unwrap();
    };
    join_all((0..8).map(append)).await;
    let parts = subject.tables().repo_in::<Part>(subject.table.clone());
    let parts = parts.list(Part::partition("a")).collect().await.unwrap();
    let lengths: Vec<_> = parts.iter().map(|part| (part.part, part.loads.len())).collect();
    assert_eq!(lengths, [(2, 2), (1, 3), (0, 3)]);
    let mut values: Vec<_> = parts.into_iter().flat_map(|part| part.loads).collect();
    values.sort_unstable();
    assert!(values.into_iter().eq(0..8));
}
