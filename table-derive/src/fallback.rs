//! What stands in for an entity after a mistake: every name that the rest of the app may use, of
//! types that fit everywhere, so that the mistake is the only error.

use crate::ast::{Entity, Named, Role, Row};
use crate::expand::{Expansion, anonymous, lints, names};
use crate::kind;
use crate::template::Template;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeSet;
use syn::ext::IdentExt;

pub fn entity(entity: &Entity<'_>) -> TokenStream {
    let expansion = &Expansion::of(entity);
    let Expansion { ty, where_clause, .. } = expansion;
    let (krate, vis, lints) = (&entity.krate, &entity.input.vis, &lints(entity.input));
    let (params, args) = (expansion.params(), expansion.args());
    let phantom = quote!(::core::marker::PhantomData<fn() -> #ty>);
    let (partition, columns) = (names::partition(entity), names::columns(entity));
    let patch = names::patch(entity);
    let setters = idents(entity.fields.iter().map(|field| field.name.clone()));
    let numbered = idents(entity.fields.iter().map(|field| format!("{}_at", field.name)));
    let numbered: Vec<_> = numbered.into_iter().filter(|name| !setters.contains(name)).collect();
    let fields = entity.fields.iter().filter(|field| field.role == Role::Property).map(|field| {
        let (ident, ty) = (field.ident, kind::option(field.ty).unwrap_or(field.ty));
        quote!(#vis #ident: #krate::query::Column<#ty>,)
    });
    let rows = rows(entity);
    let row_types = rows.iter().map(|(name, ..)| {
        let params = expansion.params_and(quote!(__S = ()));
        quote!(#lints #[allow(missing_docs)] #[derive(::core::fmt::Debug, ::core::clone::Clone)] #vis struct #name #params (::core::marker::PhantomData<(__S, fn() -> #ty)>) #where_clause;)
    });
    let shards: BTreeSet<_> = entity
        .components
        .iter()
        .filter(|component| matches!(component.encoder, Named::Shard(..)))
        .map(|component| component.name.unraw().to_string())
        .collect();
    let partitions = (!shards.is_empty()).then(|| {
        let slots = entity.partition.iter().flat_map(slots);
        let arguments = idents(slots.filter(|slot| !shards.contains(slot)));
        quote! {
            #vis fn partitions(#(#arguments: impl Sized),*) -> ::std::vec::Vec<#partition #args> {
                loop {}
            }
        }
    });
    let arguments = entity.partition.iter().flat_map(|template| idents(slots(template)));
    let row_methods = rows.iter().filter_map(|(name, row)| {
        let method = &(*row)?.name;
        let args = expansion.args();
        Some(quote!(#vis fn #method(&self) -> #name #args { loop {} }))
    });
    let row_impls = rows.iter().map(|(name, row)| {
        let any = expansion.params_and(quote!(__S));
        let (this, first) = (expansion.args_and(quote!(__S)), expansion.args());
        let stores = expansion.params_and(quote!(__S, const __ID: u64));
        let equal = idents(components(entity, *row));
        let others = components(entity, *row)
            .into_iter()
            .flat_map(|name| ["_in", "_starts_with"].map(|ending| format!("{name}{ending}")));
        let others = idents(others).into_iter().filter(|name| !equal.contains(name));
        quote! {
            impl #any #name #this #where_clause {
                #(#vis fn #equal(self, _: impl Sized) -> Self { loop {} })*
                #(#vis fn #others(self, _: impl Sized) -> _orm::Range<#name #first> { loop {} })*
            }
            impl #any _orm::Query for #name #this #where_clause {
                type Row = #name #first;
                type Class = _orm::class::Point;
                fn into_keys(self) -> _orm::KeyResult<_orm::KeyRange> { loop {} }
            }
            impl #any _orm::Row for #name #this #where_clause {
                type Entity = #ty;
                type Columns = #columns #args;
                const INDEX: usize = 0;
                const COLUMNS: Self::Columns = loop {};
            }
            impl #stores _orm::Stores<__ID> for #name #this #where_clause {}
        }
    });
    let canonical = rows.first().map(|(name, _)| quote!(#name #args));
    let row_params = expansion.params_and(quote!(__R: _orm::Row));
    let field_params = expansion.params_and(quote!(__T, const __ID: u64));
    let impls = quote! {
        impl #params #ty #where_clause {
            #vis fn partition(#(#arguments: impl Sized),*) -> #partition #args { loop {} }
            #partitions
        }
        impl #params #partition #args #where_clause { #(#row_methods)* }
        impl #params _orm::Query for #partition #args #where_clause {
            type Row = #canonical;
            type Class = _orm::class::Partition;
            fn into_keys(self) -> _orm::KeyResult<_orm::KeyRange> { loop {} }
        }
        #(#row_impls)*
        impl #row_params _orm::FromRow<__R> for #ty #where_clause {}
        impl #field_params _orm::Field<__ID, __T> for #ty #where_clause {
            const PROPERTY: &'static str = "";
        }
        impl #params _orm::ReadRow for #ty #where_clause {
            const NAME: &'static str = "";
            fn read_row(_: usize, _: _orm::Members<'_, '_>) -> _orm::Read<Self> { loop {} }
        }
        impl #params #patch #args #where_clause {
            #(#vis fn #setters(self, _: impl Sized) -> Self { loop {} })*
            #(#vis fn #numbered(self, _: usize, _: impl Sized) -> Self { loop {} })*
        }
        impl #params _orm::Default for #patch #args #where_clause {
            fn default() -> Self { loop {} }
        }
        impl #params _orm::EntityPatch<#ty> for #patch #args #where_clause {
            fn into_patch(self) -> _orm::Patch<#ty> { loop {} }
        }
        impl #params _orm::TableEntity for #ty #where_clause {
            const TABLE: &'static str = "";
            const PARTITION: &'static str = "";
            const ROWS: &'static [_orm::RowTemplate] = &[];
            const LONGEST_KEYS: &'static [_orm::Option<usize>] = &[];
            type Canonical = #canonical;
            fn encode_partition_key(
                &self,
                _: &mut _orm::KeyText,
            ) -> _orm::KeyResult { loop {} }
            fn encode_row_key(
                &self,
                _: usize,
                _: &mut _orm::KeyText,
            ) -> _orm::KeyResult<bool> { loop {} }
            fn encode_properties(
                &self,
                _: usize,
                _: &mut _orm::PropertiesWriter,
            ) -> _orm::Written { loop {} }
        }
    };
    let impls = anonymous(entity.input, krate, impls);
    quote! {
        #lints
        #[allow(missing_docs)]
        #[derive(::core::fmt::Debug, ::core::clone::Clone)]
        #vis struct #partition #params (#phantom) #where_clause;
        #lints
        #[allow(missing_docs, dead_code, deprecated, non_snake_case)]
        #[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::marker::Copy)]
        #vis struct #columns #params #where_clause { #(#fields)* __entity: #phantom }
        #lints
        #[allow(missing_docs)]
        #[derive(::core::fmt::Debug, ::core::clone::Clone)]
        #vis struct #patch #params (#phantom) #where_clause;
        #(#row_types)*
        #impls
    }
}

/// The rows of different names, or one that stands in for them.
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

/// What may be asked of a row: what its template names, and all that it could have meant.
fn components(entity: &Entity<'_>, row: Option<&Row>) -> Vec<String> {
    let slots = row.map(|row| slots(&row.template).collect::<Vec<_>>()).unwrap_or_default();
    let fields = entity.fields.iter().map(|field| field.name.clone());
    let components = entity.components.iter().map(|component| component.name.unraw().to_string());
    slots.into_iter().chain(fields).chain(components).collect()
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
