//! The properties of a row as a type, to be named in filters.

use super::{Expansion, doc, lints, names};
use crate::ast::{Entity, Field, Role, Row};
use crate::kind;
use crate::model::Model;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

/// The name of the type of a row's columns.
pub fn name(entity: &Entity<'_>, row: &Row) -> Ident {
    if row.is_full() { names::columns(entity) } else { names::row_columns(entity, row) }
}

/// The fields that a row's columns name.
fn columns<'e>(entity: &'e Entity<'_>, row: &'e Row) -> impl Iterator<Item = &'e Field<'e>> {
    entity.fields.iter().filter(|field| field.role == Role::Property && row.has_property(field))
}

pub fn types(model: &Model<'_>, expansion: &Expansion<'_>) -> TokenStream {
    let entity = model.entity;
    let (krate, vis) = (&entity.krate, &entity.input.vis);
    let where_clause = &expansion.where_clause;
    let params = expansion.params();
    let lints = &lints(entity.input);
    let phantom = expansion.phantom().map(|phantom| quote!(__entity: #phantom,));
    entity
        .rows
        .iter()
        .enumerate()
        .filter(|(index, row)| *index == model.canonical || !row.is_full())
        .map(|(_, row)| {
            let rows =
                if row.is_full() { "full rows".to_owned() } else { format!("`{}`", row.name) };
            let docs = doc(format!(
                "The properties that {rows} can be filtered by. A filter saves transfer: the \
                 store reads every row of the query all the same."
            ));
            let name = name(entity, row);
            let fields = columns(entity, row).map(|field| {
                let Field { ident, vis, property, .. } = field;
                let ty = kind::option(field.ty).unwrap_or(field.ty);
                let docs = doc(format!("`{property}`."));
                quote!(#docs #vis #ident: #krate::query::Column<#ty>,)
            });
            quote! {
                #docs
                #lints
                #[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::marker::Copy)]
                #[allow(dead_code, deprecated, non_snake_case)]
                #vis struct #name #params #where_clause { #(#fields)* #phantom }
            }
        })
        .collect()
}

/// The value of a row's columns: written out for the canonical row and for partial ones; other full
/// rows have the canonical row's.
pub fn value(model: &Model<'_>, expansion: &Expansion<'_>, row: &Row) -> TokenStream {
    let entity = model.entity;
    let canonical = &entity.rows[model.canonical];
    if row.is_full() && row.name != canonical.name {
        let canonical = expansion.row(entity, canonical);
        return quote!(<#canonical as _orm::Row>::COLUMNS);
    }
    let name = name(entity, row);
    let fields = columns(entity, row)
        .map(|Field { ident, property, .. }| quote!(#ident: _orm::Column::new(#property),));
    let phantom = expansion.is_generic().then(|| quote!(__entity: _orm::PhantomData,));
    quote!(#name { #(#fields)* #phantom })
}
