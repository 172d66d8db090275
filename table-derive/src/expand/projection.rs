//! `#[derive(Projection)]`: a smaller struct that an entity's rows can be read into.

use super::{anonymous, codec, located, names};
use crate::ast::{Field, krate, named_fields};
use crate::attr::Items;
use crate::check;
use crate::errors::Errors;
use crate::symbol::{OF, ON_PROJECTED_FIELD, ON_PROJECTION, PROJECTION};
use proc_macro2::{Ident, Literal, Span, TokenStream};
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
    for field in &fields {
        check::owned(field, &mut errors);
    }
    let impls = match of {
        Some(of) if errors.is_empty() => impls(input, &of, &fields),
        _ => fallback(input),
    };
    let (errors, impls) = (errors.into_tokens(), anonymous(input, &krate, impls));
    quote!(#errors #impls)
}

fn impls(input: &DeriveInput, of: &Path, fields: &[Field<'_>]) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let name = ident.unraw().to_string();
    let name_of = |index: usize| format_ident!("p{index}");
    // In one place, where rustc reports what the entity lacks once.
    let field_of = |field: &Field<'_>, item: TokenStream| {
        let (has, ty) = (has(field), codec::read_type(field));
        let span = located(field.ident);
        let (of, item) = (respanned(quote!(#of), span), respanned(item, span));
        quote_spanned!(span=> <#of as #has<#ty>>::#item)
    };
    let properties: Vec<_> = fields.iter().map(|field| field_of(field, quote!(PROPERTY))).collect();
    let names = (0..fields.len()).map(name_of);
    let slots = (0..fields.len()).map(codec::slot);
    let arms = fields.iter().enumerate().map(|(index, field)| {
        let (name, slot, ty) = (name_of(index), codec::slot(index), codec::read_type(field));
        quote!(member if member == #name => {
            <#ty as _orm::Stored>::take(&mut #slot, &mut m, #name)?
        })
    });
    let from_keys = fields.iter().enumerate().map(|(index, field)| {
        let (slot, fill) = (codec::slot(index), field_of(field, quote!(fill_from_keys)));
        quote!(#fill(&m, row, &mut #slot)?;)
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
    let stored = fields.iter().map(|field| {
        let stores = stores(field);
        quote_spanned!(located(field.ident)=> __R: #stores)
    });
    let traits = fields.iter().map(|field| traits(input, field));
    quote! {
        #(#traits)*
        #[automatically_derived]
        impl #impl_generics _orm::ReadRow for #ident #ty_generics #where_clause {
            const NAME: &'static str = #name;
            const SELECT: _orm::Option<&'static [&'static str]> = _orm::Some(_orm::selected(
                &_orm::select(["PartitionKey", "RowKey", #(#properties),*])
            ));
            fn read_row(row: usize, mut m: _orm::Members<'_, '_>) -> _orm::Read<Self> {
                #(let #names = #properties;)*
                #(let mut #slots = _orm::None;)*
                while let _orm::Some(member) = m.next_name()? {
                    match &*member {
                        #(#arms)*
                        other => m.other(other)?,
                    }
                }
                #(#from_keys)*
                _orm::Ok(Self { #(#values),* })
            }
        }
        impl #row_generics _orm::FromRow<__R> for #ident #ty_generics
        where
            #(#stored,)*
            #(#predicates,)*
        {
        }
    }
}

fn has(field: &Field<'_>) -> Ident {
    format_ident!("Has_{}", field.name)
}

fn stores(field: &Field<'_>) -> Ident {
    format_ident!("Stores_{}", field.name)
}

/// Traits that ask the entity and its rows for one field, and name it where they lack it.
fn traits(input: &DeriveInput, field: &Field<'_>) -> TokenStream {
    let (has, stores, name) = (has(field), stores(field), &field.name);
    let id = Literal::u64_unsuffixed(names::field_id(name));
    let no_field = format!("`{{Self}}` stores no field `{name}` of type `{{T}}`");
    let not_stored =
        format!("rows `{{Self}}` do not store `{name}`, nor do their keys give it back");
    let no_value = format!("no `{name}` in these rows");
    let help = format!(
        "project other rows, leave `{name}` out of `{}`, or add it to the row's `include` or to its \
         key",
        input.ident
    );
    quote! {
        #[diagnostic::on_unimplemented(
            message = #no_field,
            label = "not a stored field of `{Self}`",
            note = "name and type it as the entity does; skipped fields, ETags, timestamps, series \
                    and flattened groups cannot be projected"
        )]
        #[allow(non_camel_case_types)]
        trait #has<T> {
            const PROPERTY: &'static str;
            fn fill_from_keys(m: &_orm::Members<'_, '_>, row: usize, slot: &mut _orm::Option<T>) -> _orm::Read;
        }
        #[diagnostic::do_not_recommend]
        impl<E: _orm::Field<#id, T>, T> #has<T> for E {
            const PROPERTY: &'static str = <E as _orm::Field<#id, T>>::PROPERTY;
            fn fill_from_keys(m: &_orm::Members<'_, '_>, row: usize, slot: &mut _orm::Option<T>) -> _orm::Read {
                m.fill_from_keys(row, slot, <E as _orm::Field<#id, T>>::from_keys)
            }
        }
        #[diagnostic::on_unimplemented(message = #not_stored, label = #no_value, note = #help)]
        #[allow(non_camel_case_types)]
        trait #stores {}
        #[diagnostic::do_not_recommend]
        impl<R: _orm::Stores<#id>> #stores for R {}
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
            fn read_row(row: usize, mut m: _orm::Members<'_, '_>) -> _orm::Read<Self> {
                loop {}
            }
        }
        impl #row_generics _orm::FromRow<__R> for #ident #ty_generics #where_clause {}
    }
}
