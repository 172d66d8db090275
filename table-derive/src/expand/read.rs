//! `ReadRow` for an entity: its fields, read from a row's properties and keys.

use crate::ast::{Field, Role};
use crate::expand::property::{self, group_call, groups, read_type, slot, version};
use crate::expand::scope::hygienic;
use crate::expand::types::Types;
use crate::kind;
use crate::model::Model;
use crate::names::field_id;
use crate::tokens::*;

pub fn impls(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let fields = &model.entity.fields;
    let (metadata, aliases) = (metadata(fields), aliases(fields));
    read_row_impl(types, Some(quote!(#metadata #aliases)), read_row(model))
}

/// `ReadRow`. `consts` are the constants that differ from the trait's defaults.
pub fn read_row_impl(
    types: &Types<'_>,
    consts: Option<TokenStream>,
    body: TokenStream,
) -> TokenStream {
    let name = types.name();
    let body = hygienic! {
        const NAME: &'static _orm::str = #name;
        #consts
        fn read_row(row: _orm::usize, mut m: _orm::Members<'_, '_>) -> _orm::Read<Self> {
            #body
        }
    };
    let implement = types.implement(quote!(_orm::ReadRow), body);
    quote!(#[automatically_derived] #implement)
}

/// The constant that asks for the types of properties, where a flattened group needs them.
fn metadata(fields: &[Field<'_>]) -> Option<TokenStream> {
    fields.iter().any(|field| field.role == Role::Flatten).then(|| {
        hygienic! {
            const METADATA: _orm::Metadata =
                _orm::metadata(<Self as _orm::TableEntity>::PROPERTIES);
        }
    })
}

/// The constant with the former names of properties, if there are any.
fn aliases(fields: &[Field<'_>]) -> Option<TokenStream> {
    let pairs = fields.iter().flat_map(|Field { aliases, property, .. }| {
        aliases.iter().map(move |alias| quote!((#alias, #property)))
    });
    let pairs: Vec<_> = pairs.collect();
    (!pairs.is_empty()).then(|| quote!(const ALIASES: &'static [_orm::Alias] = &[#(#pairs),*];))
}

fn read_row(model: &Model<'_>) -> TokenStream {
    let fields = &model.entity.fields;
    let slots = slots(fields);
    let columns = fields.iter().enumerate().filter(|(_, field)| field.is_column());
    let arms = columns.map(|(index, field)| {
        let (slot, property, ty) = (slot(index), &field.property, read_type(field));
        hygienic!(#property => <#ty as _orm::Stored>::take(&mut #slot, &mut m, #property)?,)
    });
    let groups = groups(fields);
    let next = next(groups.is_empty());
    let other = other(groups.into_iter().map(|(index, field)| {
        let (slot, property) = (slot(index), &field.property);
        let read = group_call(field, hygienic!(read(&mut #slot, #property, other, &mut m)));
        hygienic!(#read?)
    }));
    let values = fields.iter().enumerate().map(|(index, field)| {
        let (ident, value) = (field.ident, finish(model, index, field));
        hygienic!(#ident: #value)
    });
    hygienic! {
        #slots
        while let _orm::Some(member) = #next {
            match &*member {
                #(#arms)*
                #other
            }
        }
        _orm::Ok(Self { #(#values),* })
    }
}

/// The variables for what is read, four to a statement.
fn slots(fields: &[Field<'_>]) -> TokenStream {
    let stored: Vec<_> = fields.iter().enumerate().filter(|(_, field)| field.is_stored()).collect();
    let statements = stored.chunks(4).map(|some| {
        let slots = some.iter().map(|(index, _)| slot(*index));
        let empty = some.iter().map(|(_, field)| match field.is_column() {
            true => hygienic!(_orm::None),
            false => group_call(field, hygienic!(empty())),
        });
        hygienic!(let (#(mut #slots,)*) = (#(#empty,)*);)
    });
    statements.collect()
}

/// The next member. Groups take the types of properties, too.
pub fn next(no_groups: bool) -> TokenStream {
    match no_groups {
        true => hygienic!(_orm::Members::next_property(&mut m)?),
        false => hygienic!(_orm::Members::next_name(&mut m)?),
    }
}

/// The arm for a property that is no column: each of the `groups` in turn may take it.
pub fn other(groups: impl Iterator<Item = TokenStream>) -> TokenStream {
    let groups: Vec<_> = groups.collect();
    let other = hygienic!(_orm::Members::other(&mut m, other)?);
    match groups.is_empty() {
        true => hygienic!(other => #other,),
        false => hygienic!(other => if !(#(#groups)||*) { #other },),
    }
}

/// The value of a field from what was read for it.
fn finish(model: &Model<'_>, index: usize, field: &Field<'_>) -> TokenStream {
    match field.role {
        _ if field.key_only.is_some() => {
            let (id, name, ty) = (field_id(&field.name), &field.name, read_type(field));
            let id = Literal::u64_unsuffixed(id);
            hygienic!(_orm::Members::key_value(&m, row, #name, <Self as _orm::Field<#id, #ty>>::KEYS)?)
        }
        Role::Skip => hygienic!(_orm::Default::default()),
        // An index row's ETag does not guard the entity.
        Role::ETag if model.rows.len() > 1 && kind::option(field.ty).is_some() => {
            let canonical = Literal::usize_unsuffixed(model.canonical);
            let etag = version(field, "ETagField", hygienic!(_orm::Members::etag(&m)));
            hygienic!(if row == #canonical { #etag } else { _orm::None })
        }
        Role::ETag => version(field, "ETagField", hygienic!(_orm::Members::etag(&m))),
        Role::Timestamp => {
            version(field, "TimestampField", hygienic!(_orm::Members::timestamp(&m)))
        }
        _ => property::value(field, &slot(index).to_token_stream()),
    }
}
