//! What a derive writes after a mistake, so that the mistake is the only error: every name that the
//! rest of the app may use, with types that fit everywhere and bodies that never return. It is the
//! code that `expand` writes for an entity without anything in which the mistake could be, and
//! methods that accept every argument.

use crate::ast::{Copy, Encoder, Entity, Role, Row};
use crate::errors::Errors;
use crate::expand::projection::Projection;
use crate::expand::scope::anonymous;
use crate::expand::types::Types;
use crate::expand::{self, key_part, properties, union, write};
use crate::model::Model;
use crate::names;
use crate::symbol::AND_BELOW;
use crate::template::Template;
use crate::tokens::*;
use crate::variants::UnionMember;
use proc_macro2::{Delimiter, Group, TokenTree};
use std::collections::BTreeSet;

pub fn entity(mut entity: Entity<'_>) -> TokenStream {
    distinct_rows(&mut entity);
    let types = &Types::of(entity.input);
    let methods = [
        partition_methods(&entity, types),
        row_methods(&entity, types),
        patch_methods(&entity, types),
    ];
    simplify(&mut entity);
    let mut model = Model::resolve(&entity, &Errors::default());
    let (beside, common) = expand::common(&model, types, true);
    let (params, every) =
        (types.params_and(quote!(__T, const __ID: _orm::u64)), quote!(_orm::Field<__ID, __T>));
    let property = quote!(
        const PROPERTY: &'static _orm::str = "";
    );
    let field = types.implement_for(params, every, &types.ty, property);
    // Keys that another entity's could overlap with would be a second error in a union of the two.
    model.rows.clear();
    let written = write::impls(&model, types);
    let impls = without_bodies(quote!(#(#methods)* #common #field #written));
    let impls = anonymous(entity.input, &entity.krate, impls);
    quote!(#beside #impls)
}

/// Leaves one row of each name, and at least one row.
fn distinct_rows(entity: &mut Entity<'_>) {
    let input = entity.input;
    let mut taken =
        BTreeSet::from([names::partition(input), names::columns(input), names::patch(input)]);
    entity.rows.retain(|row| taken.insert(names::row(input, row)));
    if entity.rows.is_empty() {
        entity.rows.push(Row::missing());
    }
}

/// Removes from the entity everything that could hold a mistake: rows become full copies whose keys
/// have no components, and fields are properties.
fn simplify(entity: &mut Entity<'_>) {
    entity.table = Some(LitStr::new("", Span::call_site()));
    entity.partition.broken = true;
    for row in &mut entity.rows {
        row.template.broken = true;
        row.copy = Copy::Full;
        row.eventual = None;
    }
    entity.uniques.clear();
    entity.expires = None;
    entity.components.clear();
    entity.fields.retain(|field| field.role == Role::Property);
    for field in &mut entity.fields {
        field.key_only = None;
    }
}

/// `E::partition(..)`, with a component that spreads the partitions `E::partitions(..)`, and the functions of rows.
fn partition_methods(entity: &Entity<'_>, types: &Types<'_>) -> TokenStream {
    let (vis, partition) = (&types.input.vis, types.partition());
    let method = |name: Ident, given: &[Ident], returned: &TokenStream| quote!(#vis fn #name(#(#given: impl _orm::Sized),*) -> #returned {});
    let shards = entity.components.iter();
    let shards: Vec<_> = shards.filter(|own| matches!(own.encoder, Encoder::Shard(_))).collect();
    let spread = entity.components.iter().any(|own| own.encoder == Encoder::Spread);
    let all = idents(slots(&entity.partition));
    let mut methods = vec![method(format_ident!("partition"), &all, &partition)];
    if spread || !shards.is_empty() {
        let mut others = all.clone();
        others.retain(|slot| spread || !shards.iter().any(|own| own.name == *slot));
        methods.push(method(format_ident!("partitions"), &others, &quote!(_orm::Vec<#partition>)));
    }
    for row in &entity.rows {
        let ty = types.row_in(names::row(types.input, row), quote!(_orm::Complete));
        methods.extend(match &row.eventual {
            None => spread.then(|| {
                let ranges = quote!(_orm::Vec<_orm::Range<#ty>>);
                method(format_ident!("{}_in", row.name.unraw()), &all, &ranges)
            }),
            Some(place) => {
                let template = place.partition.as_ref().unwrap_or(&entity.partition);
                Some(method(row.name.clone(), &idents(slots(template)), &ty))
            }
        });
    }
    types.items(&types.ty, quote!(#(#methods)*))
}

/// The methods of components: the names in a row's template, and every name that could be the right
/// one.
fn row_methods(entity: &Entity<'_>, types: &Types<'_>) -> TokenStream {
    let vis = &types.input.vis;
    let rows = entity.rows.iter().map(|row| {
        let this = types.row_in(names::row(types.input, row), quote!(_orm::Complete));
        let names: Vec<_> = slots(&row.template).chain(entity.names()).collect();
        let (equal, ranges) = methods(&names, &["_in", "_starts_with"]);
        // A component of that name is a mistake.
        let below = (!names.iter().any(|name| name == AND_BELOW))
            .then(|| quote!(#vis fn and_below(self) -> _orm::Below<Self> {}));
        let methods = quote! {
            #(#vis fn #equal(self, #equal: impl _orm::Sized) -> Self {})*
            #(#vis fn #ranges(self, _: impl _orm::Sized) -> _orm::Range<Self> {})*
            #below
        };
        types.items(this, methods)
    });
    rows.collect()
}

/// A patch's setters of every field and slot.
fn patch_methods(entity: &Entity<'_>, types: &Types<'_>) -> TokenStream {
    let vis = &types.input.vis;
    let names: Vec<_> = entity.fields.iter().map(|field| field.name.clone()).collect();
    let (setters, slots) = methods(&names, &["_at"]);
    let methods = quote! {
        #(#vis fn #setters(self, #setters: impl _orm::Sized) -> Self {})*
        #(#vis fn #slots(self, slot: _orm::usize, value: impl _orm::Sized) -> Self {})*
    };
    types.items(types.patch(), methods)
}

/// Methods of those names, and of those names with the endings.
fn methods(names: &[String], endings: &[&str]) -> (Vec<Ident>, Vec<Ident>) {
    let plain = idents(names.iter().cloned());
    let ended = names.iter().flat_map(|name| endings.iter().map(move |end| format!("{name}{end}")));
    let ended = idents(ended).into_iter().filter(|name| !plain.contains(name)).collect();
    (plain, ended)
}

fn slots(template: &Template) -> impl Iterator<Item = String> {
    template.slots.iter().map(|slot| slot.name.clone())
}

fn idents(names: impl IntoIterator<Item = String>) -> Vec<Ident> {
    let mut taken = BTreeSet::new();
    names
        .into_iter()
        .filter(|name| taken.insert(name.clone()))
        .filter_map(|name| {
            let parse = |text: &str| syn::parse_str::<Ident>(text).ok();
            parse(&name).or_else(|| parse(&format!("r#{name}")))
        })
        .collect()
}

pub fn key_part(input: &DeriveInput) -> TokenStream {
    without_bodies(key_part::coded(&Types::of(input), &[]))
}

pub fn properties(input: &DeriveInput) -> TokenStream {
    without_bodies(properties::impls(input, &[]))
}

/// The union itself has no members here, so they are not checked.
pub fn union(input: &DeriveInput, members: &[UnionMember<'_>]) -> TokenStream {
    let (union, members) = (union::union(input, &[]), union::member_of(input, members));
    without_bodies(quote!(#union #members))
}

/// `page` is the lifetime of a projection that borrows.
pub fn projection(input: &DeriveInput, page: Option<&syn::Lifetime>) -> TokenStream {
    let types = &Types::of(input);
    without_bodies(Projection { types, of: None, fields: &[], page }.impls())
}

/// The items, with functions that never return.
fn without_bodies(items: TokenStream) -> TokenStream {
    let (mut after_fn, mut in_signature) = (false, false);
    let blank = |token| {
        // A `fn` without a name is a type.
        let named =
            std::mem::replace(&mut after_fn, is_fn(&token)) && matches!(token, TokenTree::Ident(_));
        in_signature |= named;
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let body = match std::mem::take(&mut in_signature) {
                    true => quote!(loop {}),
                    false => without_bodies(group.stream()),
                };
                Group::new(Delimiter::Brace, body).into()
            }
            token => token,
        }
    };
    items.into_iter().map(blank).collect()
}

fn is_fn(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == "fn")
}
