//! `Properties`: a struct that an entity flattens.

use crate::ast::{Field, Role};
use crate::expand::property::{self, declared, group_trait, groups, read_type, slot};
use crate::expand::scope::hygienic;
use crate::expand::signature::{PropertiesParts, properties_impl};
use proc_macro2::TokenStream;
use syn::DeriveInput;

pub fn impls(input: &DeriveInput, fields: &[Field<'_>]) -> TokenStream {
    let (_, ty_generics, _) = input.generics.split_for_impl();
    let writes = fields.iter().filter_map(property::write);
    let values = fields.iter().enumerate().map(|(index, field)| {
        let (ident, value) = (field.ident, finish(index, field));
        hygienic!(#ident: #value)
    });
    let parts = PropertiesParts {
        properties: declared(fields),
        slots: hygienic!(__Slots #ty_generics),
        write: hygienic!(#(#writes)* _orm::Ok(())),
        read: read(fields),
        finish: hygienic!(_orm::Ok(Self { #(#values),* })),
    };
    let (slots, properties) = (slots_type(input, fields), properties_impl(input, parts));
    hygienic!(#slots #properties)
}

/// The type that holds what was read so far, and its empty value.
fn slots_type(input: &DeriveInput, fields: &[Field<'_>]) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
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
    hygienic! {
        #[doc(hidden)]
        pub struct __Slots #impl_generics #where_clause { #(#slots: #types,)* __of: _orm::PhantomData<fn() -> #ident #ty_generics> }
        impl #impl_generics _orm::Default for __Slots #ty_generics #where_clause {
            fn default() -> Self {
                Self { #(#slots: _orm::Default::default(),)* __of: _orm::PhantomData }
            }
        }
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
        let (slot, property, ty) = (slot(index), &field.property, field.ty);
        let group = group_trait(field);
        hygienic!(<#ty as _orm::#group>::read(&mut slots.#slot, #property, other, members)? ||)
    });
    hygienic! {
        _orm::Ok(match property {
            #(#arms)*
            other => #(#groups)* false,
        })
    }
}

/// The value of a field from what was read for it.
fn finish(index: usize, field: &Field<'_>) -> TokenStream {
    let (slot, property) = (slot(index), &field.property);
    match field.role {
        Role::Skip => hygienic!(_orm::Default::default()),
        Role::Series | Role::Flatten => {
            let (ty, group) = (field.ty, group_trait(field));
            hygienic!(<#ty as _orm::#group>::finish(slots.#slot, #property)?)
        }
        _ => {
            let value = property::finish(&hygienic!(#property), &slot, field);
            hygienic!({ let #slot = slots.#slot; #value })
        }
    }
}
