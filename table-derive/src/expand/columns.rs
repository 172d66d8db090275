//! The properties of a row as a type, to be named in filters and projections.

use super::codec::read_type;
use super::{Expansion, doc, names};
use crate::ast::{Field, Role};
use crate::kind;
use crate::model::Model;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

/// The types of columns: of full rows, and of each partial one, with the fields in it.
fn all<'m>(model: &'m Model<'m>) -> Vec<(Ident, String, Vec<&'m Field<'m>>)> {
    let entity = model.entity;
    let columns = |stores: &dyn Fn(&Field<'_>) -> bool| {
        entity
            .fields
            .iter()
            .filter(|field| field.is_stored() && field.role == Role::Property && stores(field))
            .collect::<Vec<_>>()
    };
    let full = (names::columns(entity), "full rows".to_owned(), columns(&|_| true));
    let partial = entity.rows.iter().filter(|row| !row.is_full()).map(|row| {
        let what = format!("rows `{}`", row.name);
        (names::row_columns(entity, row), what, columns(&|field| row.stores(field)))
    });
    std::iter::once(full).chain(partial).collect()
}

pub fn types(model: &Model<'_>, expansion: &Expansion<'_>) -> TokenStream {
    let (krate, vis) = (&model.entity.krate, &model.entity.input.vis);
    let where_clause = &expansion.where_clause;
    let params = expansion.params();
    let phantom = expansion.phantom().map(|phantom| quote!(__entity: #phantom,));
    all(model)
        .into_iter()
        .map(|(name, what, fields)| {
            let docs = doc(format!("The properties that {what} can be filtered by."));
            let fields = fields.into_iter().map(|field| {
                let Field { ident, vis, property, .. } = field;
                let ty = kind::option(field.ty).unwrap_or(field.ty);
                let docs = doc(format!("`{property}`."));
                quote!(#docs #vis #ident: #krate::query::Column<#ty>,)
            });
            quote! {
                #docs
                #[derive(Debug, Clone, Copy)]
                #[allow(dead_code)]
                #vis struct #name #params #where_clause { #(#fields)* #phantom }
            }
        })
        .collect()
}

pub fn impls(model: &Model<'_>, expansion: &Expansion<'_>) -> TokenStream {
    let entity = model.entity;
    let Expansion { ty, where_clause, .. } = expansion;
    let (params, args) = (expansion.params(), expansion.args());
    let phantom = expansion.is_generic().then(|| quote!(__entity: _orm::PhantomData,));
    let columns = all(model).into_iter().map(|(name, _, fields)| {
        let fields = fields
            .into_iter()
            .map(|Field { ident, property, .. }| quote!(#ident: _orm::Column::new(#property),));
        quote! {
            impl #params #name #args #where_clause {
                const ALL: Self = Self { #(#fields)* #phantom };
            }
        }
    });
    let projected = || entity.fields.iter().filter(|field| field.is_column());
    let fields = projected().map(|field| {
        let (id, property) = (id(field), &field.property);
        let read = read_type(field);
        quote! {
            impl #params _orm::Field<#id, #read> for #ty #where_clause {
                const PROPERTY: &'static str = #property;
            }
        }
    });
    let stores = entity.rows.iter().map(|row| {
        let this = expansion.row_in(entity, row, quote!(__S));
        if row.is_full() {
            let params = expansion.params_and(quote!(__S, const __ID: u64));
            return quote!(impl #params _orm::Stores<__ID> for #this #where_clause {});
        }
        let params = expansion.params_and(quote!(__S));
        projected()
            .filter(|field| row.stores(field))
            .map(|field| {
                let id = id(field);
                quote!(impl #params _orm::Stores<#id> for #this #where_clause {})
            })
            .collect()
    });
    quote!(#(#columns)* #(#fields)* #(#stores)*)
}

fn id(field: &Field<'_>) -> Literal {
    Literal::u64_unsuffixed(names::field_id(&field.name))
}
