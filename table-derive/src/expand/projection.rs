//! `ReadRow` and `FromRow` for a projection: a smaller struct that an entity's rows are read into.
//! `BorrowedRow` and `BorrowedFrom` for one that borrows its texts from the page.

use crate::ast::{Field, Role};
use crate::expand::property::{finish, group_call, group_value, read_type, slot};
use crate::expand::read::{other, read_row_impl};
use crate::expand::scope::{hygienic, located, located_tokens};
use crate::expand::types::Types;
use crate::kind;
use crate::names::field_id;
use crate::tokens::*;
use std::ops::Range;
use syn::Lifetime;

/// `page` is the lifetime of a projection that borrows.
pub fn impls(
    input: &DeriveInput,
    of: &Path,
    fields: &[Field<'_>],
    page: Option<&Lifetime>,
) -> TokenStream {
    let types = &Types::of(input);
    let traits = fields.iter().map(|field| traits(input, field));
    let (select, body) = (select(of, fields, page), read_row(of, fields, page));
    let rows = quote!(_orm::Row<Entity = #of>);
    let read = match page {
        None => {
            let read_row = read_row_impl(types, Some(select), body);
            let from_row = from_row(types, rows, fields);
            quote!(#read_row #from_row)
        }
        Some(page) => borrowed(types, page, (select, body), (rows, fields)),
    };
    let checks = series(fields).filter(|_| !types.is_generic()).map(|(_, field)| {
        let series = entity_item(of, field, "SERIES", page);
        quote_spanned!(located(field.ident)=> const _: _orm::ProjectedSeries = #series;)
    });
    quote!(#(#traits)* #(#checks)* #read)
}

/// `BorrowedRow`, and `BorrowedFrom` of the rows that `rows` bounds and that hold every field.
pub fn borrowed(
    types: &Types<'_>,
    page: &Lifetime,
    (select, body): (TokenStream, TokenStream),
    (rows, fields): (TokenStream, &[Field<'_>]),
) -> TokenStream {
    let (ident, ty, name) = (&types.input.ident, &types.ty, types.name());
    let stores = stores_all(fields);
    let read_row = hygienic! {
        impl<#page> _orm::BorrowedRow<#page> for #ty {
            const NAME: &'static _orm::str = #name;
            #select
            fn read_row(row: _orm::usize, mut m: _orm::Members<'_, #page>) -> _orm::Read<Self> {
                #body
            }
        }
    };
    quote! {
        #[automatically_derived]
        #read_row
        impl<__R: #rows> _orm::BorrowedFrom<__R> for #ident<'static> where #stores {
            type Of<#page> = #ty;
        }
    }
}

/// Whether a field is a text that a projection borrows.
fn is_borrowed(field: &Field<'_>, page: Option<&Lifetime>) -> bool {
    let ty = kind::option(field.ty).unwrap_or(field.ty);
    page.is_some() && field.role == Role::Property && kind::is(ty, "Cow")
}

/// The type that the entity has for a field.
fn entity_type(field: &Field<'_>, page: Option<&Lifetime>) -> TokenStream {
    match (is_borrowed(field, page), kind::option(field.ty)) {
        (false, _) => read_type(field),
        (true, None) => quote!(_orm::String),
        (true, Some(_)) => quote!(_orm::Option<_orm::String>),
    }
}

fn series<'f, 'a>(fields: &'f [Field<'a>]) -> impl Iterator<Item = (usize, &'f Field<'a>)> {
    fields.iter().enumerate().filter(|(_, field)| field.is_numbered())
}

fn columns<'f, 'a>(fields: &'f [Field<'a>]) -> impl Iterator<Item = (usize, &'f Field<'a>)> {
    fields.iter().enumerate().filter(|(_, field)| !field.is_numbered())
}

/// An item that the entity has for a field. Its span is the field, where rustc reports once what the
/// entity lacks.
fn entity_item(of: &Path, field: &Field<'_>, item: &str, page: Option<&Lifetime>) -> TokenStream {
    let (has, ty, span) = (has(field), entity_type(field, page), located(field.ident));
    let (of, item) = (located_tokens(of, span), Ident::new(item, span));
    quote_spanned!(span=> <#of as #has<#ty>>::#item)
}

/// The constant with the properties that a query asks for.
fn select(of: &Path, fields: &[Field<'_>], page: Option<&Lifetime>) -> TokenStream {
    let properties = columns(fields).map(|(_, field)| entity_item(of, field, "PROPERTY", page));
    let series: Vec<_> =
        series(fields).map(|(_, field)| entity_item(of, field, "SERIES", page)).collect();
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
fn read_row(of: &Path, fields: &[Field<'_>], page: Option<&Lifetime>) -> TokenStream {
    let (mut slots, mut arms, mut from_keys, mut values) = (vec![], vec![], vec![], vec![]);
    for (index, field) in columns(fields) {
        let (ident, ty) = (field.ident, read_type(field));
        let (name, slot) = (format_ident!("p{index}"), slot(index));
        let property = entity_item(of, field, "PROPERTY", page);
        let fill = entity_item(of, field, "fill_from_keys", page);
        let value = finish(&quote!(#name), &quote!(#slot), field);
        let borrowed = is_borrowed(field, page);
        let reads = if borrowed { quote!(BorrowedText) } else { quote!(Stored) };
        slots.push(hygienic!(let (#name, mut #slot) = (#property, _orm::None);));
        arms.push(hygienic!(member if member == #name => {
            <#ty as _orm::#reads>::take(&mut #slot, &mut m, #name)?
        }));
        from_keys.push(match borrowed {
            true => hygienic! {
                <#ty as _orm::BorrowedText>::fill(&mut #slot, |slot| #fill(&m, row, slot))?;
            },
            false => hygienic!(#fill(&m, row, &mut #slot)?;),
        });
        values.push(quote!(#ident: #value));
    }
    let mut reads = vec![];
    for (index, field) in series(fields) {
        let (ident, ty, slot) = (field.ident, field.ty, slot(index));
        let (series, of) = (quote!(_orm::ProjectedSeries), entity_item(of, field, "SERIES", page));
        let empty = group_call(field, hygienic!(empty()));
        slots.push(hygienic!(let mut #slot = #empty;));
        reads.push(match field.role {
            Role::Series => hygienic!(#series::read::<#ty>(#of, &mut #slot, other, &mut m)?),
            _ => {
                let name = hygienic!(#series::property(#of));
                let read = group_call(field, hygienic!(read(&mut #slot, #name, other, &mut m)));
                hygienic!(#read?)
            }
        });
        let name = hygienic!(#series::property(#of));
        let value = group_value(field, &quote!(#slot), &name);
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
    let stores = stores_all(fields);
    let (ty, params) = (&types.ty, types.params_and(quote!(__R: #row)));
    let predicates = types.predicates();
    quote!(impl #params _orm::FromRow<__R> for #ty where #stores #predicates {})
}

/// The bounds of rows `__R` that hold every field.
fn stores_all(fields: &[Field<'_>]) -> TokenStream {
    let stores = fields.iter().map(|field| {
        let stores = stores(field);
        quote_spanned!(located(field.ident)=> __R: #stores,)
    });
    stores.collect()
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
        Some(Range { start: from, end: to }) => (
            quote!(E: _orm::SeriesOf<#id>, T: _orm::SlotsOf<#of::Series>),
            quote_spanned!(span=> _orm::ProjectedSeries::part::<#of::Series, T>(#of::PROPERTY, #from, #to)),
        ),
    }
}
