//! Each derive from input to code: it parses what the user wrote, checks the rules, and writes code.
//! After a mistake it returns the errors and a fallback.

use crate::ast::{Entity, Field, named_fields, rename_all};
use crate::attr::Items;
use crate::case::Case;
use crate::errors::{Errors, mistake};
use crate::expand::scope::anonymous;
use crate::expand::{key_part, projection, properties, union};
use crate::model::Model;
use crate::symbol::*;
use crate::variants::{KeyPart, UnionMember};
use crate::{check, expand, fallback};
use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

/// `#[derive(TableEntity)]`.
pub fn table_entity(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let Some(parsed) = Entity::parse(input, &mut errors) else { return errors.into_tokens() };
    check::entity(&parsed, &mut errors);
    let code = resolved(&parsed, &mut errors).unwrap_or_else(|| fallback::entity(parsed));
    let errors = errors.into_tokens();
    quote!(#errors #code)
}

/// The code of the entity, or `None` after a mistake.
fn resolved(entity: &Entity<'_>, errors: &mut Errors) -> Option<TokenStream> {
    let model = Model::resolve(entity, errors);
    if entity.keyed {
        check::model(&model, errors);
    }
    errors.is_empty().then(|| expand::entity(&model))
}

/// `#[derive(KeyPart)]`.
pub fn key_part(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let krate = Items::of(&input.attrs, ON_KEY_PART, &mut errors).krate(&mut errors);
    let parsed = KeyPart::parse(input, &mut errors);
    if let Some(KeyPart::Codes(codes)) = &parsed {
        check::codes(codes, &mut errors);
    }
    let impls = match &parsed {
        Some(KeyPart::Codes(_)) | None if !errors.is_empty() => fallback::key_part(input),
        Some(parsed) => key_part::impls(input, parsed),
        None => TokenStream::new(),
    };
    with_errors(input, &krate, errors, impls)
}

/// `#[derive(Properties)]`.
pub fn properties(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let Some(fields) = named_fields(input, "a group of properties", &mut errors) else {
        return errors.into_tokens();
    };
    let mut items = Items::of(&input.attrs, ON_PROPERTIES, &mut errors);
    let krate = items.krate(&mut errors);
    let case = rename_all(&mut items, &mut errors);
    let fields: Vec<_> = fields
        .iter()
        .filter_map(|field| Field::parse(field, ON_FIELD, case, &mut errors))
        .collect();
    check::properties(&fields, &mut errors);
    let impls = if errors.is_empty() {
        properties::impls(input, &fields)
    } else {
        fallback::properties(input)
    };
    with_errors(input, &krate, errors, impls)
}

/// `#[derive(TableUnion)]`.
pub fn table_union(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let krate = Items::of(&input.attrs, ON_UNION, &mut errors).krate(&mut errors);
    let members = UnionMember::parse_all(input, &mut errors);
    if !input.generics.params.is_empty() {
        let ident = &input.ident;
        mistake!(errors, input.generics => "`{ident}` has generic parameters, but stored rows do not hold their types",
            help: "remove them, and use concrete entity types in the variants");
        return errors.into_tokens();
    }
    let impls = if errors.is_empty() {
        union::impls(input, &members)
    } else {
        fallback::union(input, &members)
    };
    with_errors(input, &krate, errors, impls)
}

/// `#[derive(Projection)]`.
pub fn projection(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let Some(fields) = named_fields(input, "a projection", &mut errors) else {
        return errors.into_tokens();
    };
    let mut items = Items::of(&input.attrs, ON_PROJECTION, &mut errors);
    let krate = items.krate(&mut errors);
    let of = items.path(OF, &mut errors);
    if of.is_none() && errors.is_empty() {
        let ident = &input.ident;
        mistake!(errors, ident => "`{ident}` does not name the entity that it is a part of",
            help: "add `#[projection(of = Entity)]`");
    }
    let case = Case::Pascal;
    let fields = fields.iter();
    let fields: Vec<_> = fields
        .filter_map(|field| Field::parse(field, ON_PROJECTED_FIELD, case, &mut errors))
        .collect();
    check::projection(&fields, &mut errors);
    let impls = match of {
        Some(of) if errors.is_empty() => projection::impls(input, &of, &fields),
        _ => fallback::projection(input),
    };
    with_errors(input, &krate, errors, impls)
}

/// The errors, and the implementations in a scope of their own.
fn with_errors(
    input: &DeriveInput,
    krate: &TokenStream,
    errors: Errors,
    impls: TokenStream,
) -> TokenStream {
    let (errors, impls) = (errors.into_tokens(), anonymous(input, krate, impls));
    quote!(#errors #impls)
}
