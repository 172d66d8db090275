//! What a projection may ask for: the entity's fields, and the rows whose properties or keys hold
//! each.

use crate::ast::{Entity, Field, Role};
use crate::expand::property::read_type;
use crate::expand::types::Types;
use crate::kind;
use crate::model::{Key, Model};
use crate::names;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

pub fn impls(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let fields = projected(model.entity).map(|field| {
        if field.role == Role::Series {
            return series(field, types);
        }
        let property = if field.is_stored() { &*field.property } else { "" };
        let from_keys = from_keys(model, field);
        let (id, ty) = (id(field), read_type(field));
        let body = quote!(const PROPERTY: &'static _orm::str = #property; #from_keys);
        types.implement(quote!(_orm::Field<#id, #ty>), body)
    });
    let stores = stores(model, types);
    quote!(#(#fields)* #stores)
}

/// The fields that a projection may have.
fn projected<'e>(entity: &'e Entity<'_>) -> impl Iterator<Item = &'e Field<'e>> {
    entity
        .fields
        .iter()
        .filter(|field| field.is_column() || field.role == Role::Series || field.key_only.is_some())
}

/// A field of several numbered properties.
fn series(field: &Field<'_>, types: &Types<'_>) -> TokenStream {
    let (id, ty, property) = (id(field), field.ty, &field.property);
    let body = quote!(type Series = #ty; const PROPERTY: &'static _orm::str = #property;);
    types.implement(quote!(_orm::SeriesOf<#id>), body)
}

fn id(field: &Field<'_>) -> Literal {
    Literal::u64_unsuffixed(names::field_id(&field.name))
}

/// `Stores` of each row: every field for a full row, some for a partial one.
pub fn stores(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let rows = model.rows().map(|(row, key)| {
        let this = types.row_in(names::row(types.input, row), quote!(__S));
        let implement = |params, what| {
            types.implement_for(types.params_and(params), what, &this, TokenStream::new())
        };
        if row.is_full() {
            return implement(quote!(__S, const _ID: _orm::u64), quote!(_orm::Stores<_ID>));
        }
        let holds = |field: &&Field<'_>| {
            row.has_property(field) || model.partition.recovers(field) || key.recovers(field)
        };
        let fields = projected(model.entity).filter(holds);
        let stores = fields.map(|field| {
            let id = id(field);
            implement(quote!(__S), quote!(_orm::Stores<#id>))
        });
        stores.collect()
    });
    rows.collect()
}

/// `Field::from_keys`, where rows do not store the field but their keys hold it.
fn from_keys(model: &Model<'_>, field: &Field<'_>) -> Option<TokenStream> {
    let ty = read_type(field);
    let value = from_partition(model, field).or_else(|| from_rows(model, field))?;
    Some(quote! {
        fn from_keys(keys: _orm::StoredKeys<'_>) -> _orm::FromKeys<#ty> {
            #value
        }
    })
}

/// The value from the PartitionKey, if a row needs it.
fn from_partition(model: &Model<'_>, field: &Field<'_>) -> Option<TokenStream> {
    let (start, read) = (&model.partition.template.start, read(&model.partition, field)?);
    let needed = model.entity.rows.iter().any(|row| !row.has_property(field));
    needed.then(|| quote!(keys.partition::<Self, _>(#start, #read)))
}

/// The value from the RowKey of the first row that does not store it and whose key holds it.
fn from_rows(model: &Model<'_>, field: &Field<'_>) -> Option<TokenStream> {
    if model.partition.recovers(field) {
        return None;
    }
    let without = model.rows().enumerate().filter(|(_, (row, _))| !row.has_property(field));
    let rows = without.filter_map(|(row, (_, key))| {
        let (row, start) = (Literal::usize_unsuffixed(row), &key.template.start);
        let read = read(key, field)?;
        Some(quote!(keys.row::<Self, _>(#row, #start, #read)))
    });
    let rows: Vec<_> = rows.collect();
    let (last, others) = rows.split_last()?;
    Some(quote! {
        #(if let value @ _orm::Some(_) = #others? {
            return _orm::Ok(value);
        })*
        #last
    })
}

/// A closure that reads the field from a key, if the key holds it.
fn read(key: &Key<'_>, field: &Field<'_>) -> Option<TokenStream> {
    let at = key.position(field)?;
    let mut parts = key.parts[..=at].iter().map(|part| {
        let (part_of, name, separator) = (part.tokens(), &part.name, part.separator);
        quote!(#part_of::read(key, #name, #separator))
    });
    let read = parts.next_back()?;
    let whole = match field.role {
        Role::Json => Some(quote!(.map(_orm::Json))),
        _ => kind::option(field.ty).map(|_| quote!(.map(_orm::Some))),
    };
    Some(quote!(|key| { #(#parts?;)* #read #whole }))
}
