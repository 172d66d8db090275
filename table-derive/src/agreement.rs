//! The derive accepts and rejects the same names and key characters as the runtime.

use crate::derive::table_entity;
use proc_macro2::Span;
use syn::{LitStr, parse_quote};

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
            #[table(name = "entities", partition = "p", row = #key)]
            struct Entity { f: String }
        },
        other => panic!("no rule {other}"),
    };
    !table_entity(&input).to_string().contains("compile_error")
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
