//! The complete output of the derive.

use crate::ast::Entity;
use crate::derive;
use crate::errors::Errors;
use crate::expand::sample;
use crate::model::Model;
use expect_test::expect_file;
use proc_macro2::{Ident, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};
use syn::parse_quote;

/// Formatted as this repository is.
fn formatted(tokens: TokenStream) -> String {
    // Turns attributes into doc comments, which rustfmt does not change.
    let code = prettyplease::unparse(&syn2::parse2(tokens).unwrap());
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../rustfmt.toml");
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path", config])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    rustfmt.stdin.take().unwrap().write_all(code.as_bytes()).unwrap();
    let formatted = rustfmt.wait_with_output().unwrap();
    assert!(formatted.status.success());
    String::from_utf8(formatted.stdout).unwrap()
}

/// The entity of the README.
fn reference() -> syn::DeriveInput {
    parse_quote! {
        #[table(name = "registrations", partition = "{event}__{distance}", unique(bib))]
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

/// Sparse rows, escapes, a short form, fields that are not properties.
fn sparse() -> syn::DeriveInput {
    parse_quote! {
        #[table(name = "files", partition = "{owner}", escape = encode, rename_all = "snake_case")]
        #[row(by_path, key = "P:{path}")]
        #[row(by_day, key = "D:{day}__{path}", when = File::is_public, exclude(labels))]
        struct File {
            #[table(key_only)]
            owner: u64,
            #[table(key_only)]
            path: String,
            day: Option<Date>,
            #[table(json)]
            labels: Vec<String>,
            #[table(series)]
            reads: [Option<u32>; 24],
            #[table(skip)]
            open: bool,
            #[table(etag)]
            version: Option<ETag>,
        }
    }
}

fn generic() -> syn::DeriveInput {
    parse_quote! {
        #[table(name = "measures", partition = "{type}", row = "{at}", crate = orm)]
        pub(crate) struct Measure<'a, T = f64, const N: usize = 2>
        where
            T: Property + Send + Sync,
        {
            r#type: Cow<'a, str>,
            at: u16,
            value: T,
            #[table(series)]
            series: [Option<u8>; N],
        }
    }
}

fn office() -> syn::DeriveInput {
    parse_quote! {
        enum Office {
            Employee(Employee),
            Department(directory::Department),
            Guest(Guest<'static, u8>),
        }
    }
}

#[test]
fn the_reference_entity_expands_to_what_was_reviewed() {
    expect_file!["snapshots/reference.rs"]
        .assert_eq(&formatted(derive::table_entity(&reference())));
}

#[test]
fn a_sparse_entity_expands_to_what_was_reviewed() {
    expect_file!["snapshots/sparse.rs"].assert_eq(&formatted(derive::table_entity(&sparse())));
}

#[test]
fn a_generic_entity_expands_to_what_was_reviewed() {
    expect_file!["snapshots/generic.rs"].assert_eq(&formatted(derive::table_entity(&generic())));
}

#[test]
fn a_union_expands_to_what_was_reviewed() {
    expect_file!["snapshots/union.rs"].assert_eq(&formatted(derive::table_union(&office())));
}

#[test]
fn the_reference_entity_stays_within_its_budget() {
    let lines = formatted(derive::table_entity(&reference())).lines().count();
    assert!(lines <= 450, "{lines} lines");
}

/// The runtime's tests compare the same file with what the encoders write for the entity.
#[test]
fn sample_keys_are_those_that_the_encoders_write() {
    let source = include_str!("../../../tests/suite/derive/samples.rs");
    let file = syn2::parse_file(source).unwrap();
    let entity = file.items.into_iter().find_map(|item| match item {
        syn2::Item::Struct(item) => Some(quote::quote!(#item)),
        _ => None,
    });
    let entity: syn::DeriveInput = syn::parse2(entity.unwrap()).unwrap();
    let mut errors = Errors::default();
    let entity = Entity::parse(&entity, &mut errors).unwrap();
    let model = Model::resolve(&entity, &mut errors);
    let samples: String = model.keys().map(|key| sample::whole(key) + "\n").collect();
    expect_file!["../../../tests/fixtures/golden/samples.txt"].assert_eq(&samples);
}

/// What is called as a method or a macro, by name.
fn called(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let is = |at: Option<usize>, text: &str| {
            at.and_then(|at| tokens.get(at)).is_some_and(|token| token.to_string() == text)
        };
        match token {
            TokenTree::Group(group) => called(group.stream(), names),
            TokenTree::Ident(name) if is(at.checked_sub(1), ".") => {
                let call = matches!(tokens.get(at + 1), Some(TokenTree::Group(_)));
                if call || is(Some(at + 1), ":") {
                    names.insert(name.to_string());
                }
            }
            TokenTree::Ident(name) if is(Some(at + 1), "!") && !is(at.checked_sub(1), ":") => {
                // Not a keyword, as in `if !found`.
                names.extend(
                    syn::parse_str::<Ident>(&name.to_string()).ok().map(|name| name.to_string()),
                );
            }
            _ => {}
        }
    }
}

#[test]
fn the_test_of_hostile_names_knows_each_method_and_macro() {
    let source = include_str!("../../../tests/suite/derive/hygiene.rs");
    let known: BTreeSet<&str> = source.split_whitespace().collect();
    let mut names = BTreeSet::new();
    for input in [reference(), sparse(), generic()] {
        called(derive::table_entity(&input), &mut names);
    }
    called(derive::table_union(&office()), &mut names);
    // The entity's own rows are methods of a generated type.
    names.retain(|name| !name.starts_with("by_") && name != "row");
    let unknown: Vec<_> = names.iter().filter(|name| !known.contains(name.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn the_same_struct_expands_to_the_same_code() {
    for input in [reference(), sparse(), generic()] {
        let first = derive::table_entity(&input).to_string();
        for _ in 0..10 {
            assert_eq!(derive::table_entity(&input).to_string(), first);
        }
    }
}
