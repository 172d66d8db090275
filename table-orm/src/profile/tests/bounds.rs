//! What a profile keeps does not grow with the table.

use super::*;

#[test]
fn what_is_kept_is_bounded_however_the_rows_differ() {
    // Every row is a partition, with a RowKey, a property name and a value that no other row has.
    let rows = (0..30_000).map(|number| {
        row(format!("{number:06}"), format!("k{number}"), 1)
            .with(format!("P{number}"), format!("v{number}"))
            .with("Same", number)
    });
    let tally = tally(rows, Vec::new());
    // The current partition, two lists, three sketches, the sample, the kinds and the names are all there is.
    assert_eq!(tally.kept(), (2000, 20, 1, 504));
    let report = tally.finish(&ScanReport::default(), 0, true);
    assert_eq!((report.rows, report.partitions.count), (30_000, 30_000));
    assert_eq!((report.properties.len(), report.other_properties), (504, 30_000 - 503));
    assert_eq!(report.partitions.most_rows.len(), 10);
}

#[test]
fn a_row_behind_a_later_one_ends_the_profile() {
    for behind in [row("b", "2", 0), row("b", "1", 0), row("a", "9", 0)] {
        let mut tally = tally([row("a", "1", 0), row("b", "2", 0)], Vec::new());
        let error = tally.add(&behind).unwrap_err().to_string();
        assert!(error.contains("not in order"), "{error}");
    }
    // The service's order is that of UTF-16.
    let rows =
        [row("\u{1F3C3}", "\u{1F3C3}", 0), row("\u{1F3C3}", "\u{FFFD}", 0), row("\u{FFFD}", "", 0)];
    assert_eq!(profile(rows).partitions.count, 2);
}
