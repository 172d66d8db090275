//! The size of what is generated, and that all mistakes show at once.

use std::io::Write as _;
use std::process::{Command, Stdio};
use syn::{DeriveInput, parse_quote};

fn reference() -> DeriveInput {
    parse_quote! {
        #[table(name = "registrations", partition = "{event}__{distance}")]
        #[row(by_bib, key = "BIB:{bib:05}__{name}__{sex}__{age}")]
        #[row(by_age, key = "AGE:{age:03}__{bib}__{name}__{sex}")]
        #[row(by_time, key = "NEW:{newest}__{bib:05}", include(name))]
        #[component(newest = desc(registered_at))]
        pub struct Registration {
            pub event: String,
            pub distance: Distance,
            #[table(max = 99_999)]
            pub bib: u32,
            #[table(max_len = 60)]
            pub name: String,
            pub sex: Sex,
            pub age: u8,
            pub registered_at: OffsetDateTime,
            pub city: Option<String>,
        }
    }
}

fn formatted(code: &str) -> String {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config", "use_small_heuristics=Default"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    rustfmt.stdin.take().unwrap().write_all(code.as_bytes()).unwrap();
    String::from_utf8(rustfmt.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn the_reference_entity_expands_to_at_most_450_lines() {
    let code = formatted(&super::entity(&reference()).to_string());
    let lines = code.lines().count();
    assert!((100..=450).contains(&lines), "{lines} lines:\n{code}");
}

#[test]
fn the_same_entity_expands_to_the_same_code() {
    let expand = || super::entity(&reference()).to_string();
    assert_eq!(expand(), expand());
}

/// The errors in generated code.
fn errors(input: &DeriveInput) -> Vec<String> {
    let code = super::entity(input).to_string();
    code.split("compile_error ! {").skip(1).map(|error| error[..60].to_owned()).collect()
}

#[test]
fn all_mistakes_of_an_entity_show_at_once() {
    assert!(errors(&reference()).is_empty());
    let errors = errors(&parse_quote! {
        #[table(name = "x", partition = "{evnt}", row = "{temp}{age:+04}")]
        struct Entity {
            event: String,
            temp: f64,
            #[table(renam = "X")]
            age: u8,
        }
    });
    assert_eq!(errors.len(), 4, "{errors:#?}");
}
