//! What a projection may ask for: the entity's fields, and the rows whose properties or keys hold
//! each.

use crate::ast::{Entity, Field, Role};
use crate::expand::key::read_from_keys;
use crate::expand::property::read_type;
use crate::expand::scope::hygienic;
use crate::expand::types::Types;
use crate::model::Model;
use crate::names;
use crate::tokens::*;

pub fn fields(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let fields = projected(model.entity).map(|field| {
        if field.is_numbered() {
            return numbered(field, types);
        }
        let property = if field.is_stored() { &*field.property } else { "" };
        let keys = keys(model, field);
        let (id, ty) = (id(field), read_type(field));
        let body = quote!(const PROPERTY: &'static _orm::str = #property; #keys);
        types.implement(quote!(_orm::Field<#id, #ty>), body)
    });
    fields.collect()
}

fn projected<'e>(entity: &'e Entity<'_>) -> impl Iterator<Item = &'e Field<'e>> {
    entity
        .fields
        .iter()
        .filter(|field| field.is_column() || field.is_numbered() || field.key_only.is_some())
}

fn numbered(field: &Field<'_>, types: &Types<'_>) -> TokenStream {
    let (id, ty, property) = (id(field), read_type(field), &field.property);
    let name = if field.role == Role::Series { "Series" } else { "Chunks" };
    let (of, name) = (format_ident!("{name}Of"), format_ident!("{name}"));
    let body = quote!(type #name = #ty; const PROPERTY: &'static _orm::str = #property;);
    types.implement(quote!(_orm::#of<#id>), body)
}

fn id(field: &Field<'_>) -> Literal {
    Literal::u64_unsuffixed(names::field_id(&field.name))
}

/// `Stores` of each partial row: the fields that its properties or keys hold.
pub fn stores(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let rows = model.rows.iter().filter(|keyed| !keyed.row.is_full()).flat_map(|keyed| {
        let this = types.row_in(names::row(types.input, keyed.row), quote!(__S));
        let holds =
            move |field: &&Field<'_>| keyed.row.has_property(field) || model.recovers(keyed, field);
        projected(model.entity).filter(holds).map(move |field| {
            let (id, params) = (id(field), types.params_and(quote!(__S)));
            types.implement_for(params, quote!(_orm::Stores<#id>), &this, TokenStream::new())
        })
    });
    rows.collect()
}

/// `Field::KEYS`, where rows do not store the field but their keys hold it: the PartitionKey, or the
/// RowKeys of those rows.
fn keys(model: &Model<'_>, field: &Field<'_>) -> Option<TokenStream> {
    let without = model.rows.iter().filter(|keyed| !keyed.row.has_property(field));
    let mut readers: Vec<TokenStream> = Vec::new();
    for reader in without.filter_map(|row| read_from_keys(model, row, field)) {
        // One reader serves all rows of the entity's own partition.
        if readers.iter().all(|other| other.to_string() != reader.to_string()) {
            readers.push(reader);
        }
    }
    let ty = read_type(field);
    let value = match &readers[..] {
        [] => return None,
        [reader] => hygienic!(|k| #reader),
        [others @ .., last] => hygienic!(|k| {
            #(if let value @ _orm::Some(_) = #others? {
                return _orm::Ok(value);
            })*
            #last
        }),
    };
    Some(quote!(const KEYS: _orm::FromKeys<Self, #ty> = #value;))
}
