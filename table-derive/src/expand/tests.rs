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
    let errors = Errors::default();
    let entity = Entity::parse(&entity, &errors).unwrap();
    let model = Model::resolve(&entity, &errors);
    let samples: String = model.keys().map(|key| sample::whole(key) + "\n").collect();
    expect_file!["../../../tests/fixtures/golden/samples.txt"].assert_eq(&samples);
}

/// Keys that start with nothing that bounds them, and one without components.
fn open() -> syn::DeriveInput {
    parse_quote! {
        #[table(name = "notes", partition = "{owner}")]
        #[row(by_title, key = "{title}__{page}")]
        struct Note { owner: String, title: String, page: u8 }
    }
}

fn constant() -> syn::DeriveInput {
    parse_quote! {
        #[table(name = "settings", partition = "{owner}", row = "all")]
        struct Setting { owner: String }
    }
}

/// The class of the query that a type is, by the state in its arguments.
fn class_of(ty: &syn2::Type, aliases: &BTreeSet<String>) -> &'static str {
    let syn2::Type::Path(path) = ty else { panic!("no state of a key") };
    let last = path.path.segments.last().unwrap();
    if last.ident == "Range" {
        return "row range query";
    }
    let syn2::PathArguments::AngleBracketed(arguments) = &last.arguments else {
        panic!("no state of a key")
    };
    let Some(syn2::GenericArgument::Type(syn2::Type::Path(state))) = arguments.args.last() else {
        panic!("no state of a key")
    };
    match state.path.segments.last().unwrap().ident.to_string().as_str() {
        "Complete" => "point query",
        "Open" => "partition query",
        alias if aliases.contains(alias) => "row range query",
        other => panic!("no state {other}"),
    }
}

fn documented(attrs: &[syn2::Attribute]) -> Option<&'static str> {
    let text: String = attrs.iter().map(|attr| quote::quote!(#attr).to_string()).collect();
    let classes = ["point query", "row range query", "partition query"];
    let mut named = classes.into_iter().filter(|class| text.contains(&format!("a {class}, ")));
    named.next().inspect(|_| assert_eq!(named.next(), None, "{text}"))
}

/// A runtime test holds that a state's class is what `plan()` says.
#[test]
fn documentation_names_the_class_of_each_state_of_a_key() {
    for input in [reference(), sparse(), generic(), open(), constant()] {
        let file = syn2::parse2::<syn2::File>(derive::table_entity(&input)).unwrap();
        let partition = file.items.iter().find_map(|item| match item {
            syn2::Item::Struct(item) if item.ident.to_string().ends_with("Partition") => {
                documented(&item.attrs)
            }
            _ => None,
        });
        let Some(syn2::Item::Const(scope)) = file.items.last() else { panic!("no scope") };
        let syn2::Expr::Block(scope) = &*scope.expr else { panic!("no scope") };
        let items = scope.block.stmts.iter().filter_map(|statement| match statement {
            syn2::Stmt::Item(item) => Some(item),
            _ => None,
        });
        let items: Vec<_> = items.collect();
        let aliases = items.iter().filter_map(|item| match item {
            syn2::Item::Type(alias) => Some(alias.ident.to_string()),
            _ => None,
        });
        let aliases: BTreeSet<_> = aliases.collect();
        let methods = items.iter().flat_map(|item| match item {
            syn2::Item::Impl(item) if item.trait_.is_none() => &item.items[..],
            _ => &[],
        });
        let mut first = None;
        let mut compared = 0;
        for method in methods {
            let syn2::ImplItem::Fn(method) = method else { continue };
            let syn2::ReturnType::Type(_, ty) = &method.sig.output else { continue };
            let Some(class) = documented(&method.attrs) else { continue };
            assert_eq!(class, class_of(ty, &aliases), "{}", method.sig.ident);
            first.get_or_insert(class);
            compared += 1;
        }
        assert!(compared > 0);
        // The first such method is that of the first row, which is canonical here.
        assert_eq!(partition, first);
    }
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
