//! Each derive from input to code: it parses what the user wrote, checks the rules, and writes code.
//! After a mistake it returns the errors and a fallback.

use crate::ast::{Entity, Field, named_fields, rename_all};
use crate::attr::Items;
use crate::case::pascal;
use crate::errors::{Errors, mistake};
use crate::expand::projection::Projection;
use crate::expand::scope::anonymous;
use crate::expand::types::Types;
use crate::expand::{key_part, properties, union};
use crate::model::Model;
use crate::symbol::*;
use crate::tokens::*;
use crate::variants::{KeyPart, UnionMember};
use crate::{check, expand, expiry, fallback};

pub fn table_entity(input: &DeriveInput) -> TokenStream {
    let errors = Errors::default();
    let Some(mut parsed) = Entity::parse(input, &errors) else { return errors.into_tokens() };
    expiry::complete(&mut parsed, &errors);
    check::entity(&parsed, &errors);
    let code = resolved(&parsed, &errors).unwrap_or_else(|| fallback::entity(parsed));
    let errors = errors.into_tokens();
    quote!(#errors #code)
}

/// The code of the entity, or `None` after a mistake.
fn resolved(entity: &Entity<'_>, errors: &Errors) -> Option<TokenStream> {
    let model = Model::resolve(entity, errors);
    if entity.keyed {
        check::model(&model, errors);
    }
    errors.is_empty().then(|| expand::entity(&model))
}

pub fn key_part(input: &DeriveInput) -> TokenStream {
    scoped(input, ON_KEY_PART, |items, errors| {
        let grows = items.get("grows");
        let parsed = KeyPart::parse(input, grows, errors);
        if let Some(KeyPart::Codes(codes)) = &parsed {
            check::codes(codes, errors);
        }
        match &parsed {
            Some(KeyPart::Codes(_)) | None if !errors.is_empty() => Some(fallback::key_part(input)),
            parsed => parsed.as_ref().map(|parsed| key_part::impls(input, parsed)),
        }
    })
}

pub fn properties(input: &DeriveInput) -> TokenStream {
    scoped(input, ON_PROPERTIES, |items, errors| {
        let case = rename_all(items, errors);
        let fields = named_fields(input, "a group of properties", errors)?.iter();
        let fields = Field::parse_all(fields, (ON_FIELD, case), errors);
        check::properties(&fields, errors);
        Some(match errors.is_empty() {
            true => properties::impls(input, &fields),
            false => fallback::properties(input),
        })
    })
}

pub fn table_union(input: &DeriveInput) -> TokenStream {
    scoped(input, ON_UNION, |_, errors| {
        let members = UnionMember::parse_all(input, errors);
        if !input.generics.params.is_empty() {
            let ident = &input.ident;
            mistake!(errors, input.generics => "`{ident}` has generic parameters, but stored rows do not hold their types",
                help: "remove them, and use concrete entity types in the variants");
            return None;
        }
        Some(match errors.is_empty() {
            true => union::impls(input, &members),
            false => fallback::union(input, &members),
        })
    })
}

pub fn projection(input: &DeriveInput) -> TokenStream {
    scoped(input, ON_PROJECTION, |items, errors| {
        let of: Option<Path> = items.get("of");
        if of.is_none() && errors.is_empty() {
            let ident = &input.ident;
            mistake!(errors, ident => "`{ident}` does not name the entity that it is a part of",
                help: "add `#[projection(of = Entity)]`");
        }
        let borrow: Option<Span> = items.get("borrow");
        let fields = named_fields(input, "a projection", errors)?.iter();
        let fields = Field::parse_all(fields, (ON_PROJECTED_FIELD, pascal), errors);
        check::projection(&fields, errors);
        let lifetime = borrow.and_then(|_| check::borrowed(input, errors));
        if of.is_none() || !errors.is_empty() {
            return Some(fallback::projection(input, lifetime));
        }
        let (types, of) = (&Types::of(input), of.as_ref());
        Some(Projection { types, of, fields: &fields, page: lifetime }.impls())
    })
}

/// The errors, then the implementations in a scope of their own, if there are any.
fn scoped(
    input: &DeriveInput,
    attribute: Attribute,
    impls: impl FnOnce(&mut Items<'_>, &Errors) -> Option<TokenStream>,
) -> TokenStream {
    let errors = Errors::default();
    let mut items = Items::of(&input.attrs, attribute, &errors);
    let krate = items.krate();
    let impls = impls(&mut items, &errors).map(|impls| anonymous(input, &krate, impls));
    let errors = errors.into_tokens();
    quote!(#errors #impls)
}
