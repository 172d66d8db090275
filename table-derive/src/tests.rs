//! Unit tests of names, templates and typos.

use crate::case::{CASES, pascal};
use crate::nearest::nearest;
use crate::template::Template;
use proc_macro2::Span;
use syn::LitStr;

#[test]
fn names_are_spelled_in_each_case() {
    let spelled = CASES.map(|(_, case)| case.apply("registered_at"));
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
