//! A row's columns as a type: its properties, to be named in filters.

use crate::ast::{Entity, Field, Role, Row};
use crate::expand::scope::{doc, lints};
use crate::expand::types::Types;
use crate::model::Model;
use crate::tokens::*;
use crate::{kind, names};

fn columns<'e>(entity: &'e Entity<'_>, row: &'e Row) -> impl Iterator<Item = &'e Field<'e>> {
    entity.fields.iter().filter(|field| field.role == Role::Property && row.has_property(field))
}

/// The rows with a type of columns: one for all full rows, and each partial row.
fn rows<'m>(model: &'m Model<'_>) -> impl Iterator<Item = &'m Row> {
    let rows = model.entity.rows.iter().enumerate();
    rows.filter(|(index, row)| *index == model.canonical || !row.is_full()).map(|(_, row)| row)
}

pub fn column_types(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    rows(model).map(|row| column_type(model, types, row)).collect()
}

pub fn impls(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let columns = rows(model).map(|row| {
        let about = types.about(names::row_columns(types.input, row));
        quote!(_orm::columns!(#about);)
    });
    columns.collect()
}

fn column_type(model: &Model<'_>, types: &Types<'_>, row: &Row) -> TokenStream {
    let (entity, krate) = (model.entity, &model.entity.krate);
    let rows = if row.is_full() { "full rows".to_owned() } else { format!("`{}`", row.name) };
    let docs = doc(format!(
        "The properties that {rows} can be filtered by. A filter saves transfer: the store reads \
         every row of the query all the same."
    ));
    let fields = columns(entity, row).map(|field| {
        let (Field { ident, vis, property, .. }, ty) = (field, field.value_type());
        let docs = doc(format!("`{property}`."));
        quote!(#docs #vis #ident: #krate::query::Column<#ty>,)
    });
    let (vis, lints, name) =
        (&entity.input.vis, lints(entity.input), names::row_columns(entity.input, row));
    let (params, where_clause) = (types.params(), &types.where_clause);
    let phantom = types.phantom().map(|phantom| quote!(__entity: #phantom,));
    quote! {
        #docs
        #lints
        #[allow(dead_code, deprecated, non_snake_case)]
        #vis struct #name #params #where_clause { #(#fields)* #phantom }
    }
}

/// The value of a row's columns. A full row has those of the canonical row.
pub fn value(model: &Model<'_>, types: &Types<'_>, row: &Row) -> TokenStream {
    let entity = model.entity;
    let canonical = &entity.rows[model.canonical];
    if row.is_full() && row.name != canonical.name {
        let canonical = types.row(canonical);
        return quote!(<#canonical as _orm::Row>::COLUMNS);
    }
    let name = names::row_columns(entity.input, row);
    let fields = columns(entity, row).map(|field| {
        let (Field { ident, property, aliases, .. }, default) = (field, default(field));
        let aliases = (!aliases.is_empty()).then(|| quote!(.aliases(&[#(#aliases),*])));
        quote!(#ident: _orm::column(#property) #aliases #default,)
    });
    let phantom = types.is_generic().then(|| quote!(__entity: _orm::PhantomData,));
    quote!(#name { #(#fields)* #phantom })
}

/// What a filter takes for the property of a row that lacks it.
fn default(field: &Field<'_>) -> Option<TokenStream> {
    let optional = kind::option(field.ty).is_some();
    Some(match field.default.as_ref()? {
        None if optional => return None,
        None => quote!(.or_default(|| _orm::Some(_orm::Default::default()))),
        Some(path) if optional => quote!(.or_default(#path)),
        Some(path) => quote!(.or_default(|| _orm::Some(#path()))),
    })
}
