//! `ReadRow` and `FromRow` for a projection: a smaller struct that an entity's rows are read into.
//! `BorrowedRow` and `BorrowedFrom` for one that borrows its texts from the page.

use crate::ast::{Field, Role};
use crate::expand::property::{finish, group_call, group_value, read_type, slot};
use crate::expand::read::{Reading, read_row_impl};
use crate::expand::scope::{hygienic, located, located_tokens};
use crate::expand::types::Types;
use crate::kind;
use crate::names::field_id;
use crate::tokens::*;
use std::ops::Range;
use syn::Lifetime;

/// A projection of the entity `of`. After a mistake there is no entity, and there are no fields.
pub struct Projection<'p> {
    pub types: &'p Types<'p>,
    pub of: Option<&'p Path>,
    pub fields: &'p [Field<'p>],
    /// The lifetime of a projection that borrows.
    pub page: Option<&'p Lifetime>,
}

impl Projection<'_> {
    pub fn impls(&self) -> TokenStream {
        let Self { types, fields, .. } = self;
        let traits = fields.iter().map(|field| traits(types.input, field));
        let numbered = fields.iter().filter(|field| field.is_numbered() && !types.is_generic());
        let checks = numbered.map(|field| {
            let series = self.item(field, "SERIES");
            quote_spanned!(located(field.ident)=> const _: _orm::ProjectedSeries = #series;)
        });
        let read = self.page.map_or_else(|| self.owned(), |page| self.borrowed(page));
        quote!(#(#traits)* #(#checks)* #read)
    }

    /// `ReadRow`, and `FromRow` of the rows that hold every field.
    fn owned(&self) -> TokenStream {
        let (types, ty) = (self.types, &self.types.ty);
        let (rows, stores, predicates) = (self.rows(), self.stores_all(), types.predicates());
        let read_row = read_row_impl(types, self.select(), self.read_row());
        let params = types.params_and(quote!(__R: #rows));
        quote!(#read_row impl #params _orm::FromRow<__R> for #ty where #stores #predicates {})
    }

    /// `BorrowedRow`, and `BorrowedFrom` of the rows that hold every field.
    fn borrowed(&self, page: &Lifetime) -> TokenStream {
        let Types { input: DeriveInput { ident, .. }, ty, .. } = self.types;
        let (name, rows, stores) = (self.types.name(), self.rows(), self.stores_all());
        let (select, body) = (self.select(), self.read_row());
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

    /// The bound of the entity's rows.
    fn rows(&self) -> TokenStream {
        let entity = self.of.map(|of| quote!(<Entity = #of>));
        quote!(_orm::Row #entity)
    }

    /// The bounds of rows `__R` that hold every field.
    fn stores_all(&self) -> TokenStream {
        let stores = self.fields.iter().map(|field| {
            let stores = stores(field);
            quote_spanned!(located(field.ident)=> __R: #stores,)
        });
        stores.collect()
    }

    /// Whether a field is a text that a projection borrows.
    fn borrows(&self, field: &Field<'_>) -> bool {
        self.page.is_some() && field.role == Role::Property && kind::is(field.value_type(), "Cow")
    }

    /// An item that the entity has for a field. Its span is the field, where rustc reports once what the
    /// entity lacks.
    fn item(&self, field: &Field<'_>, item: &str) -> TokenStream {
        let (has, span) = (has(field), located(field.ident));
        let ty = match (self.borrows(field), kind::option(field.ty)) {
            (false, _) => read_type(field),
            (true, None) => quote!(_orm::String),
            (true, Some(_)) => quote!(_orm::Option<_orm::String>),
        };
        let (of, item) = (located_tokens(self.of, span), Ident::new(item, span));
        quote_spanned!(span=> <#of as #has<#ty>>::#item)
    }

    /// The constant with the properties that a query asks for.
    fn select(&self) -> TokenStream {
        let (series, columns): (Vec<_>, Vec<_>) =
            self.fields.iter().partition(|field| field.is_numbered());
        let properties = columns.into_iter().map(|field| self.item(field, "PROPERTY"));
        let series: Vec<_> = series.into_iter().map(|field| self.item(field, "SERIES")).collect();
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
    fn read_row(&self) -> TokenStream {
        let mut read = Reading::default();
        for (index, field) in self.fields.iter().enumerate() {
            let value = match field.is_numbered() {
                true => self.read_series(field, &slot(index), &mut read),
                false => self.read_column(field, &slot(index), index, &mut read),
            };
            let ident = field.ident;
            read.values.push(quote!(#ident: #value));
        }
        read.body()
    }

    fn read_column(
        &self,
        field: &Field<'_>,
        slot: &Ident,
        index: usize,
        read: &mut Reading,
    ) -> TokenStream {
        let (ty, name) = (read_type(field), format_ident!("p{index}"));
        let [property, fill] = ["PROPERTY", "fill_from_keys"].map(|item| self.item(field, item));
        let borrows = self.borrows(field);
        let reads = if borrows { quote!(BorrowedText) } else { quote!(Stored) };
        read.slots.push(hygienic!(let (#name, mut #slot) = (#property, _orm::None);));
        read.arms.push(hygienic!(member if member == #name => {
            <#ty as _orm::#reads>::take(&mut #slot, &mut m, #name)?
        }));
        read.from_keys.push(match borrows {
            true => hygienic! {
                <#ty as _orm::BorrowedText>::fill(&mut #slot, |slot| #fill(&m, row, slot))?;
            },
            false => hygienic!(#fill(&m, row, &mut #slot)?;),
        });
        finish(&quote!(#name), &quote!(#slot), field)
    }

    fn read_series(&self, field: &Field<'_>, slot: &Ident, read: &mut Reading) -> TokenStream {
        let (ty, series, of) =
            (field.ty, quote!(_orm::ProjectedSeries), self.item(field, "SERIES"));
        let (empty, name) =
            (group_call(field, hygienic!(empty())), hygienic!(#series::property(#of)));
        read.slots.push(hygienic!(let mut #slot = #empty;));
        read.groups.push(match field.role {
            Role::Series => hygienic!(#series::read::<#ty>(#of, &mut #slot, other, &mut m)?),
            _ => {
                let read = group_call(field, hygienic!(read(&mut #slot, #name, other, &mut m)));
                hygienic!(#read?)
            }
        });
        group_value(field, &quote!(#slot), &name)
    }
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
