//! What a derive writes after a mistake, so that the mistake is the only error: every name that the
//! rest of the app may use, with types that fit everywhere and bodies that never return. The
//! signatures are those of `expand`.

use crate::ast::{Entity, Field, NamedEncoder, Role, Row};
use crate::expand::scope::anonymous;
use crate::expand::signature::*;
use crate::expand::types::EntityTypes;
use crate::names;
use crate::template::Template;
use crate::variants::UnionMember;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use std::collections::BTreeSet;
use syn::DeriveInput;
use syn::ext::IdentExt;

/// The body of every method.
fn unreachable() -> TokenStream {
    quote!(loop {})
}

/// The type of every argument.
fn anything() -> TokenStream {
    quote!(impl Sized)
}

pub fn entity(entity: &Entity<'_>) -> TokenStream {
    let types = &EntityTypes::of(entity);
    let rows = rows(entity);
    let undocumented = || quote!(#[allow(missing_docs)]);
    let at = |template: Option<&Template>| {
        template.map_or_else(Span::call_site, |template| template.literal.span())
    };
    let partition = types.partition_type(undocumented(), at(entity.partition.as_ref()));
    let row_types = rows
        .iter()
        .map(|(name, row)| types.row_type(undocumented(), name, at(row.map(|row| &row.template))));
    let columns = columns(types, undocumented());
    let patch = types.patch_type(undocumented());
    let impls = [
        partition_impls(types, &rows),
        rows.iter().map(|(name, row)| row_impls(types, name, *row)).collect(),
        patch_impls(types),
        entity_impls(types, &rows),
    ];
    let impls = anonymous(entity.input, &entity.krate, quote!(#(#impls)*));
    quote!(#partition #columns #patch #(#row_types)* #impls)
}

/// The columns that any row may have.
fn columns(types: &EntityTypes<'_>, docs: TokenStream) -> TokenStream {
    let (krate, vis) = (&types.entity.krate, &types.entity.input.vis);
    let fields = types.entity.fields.iter().filter(|field| field.role == Role::Property);
    let fields = fields.map(|field| {
        let (ident, ty) = (field.ident, field.value_type());
        quote!(#docs #vis #ident: #krate::query::Column<#ty>,)
    });
    types.columns_type(docs.clone(), &names::columns(types.entity), fields.collect())
}

/// `E::partition(..)`, its methods and its query.
fn partition_impls(types: &EntityTypes<'_>, rows: &[(Ident, Option<&Row>)]) -> TokenStream {
    let (ty, where_clause) = (&types.ty, &types.where_clause);
    let (params, partition) = (types.params(), types.partition());
    let slots = || types.entity.partition.iter().flat_map(slots);
    let parameters = |names: Vec<String>| {
        let (names, ty) = (idents(names), anything());
        quote!(#(#names: #ty),*)
    };
    let shards = shards(types.entity);
    let made = types.partition_fn(parameters(slots().collect()), unreachable(), Span::call_site());
    let others = slots().filter(|slot| !shards.contains(slot)).collect();
    let all = (!shards.is_empty()).then(|| types.partitions_fn(parameters(others), unreachable()));
    let methods = rows.iter().filter_map(|(name, row)| {
        Some(types.row_fn(&(*row)?.name, types.with_args(name), unreachable()))
    });
    let canonical = canonical(types, rows);
    let of = (params.clone(), &partition);
    let query = types.query_impl(of, (canonical, quote!(_orm::class::Partition)), unreachable());
    quote! {
        impl #params #ty #where_clause { #made #all }
        impl #params #partition #where_clause { #(#methods)* }
        #query
    }
}

/// The components that spread an entity's partitions.
fn shards(entity: &Entity<'_>) -> BTreeSet<String> {
    let components = entity.components.iter();
    let shards =
        components.filter(|component| matches!(component.encoder, NamedEncoder::Shard(..)));
    shards.map(|component| component.name.unraw().to_string()).collect()
}

fn canonical(types: &EntityTypes<'_>, rows: &[(Ident, Option<&Row>)]) -> TokenStream {
    rows.first().map(|(name, _)| types.with_args(name)).into_token_stream()
}

/// The methods and traits of a row in every state.
fn row_impls(types: &EntityTypes<'_>, name: &Ident, row: Option<&Row>) -> TokenStream {
    let (where_clause, any) = (&types.where_clause, types.params_and(quote!(__S)));
    let this = &types.row_in(name, quote!(__S));
    let components = components(types.entity, row);
    let equal = idents(components.clone());
    let ranges = components
        .iter()
        .flat_map(|name| ["_in", "_starts_with"].map(|ending| format!("{name}{ending}")));
    let ranges = idents(ranges).into_iter().filter(|name| !equal.contains(name));
    let ranges =
        ranges.map(|name| types.last_component_fn(&name, ("_", anything()), unreachable()));
    let equal = equal
        .iter()
        .map(|name| types.component_fn(name, (anything(), quote!(Self)), unreachable()));
    let first = types.with_args(name);
    let class = quote!(_orm::class::Point);
    let query = types.query_impl((any.clone(), this), (first, class), unreachable());
    let columns = types.with_args(names::columns(types.entity));
    let row = types.row_impl(this, columns, (quote!(0), unreachable()));
    let stores = types.stores_all_impl(this);
    quote! {
        impl #any #this #where_clause { #(#equal)* #(#ranges)* }
        #query
        #row
        #stores
    }
}

/// A patch that sets every field.
fn patch_impls(types: &EntityTypes<'_>) -> TokenStream {
    let (params, patch, where_clause) = (types.params(), types.patch(), &types.where_clause);
    let fields = &types.entity.fields;
    let setters = idents(fields.iter().map(|field| field.name.clone()));
    let slots = idents(fields.iter().map(|field: &Field<'_>| format!("{}_at", field.name)));
    let slots = slots.iter().filter(|name| !setters.contains(name));
    let slots = slots.map(|name| types.slot_setter_fn(name, anything(), unreachable()));
    let setters =
        setters.iter().map(|name| types.setter_fn(name, (name, anything()), unreachable()));
    let default = types.patch_default(unreachable());
    let entity_patch = types.entity_patch_impl(unreachable());
    quote! {
        impl #params #patch #where_clause { #(#setters)* #(#slots)* }
        #default
        #entity_patch
    }
}

/// The traits of the entity itself.
fn entity_impls(types: &EntityTypes<'_>, rows: &[(Ident, Option<&Row>)]) -> TokenStream {
    let EntityTypes { ty, where_clause, .. } = types;
    let row_params = types.params_and(quote!(__R: _orm::Row));
    let from_row = types.full_row_impl(row_params, quote!(__R));
    let field_params = types.params_and(quote!(__T, const __ID: u64));
    let field = types.field_impl(field_params, (quote!(__ID), quote!(__T)), "", None);
    let read_row = read_row_impl((types.params(), ty, where_clause), ("", None), unreachable());
    let parts = TableEntityParts {
        table: quote!(""),
        partition: quote!(""),
        canonical: canonical(types, rows),
        encode_partition_key: unreachable(),
        encode_row_key: unreachable(),
        encode_properties: unreachable(),
        ..TableEntityParts::default()
    };
    let table_entity = types.table_entity_impl(parts);
    quote!(#from_row #field #read_row #table_entity)
}

/// The rows of different names, or one in their place.
fn rows<'e>(entity: &'e Entity<'_>) -> Vec<(Ident, Option<&'e Row>)> {
    let mut taken =
        BTreeSet::from([names::partition(entity), names::columns(entity), names::patch(entity)]);
    let mut rows: Vec<_> = entity
        .rows
        .iter()
        .map(|row| (names::row(entity, row), Some(row)))
        .filter(|(name, _)| taken.insert(name.clone()))
        .collect();
    if rows.is_empty() {
        rows.push((format_ident!("{}Row", entity.input.ident), None));
    }
    rows
}

/// The components that the app may give to a row's key: the names in its template, and every name
/// that could be the right one.
fn components(entity: &Entity<'_>, row: Option<&Row>) -> Vec<String> {
    let slots = row.into_iter().flat_map(|row| slots(&row.template));
    slots.chain(entity.names()).collect()
}

fn slots(template: &Template) -> impl Iterator<Item = String> {
    template.slots.iter().map(|slot| slot.name.clone())
}

/// Each name once.
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
    let key_part = code_key_part_impl(input, quote!(Fixed(1)), unreachable(), unreachable());
    let sorted = sorted_impls(input);
    let property = property_impl(
        input,
        PropertyParts {
            predicates: input.generics.where_clause.to_token_stream(),
            write: unreachable(),
            read: unreachable(),
            absent: None,
            edm: unreachable(),
        },
    );
    quote!(#key_part #sorted #property)
}

pub fn properties(input: &DeriveInput) -> TokenStream {
    let parts = PropertiesParts {
        properties: quote!(&[]),
        slots: quote!(()),
        write: unreachable(),
        read: unreachable(),
        finish: unreachable(),
    };
    properties_impl(input, parts)
}

pub fn union(input: &DeriveInput, members: &[UnionMember<'_>]) -> TokenStream {
    let parts = UnionParts { table: quote!(""), read: unreachable(), ..UnionParts::default() };
    let members = members.iter().map(|member| member_impl(input, member));
    let union = union_impl(input, parts);
    quote!(#union #(#members)*)
}

pub fn projection(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let (ty, where_clause) = (quote!(#ident #ty_generics), where_clause.to_token_stream());
    let read_row = read_row_impl((impl_generics, &ty, &where_clause), ("", None), unreachable());
    let row = quote!(_orm::Row);
    let from_row = projected_from_row_impl(input, row, TokenStream::new());
    quote!(#read_row #from_row)
}
