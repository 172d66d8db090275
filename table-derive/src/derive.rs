//! Each derive from input to code: it parses what the user wrote, checks the rules, and writes code. A
//! mistake gives the errors and a fallback.

use crate::ast::{Entity, Field, named_fields, rename_all};
use crate::attr::Items;
use crate::errors::{Errors, mistake};
use crate::expand::scope::anonymous;
use crate::expand::{entity, key_part, projection, properties, union};
use crate::model::Model;
use crate::symbol::{
    KEY, OF, ON_KEY_PART, ON_PROJECTED_FIELD, ON_PROJECTION, ON_PROPERTIES, ON_UNION, PROJECTION,
    TABLE,
};
use crate::variants::{KeyPart, UnionMember};
use crate::{check, fallback};
use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

/// `#[derive(TableEntity)]`.
pub fn table_entity(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let Some(parsed) = Entity::parse(input, &mut errors) else { return errors.into_tokens() };
    check::entity(&parsed, &mut errors);
    let model = Model::resolve(&parsed, &mut errors);
    if let Some(model) = &model {
        check::model(model, &mut errors);
    }
    let code = match &model {
        Some(model) if errors.is_empty() => entity::entity(model),
        _ => fallback::entity(&parsed),
    };
    let errors = errors.into_tokens();
    quote!(#errors #code)
}

/// `#[derive(KeyPart)]`.
pub fn key_part(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let krate = Items::of(&input.attrs, KEY, ON_KEY_PART, &mut errors).krate(&mut errors);
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
    let mut items = Items::of(&input.attrs, TABLE, ON_PROPERTIES, &mut errors);
    let krate = items.krate(&mut errors);
    let case = rename_all(&mut items, &mut errors);
    let fields: Vec<_> =
        fields.iter().filter_map(|field| Field::parse(field, case, &mut errors)).collect();
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
    let krate = Items::of(&input.attrs, TABLE, ON_UNION, &mut errors).krate(&mut errors);
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
    let mut items = Items::of(&input.attrs, PROJECTION, ON_PROJECTION, &mut errors);
    let krate = items.krate(&mut errors);
    let of = items.path(OF, &mut errors);
    if of.is_none() && errors.is_empty() {
        let ident = &input.ident;
        mistake!(errors, ident => "`{ident}` does not name the entity that it is a part of",
            help: "add `#[projection(of = Entity)]`");
    }
    let fields = fields.iter().filter_map(|field| {
        let items = Items::of(&field.attrs, PROJECTION, ON_PROJECTED_FIELD, &mut errors);
        Field::projected(field, items, &mut errors)
    });
    let fields: Vec<_> = fields.collect();
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
