//! `Properties`: a struct that an entity flattens.

use crate::ast::{Field, Role};
use crate::expand::property::{self, declared, group_call, group_trait, groups, read_type, slot};
use crate::expand::scope::hygienic;
use crate::expand::types::Types;
use crate::tokens::*;

pub fn impls(input: &DeriveInput, fields: &[Field<'_>]) -> TokenStream {
    let types = &Types::of(input);
    let (properties, slots_type) = (declared(fields), slots_type(types, fields));
    let (writes, read) = (fields.iter().filter_map(property::write), read(fields));
    let values = fields.iter().enumerate().map(|(index, field)| {
        let (ident, slot) = (field.ident, slot(index));
        let value = match field.role {
            Role::Skip => hygienic!(_orm::Default::default()),
            _ => property::value(field, &hygienic!(slots.#slot)),
        };
        hygienic!(#ident: #value)
    });
    let slots = types.with_args(hygienic!(__Slots));
    let body = hygienic! {
        const PROPERTIES: &'static [_orm::Declared] = #properties;
        type Slots = #slots;
        fn write(
            &self,
            name: &_orm::str,
            out: &mut _orm::Writer,
        ) -> _orm::Result<(), _orm::PropertyError> {
            #(#writes)*
            _orm::Ok(())
        }
        fn read(
            slots: &mut Self::Slots,
            name: &_orm::str,
            property: &_orm::str,
            members: &mut _orm::Members<'_, '_>,
        ) -> _orm::Read<_orm::bool> {
            #read
        }
        fn finish(slots: Self::Slots, name: &_orm::str) -> _orm::Read<Self> {
            _orm::Ok(Self { #(#values),* })
        }
    };
    let implement = types.implement(hygienic!(_orm::Properties), body);
    hygienic!(#slots_type #[automatically_derived] #[diagnostic::do_not_recommend] #implement)
}

/// The type that holds what was read so far, and its empty value.
fn slots_type(of: &Types<'_>, fields: &[Field<'_>]) -> TokenStream {
    let (ty, params, where_clause) = (&of.ty, of.params(), &of.where_clause);
    let stored = fields.iter().enumerate().filter(|(_, field)| field.is_stored());
    let slots: Vec<_> = stored.clone().map(|(index, _)| slot(index)).collect();
    let types = stored.map(|(_, field)| {
        let (ty, group) = (read_type(field), group_trait(field));
        if field.is_column() {
            hygienic!(_orm::Option<#ty>)
        } else {
            hygienic!(<#ty as _orm::#group>::Slots)
        }
    });
    let default = hygienic! {
        fn default() -> Self {
            Self { #(#slots: _orm::Default::default(),)* __of: _orm::PhantomData }
        }
    };
    let this = of.with_args(hygienic!(__Slots));
    let default = of.implement_for(of.params(), hygienic!(_orm::Default), this, default);
    hygienic! {
        #[doc(hidden)]
        pub struct __Slots #params #where_clause { #(#slots: #types,)* __of: _orm::PhantomData<fn() -> #ty> }
        #default
    }
}

/// The body of `read`: a column, or what one of the groups takes.
fn read(fields: &[Field<'_>]) -> TokenStream {
    let columns = fields.iter().enumerate().filter(|(_, field)| field.is_column());
    let arms = columns.map(|(index, field)| {
        let (slot, property, ty) = (slot(index), &field.property, read_type(field));
        hygienic! {
            #property => {
                <#ty as _orm::Stored>::take(&mut slots.#slot, members, #property)?;
                true
            }
        }
    });
    let groups = groups(fields).into_iter().map(|(index, field)| {
        let (slot, property) = (slot(index), &field.property);
        let read = group_call(field, hygienic!(read(&mut slots.#slot, #property, other, members)));
        hygienic!(#read? ||)
    });
    hygienic! {
        _orm::Ok(match property {
            #(#arms)*
            other => #(#groups)* false,
        })
    }
}
