//! `#[derive(Properties)]`: a struct to be flattened into an entity.

use super::{anonymous, codec};
use crate::ast::{Field, Role, krate, named_fields, rename_all};
use crate::attr::Items;
use crate::check;
use crate::errors::Errors;
use crate::kind;
use crate::symbol::{ON_PROPERTIES, TABLE};
use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

pub fn properties(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let Some(fields) = named_fields(input, "a group of properties", &mut errors) else {
        return errors.into_tokens();
    };
    let mut items = Items::of(&input.attrs, TABLE, ON_PROPERTIES, &mut errors);
    let krate = krate(&mut items, &mut errors);
    let case = rename_all(&mut items, &mut errors);
    let fields: Vec<_> =
        fields.iter().filter_map(|field| Field::parse(field, case, &mut errors)).collect();
    check::fields(&fields, &mut errors);
    for field in &fields {
        if field.key_only.is_some() || matches!(field.role, Role::ETag | Role::Timestamp) {
            errors.push(
                field.ident,
                format!("field `{}` is of a row, not of a group of properties", field.name),
                "put it into the entity itself",
            );
        }
    }
    let impls = if errors.is_empty() { impls(input, &fields) } else { fallback(input) };
    let (errors, impls) = (errors.into_tokens(), anonymous(input, &krate, impls));
    quote!(#errors #impls)
}

/// What fields are stored as, for the check that needs the types of flattened ones and the lengths
/// of series.
pub fn declared(fields: &[Field<'_>]) -> TokenStream {
    let declared = fields.iter().filter(|field| field.is_stored()).map(|field| {
        let (ty, property) = (field.ty, &field.property);
        match field.role {
            Role::Flatten => quote!(_orm::Declared::Group(<#ty as _orm::Properties>::PROPERTIES)),
            Role::Series => {
                quote!(_orm::Declared::Series(#property, <#ty as _orm::Series>::SLOTS))
            }
            _ => quote!(_orm::Declared::One(#property)),
        }
    });
    quote!(&[#(#declared),*])
}

/// Whether only the type checker knows all properties of the field.
pub fn is_open(field: &Field<'_>) -> bool {
    match field.role {
        Role::Flatten => !kind::is_map(field.ty),
        Role::Series => kind::slots(field.ty).is_some() && kind::array(field.ty).is_none(),
        _ => false,
    }
}

fn impls(input: &DeriveInput, fields: &[Field<'_>]) -> TokenStream {
    let declared = declared(fields);
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let stored: Vec<_> = fields.iter().enumerate().filter(|(_, field)| field.is_stored()).collect();
    let slots: Vec<_> = stored.iter().map(|(index, _)| codec::slot(*index)).collect();
    let types = stored.iter().map(|(_, field)| {
        let ty = codec::read_type(field);
        if field.is_column() {
            hygienic!(_orm::Option<#ty>)
        } else {
            let group = codec::group_trait(field);
            hygienic!(<#ty as _orm::#group>::Slots)
        }
    });
    let writes = fields.iter().filter_map(codec::encode);
    let arms = stored.iter().filter(|(_, field)| field.is_column()).map(|(index, field)| {
        let (slot, property, ty) = (codec::slot(*index), &field.property, codec::read_type(field));
        hygienic! {
            #property => {
                <#ty as _orm::Stored>::take(&mut slots.#slot, members, #property)?;
                true
            }
        }
    });
    let mut groups: Vec<_> = stored.iter().filter(|(_, field)| !field.is_column()).collect();
    groups.sort_by_key(|(_, field)| kind::is_map(field.ty));
    let groups = groups.into_iter().map(|(index, field)| {
        let (slot, property, ty) = (codec::slot(*index), &field.property, field.ty);
        let group = codec::group_trait(field);
        hygienic!(<#ty as _orm::#group>::read(&mut slots.#slot, #property, other, members)? ||)
    });
    let values = fields.iter().enumerate().map(|(index, field)| {
        let (ident, slot, property) = (field.ident, codec::slot(index), &field.property);
        let value = match field.role {
            Role::Skip => hygienic!(_orm::Default::default()),
            Role::Series | Role::Flatten => {
                let (ty, group) = (field.ty, codec::group_trait(field));
                hygienic!(<#ty as _orm::#group>::finish(slots.#slot, #property)?)
            }
            _ => {
                let take = hygienic!(let #slot = slots.#slot;);
                let value = codec::finish_column(&hygienic!(#property), &slot, field);
                hygienic!({ #take #value })
            }
        };
        hygienic!(#ident: #value)
    });
    hygienic! {
        #[doc(hidden)]
        pub struct __Slots #impl_generics #where_clause { #(#slots: #types,)* __of: _orm::PhantomData<fn() -> #ident #ty_generics> }
        impl #impl_generics _orm::Default for __Slots #ty_generics #where_clause {
            fn default() -> Self {
                Self { #(#slots: _orm::Default::default(),)* __of: _orm::PhantomData }
            }
        }
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl #impl_generics _orm::Properties for #ident #ty_generics #where_clause {
            const PROPERTIES: &'static [_orm::Declared] = #declared;
            type Slots = __Slots #ty_generics;
            fn write(
                &self,
                name: &str,
                out: &mut _orm::PropertiesWriter,
            ) -> _orm::Result<(), _orm::PropertyError> {
                #(#writes)*
                _orm::Ok(())
            }
            fn read(
                slots: &mut Self::Slots,
                name: &str,
                property: &str,
                members: &mut _orm::Members<'_, '_>,
            ) -> _orm::Read<bool> {
                _orm::Ok(match property {
                    #(#arms)*
                    other => #(#groups)* false,
                })
            }
            fn finish(slots: Self::Slots, name: &str) -> _orm::Read<Self> {
                _orm::Ok(Self { #(#values),* })
            }
        }
    }
}

fn fallback(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        impl #impl_generics _orm::Properties for #ident #ty_generics #where_clause {
            type Slots = ();
            fn write(
                &self,
                name: &str,
                out: &mut _orm::PropertiesWriter,
            ) -> _orm::Result<(), _orm::PropertyError> {
                loop {}
            }
            fn read(
                slots: &mut Self::Slots,
                name: &str,
                property: &str,
                members: &mut _orm::Members<'_, '_>,
            ) -> _orm::Read<bool> {
                loop {}
            }
            fn finish(slots: Self::Slots, name: &str) -> _orm::Read<Self> {
                loop {}
            }
        }
    }
}
