//! The fields that a projection may have, and the rows that store them or whose keys tell them.

use super::codec::read_type;
use super::{Expansion, names};
use crate::ast::{Field, Role};
use crate::kind;
use crate::model::{Key, Model};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

pub fn impls(model: &Model<'_>, expansion: &Expansion<'_>) -> TokenStream {
    let entity = model.entity;
    let Expansion { ty, where_clause, .. } = expansion;
    let params = expansion.params();
    let projected =
        || entity.fields.iter().filter(|field| field.is_column() || field.key_only.is_some());
    let fields = projected().map(|field| {
        let (id, read, from_keys) = (id(field), read_type(field), from_keys(model, field));
        let property = if field.is_stored() { &*field.property } else { "" };
        quote! {
            impl #params _orm::Field<#id, #read> for #ty #where_clause {
                const PROPERTY: &'static str = #property;
                #from_keys
            }
        }
    });
    let stores = model.rows().map(|(row, key)| {
        let this = expansion.row_in(entity, row, quote!(__S));
        if row.is_full() {
            let params = expansion.params_and(quote!(__S, const _ID: u64));
            return quote!(impl #params _orm::Stores<_ID> for #this #where_clause {});
        }
        let params = expansion.params_and(quote!(__S));
        projected()
            .filter(|field| {
                row.has_property(field) || model.partition.gives(field) || key.gives(field)
            })
            .map(|field| {
                let id = id(field);
                quote!(impl #params _orm::Stores<#id> for #this #where_clause {})
            })
            .collect()
    });
    quote!(#(#fields)* #(#stores)*)
}

fn id(field: &Field<'_>) -> Literal {
    Literal::u64_unsuffixed(names::field_id(&field.name))
}

/// `Field::from_keys`, where some rows do not store the field, but their keys give it.
fn from_keys(model: &Model<'_>, field: &Field<'_>) -> Option<TokenStream> {
    let mut without = model.rows().enumerate().filter(|(_, (row, _))| !row.has_property(field));
    let from_keys = if let Some(read) = read(&model.partition, field) {
        let start = &model.partition.template.start;
        without.next()?;
        quote!(keys.partition::<Self, _>(#start, #read))
    } else {
        let rows: Vec<_> = without
            .filter_map(|(row, (_, key))| {
                let (row, start) = (Literal::usize_unsuffixed(row), &key.template.start);
                let read = read(key, field)?;
                Some(quote!(keys.row::<Self, _>(#row, #start, #read)))
            })
            .collect();
        let (last, others) = rows.split_last()?;
        quote! {
            #(if let value @ _orm::Some(_) = #others? {
                return _orm::Ok(value);
            })*
            #last
        }
    };
    let ty = read_type(field);
    Some(quote! {
        fn from_keys(keys: _orm::StoredKeys<'_>) -> _orm::FromKeys<#ty> {
            #from_keys
        }
    })
}

/// A closure that reads the field out of a key, if that gives it back.
fn read(key: &Key<'_>, field: &Field<'_>) -> Option<TokenStream> {
    let at = key.giving(field)?;
    let mut parts = key.parts[..=at].iter().map(|part| {
        let (part_of, name, then) = (part.tokens(), &part.name, part.then);
        quote!(#part_of::read(key, #name, #then))
    });
    let read = parts.next_back()?;
    let whole = match field.role {
        Role::Json => Some(quote!(.map(_orm::Json))),
        _ => kind::option(field.ty).map(|_| quote!(.map(_orm::Some))),
    };
    Some(quote!(|key| { #(#parts?;)* #read #whole }))
}
