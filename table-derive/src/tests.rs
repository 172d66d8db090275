//! Unit tests of names, templates and typos; and that the derive accepts and rejects the same names and
//! key characters as the runtime.

use crate::case::{CASES, pascal};
use crate::derive::table_entity;
use crate::growing::{FEW, FEW_PARTITIONS, TIMES};
use crate::nearest::nearest;
use crate::symbol::{GUARD_START, HELPER_STARTS, RESERVED_PROPERTIES, SYSTEM_PROPERTIES};
use crate::template::Template;
use proc_macro2::Span;
use quote::{format_ident, quote};
use syn::{LitStr, parse_quote};

#[test]
fn names_are_spelled_in_each_case() {
    let spelled = CASES.map(|(_, case)| case("registered_at"));
    let expected = [
        "RegisteredAt",
        "registeredAt",
        "registered_at",
        "REGISTERED_AT",
        "registeredat",
        "REGISTEREDAT",
    ];
    assert_eq!(spelled, expected);
    assert_eq!(pascal("_by__bib2"), "ByBib2");
}

#[test]
fn a_typo_finds_its_name() {
    assert_eq!(nearest("nmae", ["age", "name", "bib"]), Some("name"));
    assert_eq!(nearest("registered", ["registered_at", "age"]), Some("registered_at"));
    assert_eq!(nearest("city", ["age", "name", "bib"]), None);
}

fn parse(text: &str) -> syn::Result<Template> {
    Template::parse(LitStr::new(text, Span::call_site()))
}

#[test]
fn literals_and_placeholders_come_apart() {
    let template = parse("BIB:{bib:05}__{name}{{}}").unwrap();
    assert_eq!(template.start, "BIB:");
    let slots: Vec<_> = template
        .slots
        .iter()
        .map(|slot| (slot.name.as_str(), slot.digits, slot.separator.as_str()))
        .collect();
    assert_eq!(slots, [("bib", Some(5), "__"), ("name", None, "{}")]);
}

#[test]
fn malformed_templates_are_rejected() {
    for text in [
        "{bib",
        "bib}",
        "{}",
        "{bib name}",
        "{a{b}",
        "{a}{b",
        "{bib:+04}",
        "{r#type}",
        "{bib:5}",
        "{bib:}",
        "{bib:00}",
        "{1}",
        "}{a",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

/// The texts that the runtime's test reads too.
const NAMES: [(&str, &[&str], &[&str]); 3] = include!("../../tests/fixtures/names.rs");

/// Whether the derive accepts an entity with that text where the rule applies.
fn accepts(rule: &str, text: &str) -> bool {
    let text = LitStr::new(text, Span::call_site());
    let key = LitStr::new(&format!("{{f}}_{}", text.value()), Span::call_site());
    let input = match rule {
        "table name" => parse_quote! {
            #[table(name = #text, partition = "{f}", row = "r")]
            struct Entity { f: String }
        },
        "property name" => parse_quote! {
            #[table(name = "entities", partition = "{f}", row = "r")]
            struct Entity { f: String, #[table(rename = #text)] property: String }
        },
        "key" => parse_quote! {
            #[table(name = "entities", partition = "p", row = #key, allow_single_partition)]
            struct Entity { f: String }
        },
        other => panic!("no rule {other}"),
    };
    !table_entity(&input).to_string().contains("compile_error")
}

/// The words that the runtime's tests read too.
const WORDS: [(&str, &[&str]); 4] = include!("../../tests/fixtures/words.rs");

#[test]
fn names_with_a_meaning_are_those_of_the_runtime() {
    let [times, ("starts", starts), system, reserved] = WORDS else { panic!("{WORDS:?}") };
    assert_eq!(("times", &TIMES.split(' ').collect::<Vec<_>>()[..]), times);
    let own: Vec<_> = HELPER_STARTS.into_iter().chain([GUARD_START]).collect();
    assert_eq!(own, starts);
    assert_eq!(("system", &SYSTEM_PROPERTIES[..]), system);
    assert_eq!(("reserved", &RESERVED_PROPERTIES[..]), reserved);
}

#[test]
fn names_and_key_characters_are_those_of_the_runtime() {
    for (rule, accepted, rejected) in NAMES {
        for text in accepted {
            assert!(accepts(rule, text), "{rule} {text:?}");
        }
        for text in rejected {
            assert!(!accepts(rule, text), "{rule} {text:?}");
        }
    }
}

/// Whether the derive refuses a PartitionKey that starts with an integer of that name.
fn grows(name: &str) -> bool {
    let (field, key) = (format_ident!("{name}"), format!("{{{name}}}"));
    let input = parse_quote! {
        #[table(name = "visits", partition = #key, row = "{id}")]
        struct Visit { #field: u64, id: u64 }
    };
    table_entity(&input).to_string().contains("follows the clock or a count")
}

#[test]
fn names_are_judged_by_their_last_word_that_means_something() {
    let growing = "epoch_secs unix_secs yyyymm yyyymmdd ymd tick time_us created created_on hour_utc date_utc seq_no \
                   serial sequence_number visit_day n";
    for name in growing.split(' ') {
        assert!(grows(name), "{name}");
    }
    let others = "created_by updates daytime_phone timezone ticket state candidate number no us house_no serial_no \
                  serial_number phone_number depends_on yard second";
    for name in others.split(' ') {
        assert!(!grows(name), "{name}");
    }
}

#[test]
fn messages_of_the_runtime_say_the_same_numbers() {
    let runtime = include_str!("../../table-orm/src/__private.rs");
    for text in [
        format!("at most {FEW} values before one that grows"),
        format!("at most {FEW_PARTITIONS} values, so"),
    ] {
        assert!(runtime.contains(&text), "{text}");
    }
}

/// How many rows too many the derive finds in an entity with that many own rows, rows in other partitions, and further
/// attributes of its table.
fn excess(own: usize, eventual: usize, table: &str) -> Option<usize> {
    let table: proc_macro2::TokenStream = table.parse().unwrap();
    let rows = (0..own).map(|row| {
        let (name, key) = (format_ident!("r{row}"), format!("{row:03}:{{day:05}}"));
        let mark = (row > 0).then(|| quote!(, allow_duplicate));
        quote!(#[row(#name, key = #key #mark)])
    });
    let others = (0..eventual).map(|row| {
        let (name, key) = (format_ident!("e{row}"), format!("E{row:03}:{{day:05}}__{{club}}"));
        let mark = (row > 0).then(|| quote!(, allow_duplicate));
        quote!(#[row(#name, partition = "all", key = #key, eventual #mark)])
    });
    let input = parse_quote! {
        #[table(name = "runs", partition = "{club}" #table)]
        #(#rows)*
        #(#others)*
        struct Run { club: String, day: u32 }
    };
    let code = table_entity(&input).to_string();
    let Some((_, message)) = code.split_once("the entity has ") else {
        assert!(!code.contains("compile_error"), "{own} {eventual}: {code}");
        return None;
    };
    let (rows, _) = message.split_once(" rows with its helper rows").unwrap();
    Some(rows.parse::<usize>().unwrap() - 100)
}

#[test]
fn an_entity_has_as_many_rows_as_one_transaction_writes_with_its_helper_rows() {
    let (outbox, across) = (", outbox", ", unique(day, across)");
    // The most own rows beside rows in other partitions.
    for (most, eventual, table) in [
        (100, 0, ""),
        // The intent.
        (99, 1, ""),
        // The event and its number.
        (98, 0, outbox),
        (97, 1, outbox),
        // The ticket, and the intent of a value that is given up.
        (98, 0, across),
        (98, 1, across),
    ] {
        assert_eq!(excess(most, eventual, table), None, "{most} {eventual} {table}");
        assert_eq!(excess(most + 1, eventual, table), Some(1), "{most} {eventual} {table}");
    }
    // The ticket of the partition of other rows.
    assert_eq!(excess(1, 99, ""), None);
    assert_eq!(excess(1, 100, ""), Some(1));
}
