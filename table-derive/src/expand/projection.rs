//! `ReadRow` and `FromRow` for a projection: a smaller struct that an entity's rows are read into.

use crate::ast::{Field, Role};
use crate::expand::property::{finish, group_trait, read_type, slot};
use crate::expand::read::{other, read_row_impl};
use crate::expand::scope::{hygienic, located, located_tokens};
use crate::expand::types::Types;
use crate::names::field_id;
use crate::tokens::*;

pub fn impls(input: &DeriveInput, of: &Path, fields: &[Field<'_>]) -> TokenStream {
    let types = &Types::of(input);
    let traits = fields.iter().map(|field| traits(input, field));
    let read_row = read_row_impl(types, Some(select(of, fields)), read_row(of, fields));
    let from_row = from_row(types, quote!(_orm::Row<Entity = #of>), fields);
    let checks = series(fields).filter(|_| !types.is_generic()).map(|(_, field)| {
        let series = entity_item(of, field, "SERIES");
        quote_spanned!(located(field.ident)=> const _: _orm::ProjectedSeries = #series;)
    });
    quote!(#(#traits)* #(#checks)* #read_row #from_row)
}

fn series<'f, 'a>(fields: &'f [Field<'a>]) -> impl Iterator<Item = (usize, &'f Field<'a>)> {
    fields.iter().enumerate().filter(|(_, field)| field.is_numbered())
}

fn columns<'f, 'a>(fields: &'f [Field<'a>]) -> impl Iterator<Item = (usize, &'f Field<'a>)> {
    fields.iter().enumerate().filter(|(_, field)| !field.is_numbered())
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
    let properties = columns(fields).map(|(_, field)| entity_item(of, field, "PROPERTY"));
    let series: Vec<_> =
        series(fields).map(|(_, field)| entity_item(of, field, "SERIES")).collect();
    let with_series = (!series.is_empty()).then(|| {
        quote! {
            fn select() -> _orm::Option<_orm::Vec<_orm::Cow<'static, _orm::str>>> {
                _orm::ProjectedSeries::select(Self::SELECT, &[#(#series),*])
            }
        }
    });
    quote! {
        const SELECT: _orm::Option<&'static [&'static _orm::str]> = _orm::Some(_orm::selected(
            &_orm::select(["PartitionKey", "RowKey", #(#properties),*])
        ));
        #with_series
    }
}

/// The statements of `read_row`: properties, then what only the keys hold.
fn read_row(of: &Path, fields: &[Field<'_>]) -> TokenStream {
    let (mut slots, mut arms, mut from_keys, mut values) = (vec![], vec![], vec![], vec![]);
    for (index, field) in columns(fields) {
        let (ident, ty) = (field.ident, read_type(field));
        let (name, slot) = (format_ident!("p{index}"), slot(index));
        let property = entity_item(of, field, "PROPERTY");
        let fill = entity_item(of, field, "fill_from_keys");
        let value = finish(&quote!(#name), &quote!(#slot), field);
        slots.push(hygienic!(let (#name, mut #slot) = (#property, _orm::None);));
        arms.push(hygienic!(member if member == #name => {
            <#ty as _orm::Stored>::take(&mut #slot, &mut m, #name)?
        }));
        from_keys.push(hygienic!(#fill(&m, row, &mut #slot)?;));
        values.push(quote!(#ident: #value));
    }
    let mut reads = vec![];
    for (index, field) in series(fields) {
        let (ident, ty, slot) = (field.ident, field.ty, slot(index));
        let (series, of) = (quote!(_orm::ProjectedSeries), entity_item(of, field, "SERIES"));
        let group = group_trait(field);
        slots.push(hygienic!(let mut #slot = <#ty as _orm::#group>::empty();));
        reads.push(match field.role {
            Role::Series => hygienic!(#series::read::<#ty>(#of, &mut #slot, other, &mut m)?),
            _ => {
                let name = hygienic!(#series::property(#of));
                hygienic!(<#ty as _orm::#group>::read(&mut #slot, #name, other, &mut m)?)
            }
        });
        let value = hygienic!(<#ty as _orm::#group>::finish(#slot, #series::property(#of))?);
        values.push(quote!(#ident: #value));
    }
    let other = other(reads.into_iter());
    hygienic! {
        #(#slots)*
        while let _orm::Some(member) = _orm::Members::next_name(&mut m)? {
            match &*member {
                #(#arms)*
                #other
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
    let (has, stores, name, projection) = (has(field), stores(field), &field.name, &input.ident);
    let id = Literal::u64_unsuffixed(field_id(name));
    let has = match field.role {
        Role::Series => {
            let message = format!("`{{Self}}` has no series `{name}` for `{{T}}`");
            let (bounds, value) = projected_series(field, &id);
            quote!(_orm::projected!(series #has, #message, [#bounds], #value);)
        }
        Role::Chunked | Role::ChunkedJson => {
            let message = format!("`{{Self}}` has no chunked `{name}` of type `{{T}}`");
            quote!(_orm::projected!(chunked #has, #id, #message);)
        }
        _ => {
            let message = format!("`{{Self}}` stores no field `{name}` of type `{{T}}`");
            quote!(_orm::projected!(field #has, #id, #message);)
        }
    };
    let message = format!("rows `{{Self}}` hold `{name}` neither as a property nor in their keys");
    let label = format!("no `{name}` in these rows");
    let help = format!(
        "project other rows, remove `{name}` from `{projection}`, or add it to the row's `include` \
         or to its key"
    );
    quote!(#has _orm::projected!(rows #stores, #id, #message, #label, #help);)
}

/// For which entities `E` a field of type `T` is a series or slots of one, and which.
fn projected_series(field: &Field<'_>, id: &Literal) -> (TokenStream, TokenStream) {
    let (span, of) = (located(field.ident), quote!(<E as _orm::SeriesOf<#id>>));
    match &field.slots {
        None => (
            quote!(E: _orm::SeriesOf<#id, Series = T>, T: _orm::Series),
            quote_spanned!(span=> _orm::ProjectedSeries::whole::<T>(#of::PROPERTY)),
        ),
        Some((from, to)) => (
            quote!(E: _orm::SeriesOf<#id>, T: _orm::SlotsOf<#of::Series>),
            quote_spanned!(span=> _orm::ProjectedSeries::part::<#of::Series, T>(#of::PROPERTY, #from, #to)),
        ),
    }
}
