//! An entity's properties: written into a row, and read back from one.

use super::entity::escape;
use super::{Expansion, located, properties, relocated};
use crate::ast::{Field, Role};
use crate::kind;
use crate::model::{Key, Model};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

/// The statements of `encode_properties`. Fields in a row that others store too stand together.
pub fn encode_properties(model: &Model<'_>) -> TokenStream {
    let mut groups: Vec<(Vec<usize>, Vec<TokenStream>)> = Vec::new();
    for field in &model.entity.fields {
        let Some(write) = encode(field) else { continue };
        let rows: Vec<usize> = model
            .rows()
            .enumerate()
            .filter(|(_, (row, _))| row.stores(field) || field.key_only.is_some())
            .map(|(index, _)| index)
            .collect();
        match groups.last_mut() {
            Some((same, writes)) if *same == rows => writes.push(write),
            _ => groups.push((rows, vec![write])),
        }
    }
    let writes: TokenStream = groups
        .into_iter()
        .map(|(rows, writes)| {
            if rows.len() == model.rows.len() {
                return quote!(#(#writes)*);
            }
            let rows = rows.into_iter().map(Literal::usize_unsuffixed);
            hygienic!(if matches!(row, #(#rows)|*) { #(#writes)* })
        })
        .collect();
    let fields = &model.entity.fields;
    let check = fields.iter().any(|field| field.role == Role::Flatten).then(|| {
        let declared = properties::declared(fields);
        hygienic!(out.check_open(#declared)?;)
    });
    quote!(#writes #check)
}

/// The limit that a field declares.
pub fn limit(field: &Field<'_>) -> Option<TokenStream> {
    match (&field.max, &field.max_len) {
        (Some((max, _)), _) => {
            let max = Literal::u64_unsuffixed(*max);
            Some(quote!(_orm::Max(#max)))
        }
        (None, Some((max_len, _))) => {
            let max_len = Literal::u64_unsuffixed(*max_len);
            Some(quote!(_orm::MaxLen(#max_len)))
        }
        (None, None) => None,
    }
}

/// Writes one field of `self` to `out`; nothing for a field that is not stored and has no limit.
pub fn encode(field: &Field<'_>) -> Option<TokenStream> {
    let (ident, ty, property) = (field.ident, field.ty, &field.property);
    let value = hygienic!(&self.#ident);
    Some(match (field.role, limit(field)) {
        (Role::Property, Some(limit)) if field.key_only.is_some() => {
            hygienic!(<#ty as _orm::Stored>::check_limit(#value, out, #property, #limit)?;)
        }
        (Role::Property, None) if field.key_only.is_some() => return None,
        (Role::Property, Some(limit)) => {
            hygienic!(<#ty as _orm::Stored>::put_limited(#value, out, #property, #limit)?;)
        }
        (Role::Property, None) => {
            hygienic!(<#ty as _orm::Stored>::put(#value, out, #property)?;)
        }
        (Role::Json, _) if kind::option(field.ty).is_some() => hygienic! {
            if let _orm::Some(value) = #value {
                out.json(#property, value)?;
            }
        },
        (Role::Json, _) => hygienic!(out.json(#property, #value)?;),
        (Role::Series, _) => hygienic!(out.series(#property, #value)?;),
        (Role::Flatten, _) => hygienic!(<#ty as _orm::Properties>::write(#value, #property, out)?;),
        (Role::Skip | Role::ETag | Role::Timestamp, _) => return None,
    })
}

/// A call on a group of properties. It stands at the group's type, where rustc reports a type that
/// is no group once.
fn group(field: &Field<'_>, call: TokenStream) -> TokenStream {
    let (ty, call) = (field.ty, relocated(call, field.ty.span()));
    let group = group_trait(field);
    quote_spanned!(ty.span()=> <#ty as _orm::#group>::#call)
}

/// What a field of many properties is by its role.
pub fn group_trait(field: &Field<'_>) -> Ident {
    let name = if field.role == Role::Series { "Series" } else { "Properties" };
    Ident::new(name, field.ty.span())
}

/// The variable that holds what was read for a field.
pub fn slot(index: usize) -> Ident {
    format_ident!("f{index}", span = Span::mixed_site())
}

/// The type that one property is read as.
pub fn read_type(field: &Field<'_>) -> TokenStream {
    let ty = match field.role {
        Role::Json => field.value_type(),
        _ => field.ty,
    };
    if field.role == Role::Json { quote!(_orm::Json<#ty>) } else { quote!(#ty) }
}

pub fn read_row(model: &Model<'_>, expansion: &Expansion<'_>) -> TokenStream {
    let Expansion { ty, where_clause, .. } = expansion;
    let params = expansion.params();
    let fields = &model.entity.fields;
    let name = model.entity.input.ident.unraw().to_string();
    let stored: Vec<_> = fields.iter().enumerate().filter(|(_, field)| field.is_stored()).collect();
    // A few in a line.
    let slots = stored.chunks(4).map(|some| {
        let slots = some.iter().map(|(index, _)| slot(*index));
        let empty = some.iter().map(|(_, field)| match field.is_column() {
            true => hygienic!(_orm::None),
            false => group(field, hygienic!(empty())),
        });
        hygienic!(let (#(mut #slots,)*) = (#(#empty,)*);)
    });
    let arms =
        fields.iter().enumerate().filter(|(_, field)| field.is_column()).map(|(index, field)| {
            let (slot, property, ty) = (slot(index), &field.property, read_type(field));
            hygienic!(#property => <#ty as _orm::Stored>::take(&mut #slot, &mut m, #property)?,)
        });
    let mut groups: Vec<_> = fields
        .iter()
        .enumerate()
        .filter(|(_, field)| matches!(field.role, Role::Series | Role::Flatten))
        .collect();
    // A map takes what no other group does.
    groups.sort_by_key(|(_, field)| kind::is_map(field.ty));
    let groups: Vec<_> = groups
        .into_iter()
        .map(|(index, field)| {
            let (slot, property) = (slot(index), &field.property);
            let read = group(field, hygienic!(read(&mut #slot, #property, other, &mut m)));
            hygienic!(#read?)
        })
        .collect();
    let other = if groups.is_empty() {
        hygienic!(other => m.other(other)?,)
    } else {
        hygienic!(other => if !(#(#groups)||*) { m.other(other)? },)
    };
    let flattened = fields.iter().filter(|field| field.role == Role::Flatten);
    let flattened: Vec<_> = flattened.map(|field| field.ty).collect();
    let metadata = (!flattened.is_empty()).then(|| {
        hygienic! {
            const METADATA: _orm::Metadata = _orm::metadata(&[
                #(_orm::Declared::Group(<#flattened as _orm::Properties>::PROPERTIES)),*
            ]);
        }
    });
    let keys = read_keys(model);
    let values = fields.iter().enumerate().map(|(index, field)| {
        let (ident, value) = (field.ident, finish(model, index, field));
        hygienic!(#ident: #value)
    });
    hygienic! {
        #[automatically_derived]
        impl #params _orm::ReadRow for #ty #where_clause {
            const NAME: &'static str = #name;
            #metadata
            fn read_row(row: usize, mut m: _orm::Members<'_, '_>) -> _orm::Read<Self> {
                #(#slots)*
                while let _orm::Some(member) = m.next_name()? {
                    match &*member {
                        #(#arms)*
                        #other
                    }
                }
                #keys
                _orm::Ok(Self { #(#values),* })
            }
        }
    }
}

/// The value of a field from what was read for it.
fn finish(model: &Model<'_>, index: usize, field: &Field<'_>) -> TokenStream {
    let (slot, property) = (slot(index), &field.property);
    match field.role {
        _ if field.key_only.is_some() => hygienic!(#slot),
        Role::Property | Role::Json => finish_column(&hygienic!(#property), &slot, field),
        Role::Series | Role::Flatten => {
            let group = group(field, hygienic!(finish(#slot, #property)));
            hygienic!(#group?)
        }
        Role::Skip => hygienic!(_orm::Default::default()),
        // The version of an index row guards nothing.
        Role::ETag if model.rows.len() > 1 && kind::option(field.ty).is_some() => {
            let canonical = Literal::usize_unsuffixed(model.canonical);
            let etag = version(field, "ETagField", hygienic!(m.etag()));
            hygienic!(if row == #canonical { #etag } else { _orm::None })
        }
        Role::ETag => version(field, "ETagField", hygienic!(m.etag())),
        Role::Timestamp => version(field, "TimestampField", hygienic!(m.timestamp())),
    }
}

/// The value of a field that holds a row's version. It stands at the field's type, where rustc
/// reports a type that cannot.
pub fn version(field: &Field<'_>, holder: &str, value: TokenStream) -> TokenStream {
    let (ty, span) = (field.ty, located(field.ty));
    let (holder, value) = (Ident::new(holder, span), relocated(value, span));
    quote_spanned!(span=> <#ty as _orm::#holder>::holding(#value))
}

/// The value of a field of one property.
pub fn finish_column(property: &TokenStream, slot: &Ident, field: &Field<'_>) -> TokenStream {
    let json = field.role == Role::Json;
    let optional = json && kind::option(field.ty).is_some();
    let ty = read_type(field);
    match &field.default {
        None | Some(None) if optional => hygienic!(#slot.map(|json| json.0)),
        Some(Some(path)) if optional => {
            hygienic!(#slot.map_or_else(#path, |json| _orm::Some(json.0)))
        }
        Some(None) if json => hygienic!(#slot.map_or_else(_orm::Default::default, |json| json.0)),
        Some(Some(path)) if json => hygienic!(#slot.map_or_else(#path, |json| json.0)),
        Some(None) => hygienic!(#slot.unwrap_or_default()),
        Some(Some(path)) => hygienic!(#slot.unwrap_or_else(#path)),
        None => {
            let inner = json.then(|| hygienic!(.0));
            hygienic!(<#ty as _orm::Stored>::finish(#slot, #property)? #inner)
        }
    }
}

/// Reads the `key_only` fields out of the row's keys.
fn read_keys(model: &Model<'_>) -> Option<TokenStream> {
    let fields = model.entity.fields.iter().enumerate();
    let wanted: Vec<_> = fields.filter(|(_, field)| field.key_only.is_some()).collect();
    if wanted.is_empty() {
        return None;
    }
    let (in_partition, in_rows): (Vec<_>, Vec<_>) =
        wanted.iter().copied().partition(|(_, field)| model.partition.gives(field));
    let slots = wanted.iter().map(|(index, _)| slot(*index));
    let partition = read_key(model, &model.partition, &in_partition, &hygienic!(partition_key));
    let rows: Vec<_> = model
        .rows
        .iter()
        .map(|key| {
            let read = read_key(model, key, &in_rows, &hygienic!(row_key));
            let slots = in_rows.iter().map(|(index, _)| slot(*index));
            hygienic!({ #read (#(#slots,)*) })
        })
        .collect();
    let row_slots = in_rows.iter().map(|(index, _)| slot(*index));
    let rows = match &rows[..] {
        _ if in_rows.is_empty() => None,
        [only] => Some(hygienic!(let (#(#row_slots,)*) = #only;)),
        [others @ .., last] => {
            let index = (0..others.len()).map(Literal::usize_unsuffixed);
            Some(hygienic! {
                let (#(#row_slots,)*) = match row {
                    #(#index => #others)*
                    _ => #last
                };
            })
        }
        [] => None,
    };
    let returned = wanted.iter().map(|(index, _)| slot(*index));
    Some(hygienic! {
        let (#(#slots,)*) = m.read_keys(|partition_key, row_key| {
            #partition
            #rows
            _orm::Ok((#(#returned,)*))
        })?;
    })
}

/// Reads those fields out of one key, which must be one that the template writes: a row of another
/// template that starts alike is not read for this one's.
fn read_key(
    model: &Model<'_>,
    key: &Key<'_>,
    wanted: &[(usize, &Field<'_>)],
    text: &TokenStream,
) -> Option<TokenStream> {
    let wanted_slot = |part: &crate::model::Part<'_>| {
        let field = part.field().filter(|_| part.is_recoverable())?;
        wanted.iter().find(|(_, own)| own.name == field.name).map(|(index, _)| slot(*index))
    };
    key.parts.iter().find_map(wanted_slot)?;
    let entity = model.entity.input.ident.unraw().to_string();
    let (escape, start) = (escape(model), &key.template.start);
    let parts = key.parts.iter().map(|part| {
        let (part_of, name, then) = (part.tokens(), &part.name, part.then);
        let read = hygienic!(#part_of::read(&mut key, #name, #then)?;);
        match wanted_slot(part) {
            Some(slot) => hygienic!(let #slot = #read),
            None => read,
        }
    });
    Some(hygienic! {
        let mut key = _orm::KeyReader::new(#entity, #escape, #text);
        key.literal(#start)?;
        #(#parts)*
        key.finish()?;
    })
}
