//! Reports as text and as JSON.

use super::super::text::WIDTH;
use super::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_report_is_text_of_a_hundred_columns_and_comes_back_from_json(
        keys in proptest::collection::btree_set(("\\PC{0,60}|[\u{1b}\u{202e}\n]{1,9}", "\\PC{0,60}"), 1..12),
        names in proptest::collection::vec("\\PC{1,40}|\u{1b}\\[2J", 1..4),
        text in "\\PC{0,80}|\u{1b}\\[2J\n",
    ) {
        let mut rows: Vec<_> = keys.into_iter().map(|(pk, rk)| {
            names.iter().fold(row(pk, rk, 1), |row, name| row.with(name.clone(), text.clone()))
        }).collect();
        rows.sort_by(|one, next| {
            let key = |row: &DynamicEntity| crate::entity::RowHead {
                partition_key: row.partition_key.clone(),
                row_key: row.row_key.clone(),
            };
            key(one).cmp(&key(next))
        });
        rows.push(row("\u{FFFF}", "1", 40).with("Mixed", 5));
        rows.push(row("\u{FFFF}", "2", 40).with("Mixed", text.clone()));
        let report = profile(rows);
        let shown = report.to_string();
        for line in shown.lines() {
            prop_assert!(line.chars().count() <= WIDTH, "{line}");
        }
        let plain = |c: char| c == '\n' || !(c.is_control() || ('\u{202A}'..='\u{202E}').contains(&c));
        prop_assert!(shown.chars().all(plain), "{shown:?}");
        let json = serde_json::to_string(&report).unwrap();
        prop_assert_eq!(serde_json::from_str::<ProfileReport>(&json).unwrap(), report);
    }
}

#[test]
fn sizes_and_numbers_are_easy_to_read() {
    let rows = (0..1502).map(|number| {
        row(format!("{:02}", number / 100), format!("B:{number:05}"), number)
            .with("N", number as i32)
    });
    let shown = profile(rows).to_string();
    for line in [
        "Table things",
        "  1,502 rows in 16 partitions, 52.8 KiB as the service counts them",
        "  rows                     2         100         100         100         100         100          94",
        "           100 rows    6.7 %      3.5 KiB   \"00\"",
        "  RowKey B:                                        1,502   100.0 %      52.8 KiB",
        "  up to 64 B             1,502   100.0 %  ################################",
        "  PartitionKeys: 16 different; RowKeys: > 100 different",
        "  order of keys and of first writes: correlation 1.00, of 16 partitions",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line}\n{shown}");
    }
}
