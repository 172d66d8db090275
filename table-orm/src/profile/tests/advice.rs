//! Each piece of advice comes where its rule applies, and not where it does not.

use super::super::AdviceKind::{self, *};
use super::*;
use crate::model::Edm;

fn kinds(report: &ProfileReport) -> Vec<AdviceKind> {
    report.advice.iter().map(|advice| advice.kind).collect()
}

/// So many rows in partitions of so many, with a property.
fn rows(count: usize, in_partition: usize) -> impl Iterator<Item = DynamicEntity> {
    (0..count).map(move |number| {
        let name = format!("{:08}", number / in_partition);
        row(name, format!("{number:08}"), (number as u64).wrapping_mul(0x9e37_79b9) % 1000)
            .with("Number", number as i64)
    })
}

#[test]
fn an_even_table_gets_no_advice() {
    assert_eq!(kinds(&profile(rows(5000, 25))), []);
}

#[test]
fn a_table_of_few_rows_shows_no_habit() {
    let few = (0..900).map(|number| row("all", format!("{number:04}"), 1).with("Country", "USA"));
    assert_eq!(kinds(&profile(few)), []);
    assert_eq!(kinds(&profile(rows(900, 1))), []);
}

#[test]
fn a_partition_with_much_of_the_rows_is_named() {
    let all = profile(rows(3000, 3000));
    assert_eq!(kinds(&all), [SinglePartition]);
    assert!(all.advice[0].finding.contains("3,000 rows") && all.advice[0].finding.contains("2 s"));
    let hot = (0..20_000).map(|number| row("hot", format!("{number:05}"), 1));
    let hot = profile(rows(30_000, 10).chain(hot));
    assert_eq!(kinds(&hot), [HotPartition]);
    assert!(hot.advice[0].finding.contains("\"hot\" has 40 %"), "{}", hot.advice[0]);
    // As large a share of few rows is read in no time.
    let small = (0..2000).map(|number| row("hot", format!("{number:05}"), 1));
    assert_eq!(kinds(&profile(rows(3000, 10).chain(small))), []);
}

#[test]
fn partitions_of_single_rows_are_named_but_not_those_of_guards() {
    assert_eq!(kinds(&profile(rows(2000, 1))), [SingleRows]);
    let guards = (0..2000).map(|number| row(format!("UNQ:login:{number:04}"), "UNQ", 1));
    let report = profile(rows(1200, 60).chain(guards));
    assert_eq!((report.partitions.only_helpers, report.partitions.single_row), (2000, 0));
    assert_eq!(kinds(&report), []);
}

/// Partitions of 20 rows, first written at the hour that the number of each gives.
fn written(hour: impl Fn(u64) -> u64) -> ProfileReport {
    profile((0..2000).map(|number| {
        let partition = number / 20;
        row(format!("{partition:04}"), format!("{number:05}"), hour(partition) + number % 20)
    }))
}

#[test]
fn partitions_in_the_order_of_time_are_named_unless_a_load_explains_it() {
    assert_eq!(kinds(&written(|partition| 10 * partition)), [AppendOnly]);
    assert_eq!(kinds(&written(|partition| 1000 - 10 * partition)), [PrependOnly]);
    assert_eq!(kinds(&written(|partition| partition * 37 % 100)), []);
    // Later writes of a row leave the oldest of its partition as it is.
    let rising = written(|partition| 10 * partition).write_order.unwrap();
    assert_eq!((rising.correlation, rising.partitions), (1.0, 100));
    // Loaded in key order within a day.
    let loaded = written(|partition| partition / 25);
    assert!(loaded.write_order.as_ref().unwrap().correlation > 0.9);
    assert_eq!(kinds(&loaded), []);
}

#[test]
fn large_rows_and_long_text_are_named() {
    let binary = |row: DynamicEntity, bytes: usize| row.with("Photo", vec![7_u8; bytes]);
    let photos = rows(1100, 20).enumerate().map(|(at, row)| {
        if at % 50 == 0 { binary(row, 60_000).with("More", vec![1; 9000]) } else { row }
    });
    let report = profile(photos);
    assert_eq!(kinds(&report), [LargeEntities]);
    assert!(
        report.advice[0].finding.contains("22 rows have more than 64 KiB"),
        "{}",
        report.advice[0]
    );
    // All of 60 KiB are no outliers.
    let text = rows(1000, 20).map(|row| row.with("Text", "x".repeat(1000)));
    assert_eq!(kinds(&profile(text)), [LargeProperty, ConstantProperties]);
    let near = row("zzz", "1", 1).with("A", vec![0; 300_000]).with("B", vec![0; 300_000]);
    let report = profile(rows(100_000, 20).chain([near]));
    assert_eq!(kinds(&report), [LargeEntities, RareProperties]);
}

#[test]
fn names_constants_and_rare_properties_are_counted_by_the_kinds_that_have_them() {
    let long = "WhatTheRunnerSaidAtTheFinish";
    let named = rows(1000, 20).enumerate().map(|(at, row)| row.with(long, at as i32 % 7));
    assert_eq!(kinds(&profile(named)), [LongNames]);

    // One row in a hundred may lack it.
    let constant = rows(1000, 20)
        .enumerate()
        .map(|(at, row)| if at < 10 { row } else { row.with("Country", "USA") });
    let report = profile(constant);
    assert_eq!(kinds(&report), [ConstantProperties]);
    assert!(report.advice[0].finding.contains("`Country` ('USA', "), "{}", report.advice[0]);

    let rare = rows(1000, 20)
        .enumerate()
        .map(|(at, row)| if at % 200 == 0 { row.with("Contry", at as i32) } else { row });
    let report = profile(rare);
    assert_eq!(kinds(&report), [RareProperties]);
    assert!(report.advice[0].finding.contains("`Contry` in 5 of 1,000"), "{}", report.advice[0]);

    // Five rows of another kind that all have it are no exception.
    let heads = (0..5).map(|number| row("zzz", format!("HEAD:{number}"), 1).with("Contry", number));
    let report = profile(rows(1000, 20).chain(heads));
    assert_eq!(kinds(&report), []);
    assert_eq!(
        (report.property("Contry").unwrap().rows, report.property("Contry").unwrap().of_rows),
        (5, 5)
    );
}

#[test]
fn values_of_several_types_are_named_in_tables_of_any_size() {
    let report = profile([row("a", "1", 1).with("Age", 5), row("a", "2", 1).with("Age", "5")]);
    assert_eq!(kinds(&report), [MixedTypes]);
    assert!(
        report.advice[0].finding.contains("`Age` (Edm.Int32, Edm.String)"),
        "{}",
        report.advice[0]
    );
}

#[test]
fn different_values_are_told_apart_by_type_and_value() {
    let values = [
        Edm::from(1),
        Edm::from(1_i64),
        Edm::from(1.0),
        Edm::from("1"),
        Edm::from(true),
        Edm::from(vec![1]),
        Edm::from(hour(1)),
        Edm::from(uuid::Uuid::from_u128(1)),
        Edm::from(-0.0),
        Edm::from(0.0),
    ];
    let count = values.len() as u64;
    let twice = values.clone().into_iter().chain(values).enumerate();
    let report = profile(twice.map(|(at, value)| row("a", format!("{at:03}"), 1).with("V", value)));
    assert_eq!(report.property("V").unwrap().values, super::super::Distinct::Exactly(count));
    assert_eq!(report.property("V").unwrap().types.len(), 8);
}

#[test]
fn work_that_nobody_finished_for_a_day_is_named() {
    let left = |age: u64| {
        [
            row("a", "DUE:1", 100 - age),
            row("a", "OUT:0000000000000000001", 100),
            row("a", "row", 100),
        ]
    };
    assert_eq!(kinds(&profile(left(1))), []);
    let report = profile(left(30));
    assert_eq!(kinds(&report), [Unfinished]);
    assert!(report.advice[0].finding.contains("intent DUE: (1 since"), "{}", report.advice[0]);
}

#[test]
fn every_piece_of_advice_names_its_rule_and_the_page_that_has_it() {
    let reports = [
        profile(rows(3000, 3000)),
        profile(rows(2000, 1)),
        written(|partition| 10 * partition),
        profile([row("a", "1", 1).with("Age", 5), row("a", "2", 1).with("Age", "5")]),
        tally([], Vec::new()).finish(&ScanReport::default(), 3, true),
    ];
    for advice in reports.iter().flat_map(|report| &report.advice) {
        assert!(advice.rule.starts_with("Rule: ") && advice.rule.ends_with(")."), "{advice}");
        assert!(advice.finding.ends_with('.') && advice.action.ends_with('.'), "{advice}");
    }
    assert_eq!(kinds(&reports[4]), [Unreadable]);
}
