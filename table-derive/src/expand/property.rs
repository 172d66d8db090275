//! One field: written as properties, and read back from them.

use crate::ast::{Field, Role};
use crate::expand::scope::{hygienic, located, relocated};
use crate::kind;
use crate::tokens::*;

pub fn limit(field: &Field<'_>) -> Option<TokenStream> {
    let (limit, (value, _)) = match (&field.max, &field.max_len) {
        (Some(max), _) => (quote!(Max), max),
        (None, max_len) => (quote!(MaxLen), max_len.as_ref()?),
    };
    let value = Literal::u64_unsuffixed(*value);
    Some(quote!(_orm::#limit(#value)))
}

/// The statement that writes a field of `self` to `out`. `None` for a field that is not stored and
/// has no limit. The JSON of an `Option` is that of its value.
pub fn write(field: &Field<'_>) -> Option<TokenStream> {
    let (ident, property, optional) = (field.ident, &field.property, is_optional_json(field));
    let ty = if optional { field.value_type() } else { field.ty };
    let value = if optional { hygienic!(value) } else { hygienic!(&self.#ident) };
    let write = match field.role {
        Role::Property => {
            let (method, limit) = match (limit(field), field.key_only.is_some()) {
                (Some(limit), true) => (quote!(check_limit), Some(quote!(, #limit))),
                (Some(limit), false) => (quote!(put_limited), Some(quote!(, #limit))),
                (None, true) => return None,
                (None, false) => (quote!(put), None),
            };
            hygienic!(<#ty as _orm::Stored>::#method(#value, out, #property #limit)?;)
        }
        Role::Json => hygienic!(out.json(#property, #value)?;),
        Role::Series => hygienic!(out.series(#property, #value)?;),
        Role::Flatten | Role::Chunked | Role::ChunkedJson => {
            let group = group_trait(field);
            hygienic!(<#ty as _orm::#group>::write(#value, #property, out)?;)
        }
        Role::Skip | Role::ETag | Role::Timestamp => return None,
    };
    Some(match optional {
        true => hygienic!(if let _orm::Some(value) = &self.#ident { #write }),
        false => write,
    })
}

fn is_optional_json(field: &Field<'_>) -> bool {
    matches!(field.role, Role::Json | Role::ChunkedJson) && kind::option(field.ty).is_some()
}

pub fn group_trait(field: &Field<'_>) -> Ident {
    let name = match field.role {
        Role::Series => "Series",
        Role::Chunked => "Chunked",
        Role::ChunkedJson => "ChunkedJson",
        _ => "Properties",
    };
    Ident::new(name, field.ty.span())
}

/// A call on a field of several properties. Its span is the field's type, so that rustc reports a
/// wrong type once and there. The JSON of an `Option` is that of its value, so that a value whose JSON is `null`
/// differs from `None`.
pub fn group_call(field: &Field<'_>, call: TokenStream) -> TokenStream {
    let ty = if field.role == Role::ChunkedJson { field.value_type() } else { field.ty };
    let call = relocated(call, field.ty.span());
    let group = group_trait(field);
    quote_spanned!(ty.span()=> <#ty as _orm::#group>::#call)
}

/// The fields of several properties, in the order in which they are offered a property: a map, which
/// takes every one, is the last.
pub fn groups<'f, 'a>(fields: &'f [Field<'a>]) -> Vec<(usize, &'f Field<'a>)> {
    let fields = fields.iter().enumerate();
    let mut groups: Vec<_> =
        fields.filter(|(_, field)| field.is_stored() && !field.is_column()).collect();
    groups.sort_by_key(|(_, field)| kind::is_map(field.ty));
    groups
}

/// The variable for the value of the field with that number.
pub fn slot(index: usize) -> Ident {
    format_ident!("f{index}", span = Span::mixed_site())
}

pub fn read_type(field: &Field<'_>) -> TokenStream {
    let (ty, value) = (field.ty, field.value_type());
    let json = matches!(field.role, Role::Json | Role::ChunkedJson);
    if json { quote!(_orm::Json<#value>) } else { quote!(#ty) }
}

/// The value of a field that a row's properties hold, from what was read for it into `slot`.
pub fn value(field: &Field<'_>, slot: &TokenStream) -> TokenStream {
    let property = &field.property;
    if field.is_column() {
        return finish(&hygienic!(#property), slot, field);
    }
    group_value(field, slot, &hygienic!(#property))
}

/// The value of a field of several properties, from what was read for it under that name.
pub fn group_value(field: &Field<'_>, slot: &TokenStream, name: &TokenStream) -> TokenStream {
    let finish = if is_optional_json(field) { quote!(stored) } else { quote!(finish) };
    let group = group_call(field, hygienic!(#finish(#slot, #name)));
    hygienic!(#group?)
}

/// The value of a field of one property, from what was read for it.
pub fn finish(property: &TokenStream, slot: &TokenStream, field: &Field<'_>) -> TokenStream {
    let (json, optional) = (field.role == Role::Json, is_optional_json(field));
    let (ty, inner) = (read_type(field), json.then(|| hygienic!(.0)));
    let value = if json { hygienic!(#slot.map(|json| json.0)) } else { hygienic!(#slot) };
    match &field.default {
        None | Some(None) if optional => value,
        None => hygienic!(<#ty as _orm::Stored>::finish(#slot, #property)? #inner),
        Some(Some(path)) if optional => hygienic!(#value.map_or_else(#path, _orm::Some)),
        Some(None) => hygienic!(#value.unwrap_or_default()),
        Some(Some(path)) => hygienic!(#value.unwrap_or_else(#path)),
    }
}

/// The value of a field for a row's version. Its span is the field's type, where rustc reports a type
/// that cannot hold one.
pub fn version(field: &Field<'_>, holder: &str, value: TokenStream) -> TokenStream {
    let (ty, span) = (field.ty, located(field.ty));
    let (holder, value) = (Ident::new(holder, span), relocated(value, span));
    quote_spanned!(span=> <#ty as _orm::#holder>::holding(#value))
}

/// The properties of all fields as data.
pub fn declared(fields: &[Field<'_>]) -> TokenStream {
    let declared = fields.iter().filter(|field| field.is_stored()).map(|field| {
        let (ty, property) = (field.ty, &field.property);
        match field.role {
            Role::Flatten => {
                quote!(_orm::Declared::Group(#property, <#ty as _orm::Properties>::PROPERTIES))
            }
            Role::Series => {
                let series = quote!(<#ty as _orm::Series>);
                quote!(_orm::Declared::Series(#property, #series::SLOTS, #series::TYPE))
            }
            Role::Chunked | Role::ChunkedJson => {
                let group = group_trait(field);
                quote!(_orm::Declared::Chunked(#property, <#ty as _orm::#group>::TYPE))
            }
            _ => {
                let (ty, limit) = (read_type(field), limit(field).into_iter());
                quote!(_orm::property(#property, <#ty as _orm::Stored>::TYPE) #(.limit(#limit))*)
            }
        }
    });
    quote!(&[#(#declared),*])
}

/// Whether only the type checker knows all properties of a field.
pub fn is_open(field: &Field<'_>) -> bool {
    match field.role {
        Role::Flatten => !kind::is_map(field.ty),
        Role::Series => kind::has_slots(field.ty) && kind::array(field.ty).is_none(),
        _ => false,
    }
}
