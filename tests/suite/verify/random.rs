//! Any damage is found and repaired, and nothing else is changed.

use super::between::SmallPages;
use super::{Subject, kind, runner};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeMap;
use table_orm::Tables;

#[derive(Debug, Clone)]
enum Damage {
    Lose,
    Alter,
    Add,
    Remove,
    /// A copy of it under the key of a runner that does not exist.
    Copy(u32),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        Just(Damage::Lose),
        Just(Damage::Alter),
        Just(Damage::Add),
        Just(Damage::Remove),
        (50_000..60_000_u32).prop_map(Damage::Copy),
    ]
}

type Found = BTreeMap<(String, String), &'static str>;

/// Damages index rows. Returns the expected findings.
async fn inflict(subject: &Subject, damages: Vec<(Index, Damage)>) -> Found {
    let stored = subject.rows.scan(super::permit()).collect().await.unwrap();
    let index_rows: Vec<_> =
        stored.into_iter().filter(|row| !row.row_key.starts_with("BIB:")).collect();
    let mut expected = Found::new();
    for (at, damage) in damages {
        let row = at.get(&index_rows);
        let (race, row_key) = (row.partition_key.as_str(), row.row_key.as_str());
        let mut key = (race.to_owned(), row_key.to_owned());
        if expected.contains_key(&key) {
            continue;
        }
        let some = row.properties.keys().next().unwrap();
        let found = match damage {
            Damage::Lose => {
                subject.lose(race, row_key).await;
                "missing"
            }
            Damage::Alter => {
                subject.set(race, row_key, some, true).await;
                "stale"
            }
            Damage::Add => {
                subject.set(race, row_key, "Extra", 1).await;
                "wrong projection"
            }
            Damage::Remove => {
                subject.unset(race, row_key, some).await;
                "wrong projection"
            }
            Damage::Copy(bib) => {
                let (start, _) = row_key.rsplit_once(['_', ':']).unwrap();
                let end = &row_key[start.len()..start.len() + 1];
                key.1 = format!("{start}{end}{bib:05}");
                if expected.contains_key(&key) {
                    continue;
                }
                subject.copy(race, row_key, &key.1).await;
                "orphan"
            }
        };
        expected.insert(key, found);
    }
    expected
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_damage_is_found_and_mended(
        runners in btree_map(("[AB\u{e9}]", 1..40_u32), 10..90_u8, 1..12),
        damages in vec((any::<Index>(), damage()), 0..16),
        page in prop_oneof![Just(3), Just(1000)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tables = Tables::in_memory().unwrap().layer(SmallPages(page)).unwrap();
            let subject = Subject::of(tables).await;
            for ((race, bib), age) in runners {
                subject.repo.insert(&runner(&race, bib, age)).await.unwrap();
            }
            let before = subject.stored().await;
            let expected = inflict(&subject, damages).await;
            let findings = subject.findings().await;
            let found: Found = findings
                .iter()
                .map(|finding| {
                    let key = (finding.partition_key.clone(), finding.row_key.clone());
                    (key, kind(&finding.problem))
                })
                .collect();
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(findings.len(), expected.len());
            let report = subject.repo.repair(findings).await;
            prop_assert!(report.skipped.is_empty(), "{:?}", report);
            prop_assert_eq!(report.all().unwrap(), expected.len());
            prop_assert_eq!(subject.stored().await, before);
            prop_assert_eq!(subject.problems().await, [""; 0]);
            Ok(())
        })?;
    }
}
