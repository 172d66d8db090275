use super::runner::{Call, Data, always, bridge, call, data, former, present, rows};
use proptest::collection::vec;
use proptest::prelude::*;
use table_orm::{DynamicEntity, ScanPermit, Tables};

const BIBS: u32 = 4;

/// The version of the app that wrote a row.
#[derive(Debug, Clone)]
enum Stored {
    Former,
    Present,
    /// A version with the present names, and then one that merged the former names into its rows.
    Both(Data),
}

fn stored() -> impl Strategy<Value = Stored> {
    prop_oneof![Just(Stored::Former), Just(Stored::Present), data(BIBS).prop_map(Stored::Both)]
}

/// Stores a runner, and returns who it is then.
async fn store(tables: &Tables, runner: Data, stored: Stored) -> Data {
    match stored {
        Stored::Former => {
            former::repo(tables).upsert(&(&runner).into()).await.unwrap();
            runner
        }
        Stored::Present => {
            always::repo(tables).upsert(&(&runner).into()).await.unwrap();
            runner
        }
        Stored::Both(stale) => {
            // With the same keys, so in the same rows.
            let Data { bib, name, age, chip, .. } = runner.clone();
            let stale = Data { bib, name, age, chip, ..stale };
            always::repo(tables).upsert(&(&stale).into()).await.unwrap();
            let scratch = Tables::in_memory().unwrap();
            former::repo(&scratch).create_table().await.unwrap();
            former::repo(&scratch).insert(&(&runner).into()).await.unwrap();
            let table = tables.table(former::repo(tables).table().clone());
            for row in rows(&scratch).await {
                if !row.row_key.starts_with("SUM:") {
                    table.insert_or_merge(&row).await.unwrap();
                }
            }
            // A merge removes nothing.
            Data { city: runner.city.clone().or(stale.city), ..runner }
        }
    }
}

async fn run(runners: Vec<(Data, Stored)>, calls: Vec<(Call, bool)>) {
    let [renamed, model] = [(); 2].map(|()| Tables::in_memory().unwrap());
    for tables in [&renamed, &model] {
        always::repo(tables).create_table().await.unwrap();
    }
    // Of a row with both names, each version takes the one that it does not write.
    let bridged = !runners.iter().any(|(_, stored)| matches!(stored, Stored::Both(_)));
    for (bib, (runner, stored)) in (0..).zip(runners) {
        let runner = Data { bib, chip: bib + 100, ..runner };
        let runner = store(&renamed, runner, stored).await;
        always::repo(&model).insert(&(&runner).into()).await.unwrap();
    }
    assert_eq!(present::read(&renamed).await, always::read(&model).await);
    for (call, by_bridge) in calls {
        let expected = always::call(&model, &call).await;
        let done = match by_bridge && bridged {
            true => bridge::call(&renamed, &call).await,
            false => present::call(&renamed, &call).await,
        };
        assert_eq!(done, expected, "{call:?}");
        let expected = always::read(&model).await;
        assert_eq!(present::read(&renamed).await, expected, "{call:?}");
        if bridged {
            assert_eq!(bridge::read(&renamed).await, expected, "{call:?}");
        }
    }
    let permit = || ScanPermit::because("properties were renamed");
    let runners = present::repo(&renamed);
    runners.rewrite(permit()).await.all().unwrap();
    assert_eq!(runners.rewrite(permit()).await.all().unwrap().rows, 0);
    let own = |rows: Vec<DynamicEntity>| -> Vec<_> {
        rows.into_iter().filter(|row| row.partition_key == "R").collect()
    };
    assert_eq!(own(rows(&renamed).await), own(rows(&model).await));
    assert_eq!(always::read(&renamed).await, always::read(&model).await);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(support::dose(12, 200)))]

    #[test]
    fn rows_under_former_names_are_as_if_they_had_always_had_the_present_ones(
        runners in vec((data(BIBS), stored()), 1..=BIBS as usize),
        calls in vec((call(BIBS), any::<bool>()), 0..8),
    ) {
        support::on_virtual_time(run(runners, calls));
    }
}
