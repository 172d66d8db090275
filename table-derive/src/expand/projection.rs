//! `ReadRow` and `FromRow` for a projection: a smaller struct that an entity's rows are read into.

use crate::ast::Field;
use crate::expand::property::{finish, read_type, slot};
use crate::expand::read::read_row_impl;
use crate::expand::scope::{hygienic, located, located_tokens};
use crate::expand::types::Types;
use crate::names::field_id;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{DeriveInput, Path};

pub fn impls(input: &DeriveInput, of: &Path, fields: &[Field<'_>]) -> TokenStream {
    let types = &Types::of(input);
    let traits = fields.iter().map(|field| traits(input, field));
    let read_row = read_row_impl(types, Some(select(of, fields)), read_row(of, fields));
    let from_row = from_row(types, quote!(_orm::Row<Entity = #of>), fields);
    quote!(#(#traits)* #read_row #from_row)
}

/// An item that the entity has for a field. Its span is the field, where rustc reports once what the
/// entity lacks.
fn entity_item(of: &Path, field: &Field<'_>, item: &str) -> TokenStream {
    let (has, ty, span) = (has(field), read_type(field), located(field.ident));
    let (of, item) = (located_tokens(of, span), Ident::new(item, span));
    quote_spanned!(span=> <#of as #has<#ty>>::#item)
}

/// The constant with the properties that a query asks for.
fn select(of: &Path, fields: &[Field<'_>]) -> TokenStream {
    let properties = fields.iter().map(|field| entity_item(of, field, "PROPERTY"));
    quote! {
        const SELECT: _orm::Option<&'static [&'static str]> = _orm::Some(_orm::selected(
            &_orm::select(["PartitionKey", "RowKey", #(#properties),*])
        ));
    }
}

/// The statements of `read_row`: properties, then what only the keys hold.
fn read_row(of: &Path, fields: &[Field<'_>]) -> TokenStream {
    let (mut names, mut slots) = (Vec::new(), Vec::new());
    let (mut properties, mut arms, mut from_keys, mut values) = (vec![], vec![], vec![], vec![]);
    for (index, field) in fields.iter().enumerate() {
        let (ident, ty) = (field.ident, read_type(field));
        let (name, slot) = (format_ident!("p{index}"), slot(index));
        let fill = entity_item(of, field, "fill_from_keys");
        let value = finish(&quote!(#name), &slot, field);
        properties.push(entity_item(of, field, "PROPERTY"));
        arms.push(hygienic!(member if member == #name => {
            <#ty as _orm::Stored>::take(&mut #slot, &mut m, #name)?
        }));
        from_keys.push(hygienic!(#fill(&m, row, &mut #slot)?;));
        values.push(quote!(#ident: #value));
        names.push(name);
        slots.push(slot);
    }
    hygienic! {
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

/// `FromRow` of the rows that `row` bounds and that hold every field.
pub fn from_row(types: &Types<'_>, row: TokenStream, fields: &[Field<'_>]) -> TokenStream {
    let stores = fields.iter().map(|field| {
        let stores = stores(field);
        quote_spanned!(located(field.ident)=> __R: #stores,)
    });
    let (ty, params) = (&types.ty, types.params_and(quote!(__R: #row)));
    let predicates = types.predicates();
    quote!(impl #params _orm::FromRow<__R> for #ty where #(#stores)* #predicates {})
}

fn has(field: &Field<'_>) -> Ident {
    format_ident!("Has_{}", field.name)
}

fn stores(field: &Field<'_>) -> Ident {
    format_ident!("Stores_{}", field.name)
}

/// The traits through which a field finds itself in the entity and its rows.
fn traits(input: &DeriveInput, field: &Field<'_>) -> TokenStream {
    let id = Literal::u64_unsuffixed(field_id(&field.name));
    let (has, stores) = (has_trait(field, &id), stores_trait(input, field, &id));
    quote!(#has #stores)
}

/// The entity has the field, with its type.
fn has_trait(field: &Field<'_>, id: &Literal) -> TokenStream {
    let (has, name) = (has(field), &field.name);
    let message = format!("`{{Self}}` stores no field `{name}` of type `{{T}}`");
    quote! {
        #[diagnostic::on_unimplemented(
            message = #message,
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
                m.fill_from_keys(row, slot, <E as _orm::Field<#id, T>>::KEYS)
            }
        }
    }
}

/// The row's properties or keys hold the field.
fn stores_trait(input: &DeriveInput, field: &Field<'_>, id: &Literal) -> TokenStream {
    let (stores, name, projection) = (stores(field), &field.name, &input.ident);
    let message = format!("rows `{{Self}}` hold `{name}` neither as a property nor in their keys");
    let label = format!("no `{name}` in these rows");
    let help = format!(
        "project other rows, remove `{name}` from `{projection}`, or add it to the row's `include` \
         or to its key"
    );
    quote! {
        #[diagnostic::on_unimplemented(message = #message, label = #label, note = #help)]
        #[allow(non_camel_case_types)]
        trait #stores {}
        #[diagnostic::do_not_recommend]
        impl<R: _orm::Stores<#id>> #stores for R {}
    }
}
