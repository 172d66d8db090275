//! A RowKey of five components against `format!` of the same text.

#![allow(missing_docs, clippy::unwrap_used)]

mod ratio;

use std::hint::black_box;
use table_orm::key::KeyText;
use table_orm::{KeyPart, TableEntity};

#[derive(Debug, Clone, Copy, PartialEq, KeyPart)]
enum Sex {
    #[key("M")]
    Male,
    #[key("F")]
    Female,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(
    name = "finishers",
    partition = "{event}",
    row = "BIB:{bib:05}__{name}__{sex}__{age}__{club}"
)]
struct Finisher {
    event: String,
    bib: u32,
    name: String,
    sex: Sex,
    age: u8,
    club: String,
}

fn finisher(sex: Sex) -> Finisher {
    Finisher {
        event: "2011 New York City Marathon__Full".to_owned(),
        bib: 1234,
        name: "Johanna Müller-Lüdenscheidt".to_owned(),
        sex,
        age: 55,
        club: "Harriers".to_owned(),
    }
}

fn main() {
    let mut criterion = ratio::criterion();
    let mut group = criterion.benchmark_group("row key of five components");
    let runners = [finisher(Sex::Female), finisher(Sex::Male)];
    let mut turn = 0_usize;
    let mut next = move || {
        turn += 1;
        turn % 2
    };
    group.bench_function("format!", |bench| {
        bench.iter(|| {
            let Finisher { bib, name, sex, age, club, .. } = black_box(&runners[next()]);
            let sex = if *sex == Sex::Male { "M" } else { "F" };
            format!("BIB:{bib:05}__{name}__{sex}__{age}__{club}")
        });
    });
    group.bench_function("derived", |bench| {
        bench.iter(|| {
            let mut key = KeyText::new("Finisher", Finisher::ESCAPE);
            black_box(&runners[next()]).encode_row_key(0, &mut key).unwrap();
            key.finish().unwrap()
        });
    });
    group.finish();
    criterion.final_summary();
    ratio::print("row key of five components", "format!", "derived", Some(0.8));
}
