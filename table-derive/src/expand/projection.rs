//! `#[derive(Projection)]`: a smaller struct that an entity's rows can be read into.

use super::{anonymous, codec, located, names};
use crate::ast::{Field, krate, named_fields};
use crate::attr::Items;
use crate::errors::Errors;
use crate::symbol::{OF, ON_PROJECTED_FIELD, ON_PROJECTION, PROJECTION};
use proc_macro2::{Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{DeriveInput, Path};

pub fn projection(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let Some(fields) = named_fields(input, "a projection", &mut errors) else {
        return errors.into_tokens();
    };
    let mut items = Items::of(&input.attrs, PROJECTION, ON_PROJECTION, &mut errors);
    let krate = krate(&mut items, &mut errors);
    let of = items.path(OF, &mut errors);
    if of.is_none() && errors.is_empty() {
        errors.push(
            &input.ident,
            format!("`{}` does not say which entity it is a part of", input.ident),
            "add `#[projection(of = Entity)]`",
        );
    }
    let fields: Vec<_> = fields
        .iter()
        .filter_map(|field| {
            let items = Items::of(&field.attrs, PROJECTION, ON_PROJECTED_FIELD, &mut errors);
            Field::projected(field, items, &mut errors)
        })
        .collect();
    let impls = match of {
        Some(of) if errors.is_empty() => impls(input, &of, &fields),
        _ => fallback(input),
    };
    let (errors, impls) = (errors.into_tokens(), anonymous(&krate, impls));
    quote!(#errors #impls)
}

fn impls(input: &DeriveInput, of: &Path, fields: &[Field<'_>]) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let name = ident.unraw().to_string();
    let id = |field: &Field<'_>| Literal::u64_unsuffixed(names::field_id(&field.name));
    let name_of = |index: usize| format_ident!("p{index}");
    let properties: Vec<_> = fields
        .iter()
        .map(|field| {
            let (id, ty) = (id(field), codec::read_type(field));
            let span = located(field.ident);
            let of = respanned(quote!(#of), span);
            quote_spanned!(span=> <#of as _orm::Field<#id, #ty>>::PROPERTY)
        })
        .collect();
    let names = (0..fields.len()).map(name_of);
    let slots = (0..fields.len()).map(codec::slot);
    let arms = fields.iter().enumerate().map(|(index, field)| {
        let (name, slot, ty) = (name_of(index), codec::slot(index), codec::read_type(field));
        quote!(member if member == #name => {
            <#ty as _orm::Stored>::take(&mut #slot, &mut members, #name)?
        })
    });
    let values = fields.iter().enumerate().map(|(index, field)| {
        let name = name_of(index);
        let value = codec::finish_column(&quote!(#name), &codec::slot(index), field);
        let ident = field.ident;
        quote!(#ident: #value)
    });
    let mut generics = input.generics.clone();
    generics.params.push(syn::parse_quote!(__R: _orm::Row<Entity = #of>));
    let (row_generics, _, _) = generics.split_for_impl();
    let predicates = where_clause.iter().flat_map(|clause| &clause.predicates);
    let stores = fields.iter().map(|field| {
        let id = id(field);
        quote_spanned!(located(field.ident)=> __R: _orm::Stores<#id>)
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics _orm::ReadRow for #ident #ty_generics #where_clause {
            const NAME: &'static str = #name;
            const SELECT: _orm::Option<&'static [&'static str]> =
                _orm::Some(&["PartitionKey", "RowKey", #(#properties),*]);
            fn read_row<'__de, __A: _orm::MapAccess<'__de>>(
                row: usize,
                mut members: _orm::Members<'_, '__de, __A>,
            ) -> _orm::Result<Self, __A::Error> {
                #(let #names = #properties;)*
                #(let mut #slots = _orm::None;)*
                while let _orm::Some(member) = members.next_name()? {
                    match &*member {
                        #(#arms)*
                        other => members.other(other)?,
                    }
                }
                _orm::Ok(Self { #(#values),* })
            }
        }
        impl #row_generics _orm::FromRow<__R> for #ident #ty_generics
        where
            #(#stores,)*
            #(#predicates,)*
        {
        }
    }
}

/// The tokens, as if they stood where an error is to show.
fn respanned(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(token.span().located_at(span));
            token
        })
        .collect()
}

fn fallback(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let mut generics = input.generics.clone();
    generics.params.push(syn::parse_quote!(__R: _orm::Row));
    let (row_generics, _, _) = generics.split_for_impl();
    quote! {
        impl #impl_generics _orm::ReadRow for #ident #ty_generics #where_clause {
            const NAME: &'static str = "";
            const SELECT: _orm::Option<&'static [&'static str]> = _orm::None;
            fn read_row<'__de, __A: _orm::MapAccess<'__de>>(
                row: usize,
                mut members: _orm::Members<'_, '__de, __A>,
            ) -> _orm::Result<Self, __A::Error> {
                loop {}
            }
        }
        impl #row_generics _orm::FromRow<__R> for #ident #ty_generics #where_clause {}
    }
}
