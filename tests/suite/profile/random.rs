//! A profile of random rows is what a program counts that has them all in memory.

use super::because;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use support::dose;
use table_orm::model::Edm;
use table_orm::profile::{Distinct, ProfileReport};
use table_orm::{DynamicEntity, TableName, Tables};

type Rows = BTreeMap<(Vec<u16>, Vec<u16>), DynamicEntity>;

fn units(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

/// The bytes of a value, by the service's formula.
fn size(value: &Edm) -> u64 {
    match value {
        Edm::String(text) => 4 + 2 * units(text),
        Edm::Binary(bytes) => 4 + bytes.len() as u64,
        Edm::Boolean(_) => 1,
        Edm::Int32(_) => 4,
        Edm::Int64(_) | Edm::Double(_) | Edm::DateTime(_) => 8,
        Edm::Guid(_) => 16,
        other => panic!("{other:?} is of no known type"),
    }
}

fn bytes_of(row: &DynamicEntity) -> u64 {
    let property = |(name, value): (&String, &Edm)| 8 + 2 * units(name) + size(value);
    let properties: u64 = row.properties.iter().map(property).sum();
    4 + 2 * (units(&row.partition_key) + units(&row.row_key)) + properties
}

fn key() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "A", "b:", "é", "\u{ffee}", "😀", "7", "0", "_"]);
    prop::collection::vec(part, 0..4).prop_map(|parts| parts.concat())
}

fn value() -> impl Strategy<Value = Edm> {
    prop_oneof![
        (0..4_i32).prop_map(Edm::Int32),
        (0..300_i64).prop_map(Edm::Int64),
        any::<bool>().prop_map(Edm::Boolean),
        (0..3_u8).prop_map(|n| Edm::Double(f64::from(n) / 2.0)),
        prop::sample::select(vec!["", "x", "x'y", "😀é", "long text"]).prop_map(Edm::from),
        prop::collection::vec(0..2_u8, 0..40).prop_map(Edm::Binary),
    ]
}

fn row() -> impl Strategy<Value = DynamicEntity> {
    let name = prop::sample::select(vec!["A", "a", "Größe", "P2"]);
    let properties = prop::collection::btree_map(name, value(), 0..4);
    (key(), key(), properties).prop_map(|(partition_key, row_key, properties)| {
        let row = DynamicEntity::new(partition_key, row_key);
        properties.into_iter().fold(row, |row, (name, value)| row.with(name, value))
    })
}

async fn profile(rows: &Rows, keys_only: bool) -> ProfileReport {
    let tables = Tables::in_memory().unwrap();
    let name = TableName::new("things").unwrap();
    tables.create(&name).await.unwrap();
    let table = tables.table(name);
    table.insert_many(rows.values().cloned()).await.all().unwrap();
    let profile = table.profile(because()).top(3);
    if keys_only { profile.keys_only().await } else { profile.await }.unwrap()
}

fn exactly(values: usize) -> Distinct {
    match values as u64 {
        values @ 0..=100 => Distinct::Exactly(values),
        _ => Distinct::MoreThan(100),
    }
}

fn check(rows: &Rows, report: &ProfileReport) {
    let mut partitions: Vec<(&str, u64, u64)> = Vec::new();
    for row in rows.values() {
        match partitions.last_mut() {
            Some((key, rows, bytes)) if *key == row.partition_key => {
                (*rows, *bytes) = (*rows + 1, *bytes + bytes_of(row));
            }
            _ => partitions.push((&row.partition_key, 1, bytes_of(row))),
        }
    }
    let found = &report.partitions;
    assert_eq!((report.rows, found.count), (rows.len() as u64, partitions.len() as u64));
    assert_eq!((found.only_helpers, report.unreadable), (0, 0));
    let single = partitions.iter().filter(|(_, rows, _)| *rows == 1).count();
    assert_eq!(found.single_row, single as u64);
    let row_keys: BTreeSet<_> = rows.values().map(|row| &row.row_key).collect();
    assert_eq!(report.row_keys, exactly(row_keys.len()));
    assert_eq!(report.kinds.iter().map(|kind| kind.rows).sum::<u64>(), report.rows);
    partitions.sort_by_key(|(_, rows, _)| std::cmp::Reverse(*rows));
    let listed = |(key, rows, bytes): &(&str, u64, u64)| ((*key).to_owned(), *rows, *bytes);
    let largest: Vec<_> = partitions.iter().take(3).map(listed).collect();
    let most: Vec<_> =
        found.most_rows.iter().map(|one| (one.key.clone(), one.rows, one.bytes)).collect();
    let Some(sizes) = &report.sizes else {
        let keys = |list: &[(String, u64, u64)]| -> Vec<_> {
            list.iter().map(|(key, rows, _)| (key.clone(), *rows)).collect()
        };
        assert_eq!(keys(&most), keys(&largest));
        assert!(report.properties.is_empty());
        return;
    };
    assert_eq!(most, largest);
    let bytes: Vec<_> = rows.values().map(bytes_of).collect();
    assert_eq!(sizes.bytes, bytes.iter().sum::<u64>());
    assert_eq!(report.kinds.iter().map(|kind| kind.bytes).sum::<u64>(), sizes.bytes);
    let ends = (bytes.iter().min().copied(), bytes.iter().max().copied());
    assert_eq!((sizes.row.least, sizes.row.most), (ends.0.unwrap_or(0), ends.1.unwrap_or(0)));
    for bucket in &sizes.histogram {
        let of = |bytes: &&u64| **bytes <= bucket.at_most && 2 * **bytes > bucket.at_most;
        assert_eq!(bucket.rows, bytes.iter().filter(of).count() as u64, "{bucket:?}");
        assert_eq!(bucket.bytes, bytes.iter().filter(of).sum::<u64>(), "{bucket:?}");
    }
    assert_eq!(sizes.histogram.iter().map(|bucket| bucket.rows).sum::<u64>(), report.rows);

    let mut by_name = BTreeMap::<&str, Vec<&Edm>>::new();
    for (name, value) in rows.values().flat_map(|row| &row.properties) {
        by_name.entry(name).or_default().push(value);
    }
    assert_eq!((report.properties.len(), report.other_properties), (by_name.len(), 0));
    let names: u64 = by_name.iter().map(|(name, all)| 2 * units(name) * all.len() as u64).sum();
    assert_eq!(sizes.name_bytes, names);
    for (name, values) in by_name {
        let property = report.property(name).unwrap();
        let own = |value: &&Edm| 8 + 2 * units(name) + size(value);
        assert_eq!(property.rows, values.len() as u64, "{name}");
        assert_eq!(property.bytes, values.iter().map(own).sum::<u64>(), "{name}");
        assert_eq!(Some(property.largest), values.iter().map(own).max(), "{name}");
        let different: BTreeSet<_> = values.iter().map(|value| format!("{value:?}")).collect();
        assert_eq!(property.values, exactly(different.len()), "{name}");
        assert_eq!(property.constant.is_some(), different.len() == 1, "{name}");
        let types: BTreeSet<_> = values.iter().map(|value| value.edm_type().name()).collect();
        assert_eq!(property.types, types.into_iter().collect::<Vec<_>>(), "{name}");
        assert!((property.rows..=report.rows).contains(&property.of_rows), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(24, 400)))]

    #[test]
    fn random_rows_are_counted_as_in_memory(
        rows in prop::collection::vec(row(), 0..150),
        keys_only in any::<bool>(),
    ) {
        // The service orders keys by their UTF-16 units.
        let in_order = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        let rows: Rows = rows
            .into_iter()
            .map(|row| ((in_order(&row.partition_key), in_order(&row.row_key)), row))
            .collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let report = runtime.block_on(profile(&rows, keys_only));
        check(&rows, &report);
        prop_assert!(report.to_string().lines().all(|line| line.chars().count() <= 100), "{}", report);
    }
}
