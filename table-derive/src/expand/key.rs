//! Keys, written from an entity.

use crate::ast::{Encoder, Field};
use crate::expand::scope::{hygienic, located};
use crate::model::{Key, KeyedRow, Model, Part, Source};
use crate::tokens::*;

/// The statements that write a key after the literal that it starts with.
pub fn write(when: Option<&Path>, key: &Key<'_>) -> TokenStream {
    let when = when.map(|path| {
        quote_spanned! {located(path)=>
            if !#path(self) {
                return _orm::Ok(false);
            }
        }
    });
    let parts = key.parts.iter().map(write_part);
    quote!(#when #(#parts)*)
}

fn write_part(part: &Part<'_>) -> TokenStream {
    let (sparse, value) = match part.source {
        Source::With(path) => (None, quote_spanned!(located(path)=> &#path(self))),
        Source::Field(Field { ident, .. }) if part.sparse().is_some() => {
            (Some(hygienic!(&self.#ident)), hygienic!(value))
        }
        Source::Field(Field { ident, .. }) => (None, hygienic!(&self.#ident)),
        Source::Element(Field { ident, .. }, _) => {
            let element = hygienic!(_orm::KeyText::element(key));
            (Some(hygienic!(_orm::Elements::element(&self.#ident, #element))), hygienic!(value))
        }
    };
    let sparse = sparse.map(|value| {
        hygienic! {
            let _orm::Some(value) = #value else {
                return _orm::Ok(false);
            };
        }
    });
    let write = write_value(part, value, &hygienic!(key));
    hygienic!(#sparse #write)
}

/// Writes the value of a component, or the shard of it, to a key.
fn write_value(part: &Part<'_>, value: TokenStream, key: &TokenStream) -> TokenStream {
    let (Part { name, separator, .. }, part_of) = (part, part.tokens());
    let value = match part.origin() {
        Some((field, _)) if part.is_shard() => {
            let shard = shard_of(part, field, &value);
            hygienic!(&#shard)
        }
        _ => value,
    };
    hygienic!(#part_of::write(#value, #key, #name, #separator)?;)
}

/// The shard of a field's value. Its span is the field's type, where rustc reports a type without
/// shards once.
pub fn shard_of(part: &Part<'_>, field: &Field<'_>, value: &TokenStream) -> TokenStream {
    if part.encoder == Encoder::Spread {
        let read = read_instant(field);
        return quote!(_orm::Spread::read_by(#read, #value));
    }
    quote_spanned!(located(field.ty)=> _orm::Shard::of(#value))
}

/// What reads the instant of a field. Its span is the field's type, where rustc reports another type once.
pub fn read_instant(field: &Field<'_>) -> TokenStream {
    quote_spanned!(located(field.ty)=> _orm::Spread::read)
}

/// The statements of `encode_row_key`, by the number of the row.
pub fn write_row_key(model: &Model<'_>) -> TokenStream {
    let row = |KeyedRow { row, key, .. }: &KeyedRow<'_>| write(row.when.as_ref(), key);
    let guards = model.guards.iter().map(|key| write(None, key));
    let eventual = model.eventual().map(|(keyed, _)| row(keyed));
    by_row(0, model.own_rows().map(row).chain(guards).chain(eventual).collect())
}

/// The functions of rows in other partitions: `encode_eventual_partition_key` and `encode_home_key`.
pub fn write_eventual_keys(model: &Model<'_>) -> Option<TokenStream> {
    let (first, _) = model.eventual().next()?;
    let partitions = model.eventual().map(|(_, partition)| write(None, partition)).collect();
    let homes = model.eventual().map(|(row, _)| write_home_key(model, row)).collect();
    let (partitions, homes) = (by_row(first.index, partitions), by_row(first.index, homes));
    Some(hygienic! {
        fn encode_eventual_partition_key(
            &self,
            row: _orm::usize,
            key: &mut _orm::KeyText,
        ) -> _orm::RowWritten {
            #partitions
            _orm::Ok(true)
        }
        fn encode_home_key(
            row: _orm::usize,
            k: &_orm::StoredKeys<'_, Self>,
            partition: &mut _orm::KeyText,
            key: &mut _orm::KeyText,
        ) -> _orm::RowWritten {
            #homes
            _orm::Ok(true)
        }
    })
}

/// The statements that write the keys of the canonical row from those of another row.
fn write_home_key(model: &Model<'_>, row: &KeyedRow<'_>) -> TokenStream {
    let canonical = &model.rows[model.canonical].key;
    let home = [(&model.partition, hygienic!(partition)), (canonical, hygienic!(key))];
    let parts = home.iter().flat_map(|(key, to)| key.parts.iter().map(move |part| (part, to)));
    let parts = parts.filter_map(|(part, to)| {
        let field = part.field()?;
        let (ty, read) = (field.value_type(), read_from_keys(model, row, field)?);
        let write = write_value(part, hygienic!(&value), to);
        Some(hygienic! {
            let value: _orm::Option<#ty> = #read?;
            let _orm::Some(value) = value else { return _orm::Ok(false) };
            #write
        })
    });
    parts.collect()
}

/// The expression that reads a field from the keys of a row, as `StoredKeys` called `k`.
pub fn read_from_keys(
    model: &Model<'_>,
    row: &KeyedRow<'_>,
    field: &Field<'_>,
) -> Option<TokenStream> {
    let [partition, key] = model.keys_of(row).map(|key| {
        let at = key.position(field)?;
        Some((Literal::usize_unsuffixed(at), key.parts[at].tokens()))
    });
    let index = Literal::usize_unsuffixed(row.index);
    match (partition, key) {
        (Some((at, of)), _) if row.partition.is_none() => {
            Some(hygienic!(k.partition(#at, #of::read)))
        }
        (Some((at, of)), _) => Some(hygienic!(k.eventual(#index, #at, #of::read))),
        (None, key) => key.map(|(at, of)| hygienic!(k.row(#index, #at, #of::read))),
    }
}

/// A `match` on the number of the row, from `first` on.
fn by_row(first: usize, mut bodies: Vec<TokenStream>) -> TokenStream {
    let last = bodies.pop();
    if bodies.is_empty() {
        return quote!(#last);
    }
    let index = (first..first + bodies.len()).map(Literal::usize_unsuffixed);
    hygienic!(match row { #(#index => { #bodies })* _ => { #last } })
}

/// The components of a template as data. The span is the template, where an error is shown.
pub fn parts(key: &Key<'_>, encode: bool) -> Option<TokenStream> {
    let parts = key.parts.iter().map(|part| {
        let Part { name, separator, encoder, .. } = part;
        let (part_of, coded) = (part.tokens(), encoder.tokens());
        let max = part.max(encode).map(Literal::usize_unsuffixed).map(|max| quote!(.max(#max)));
        let plain = quote!(_orm::part(#name, #part_of::SHAPE, #separator)#max);
        let Some((field, ty)) = part.origin() else {
            return quote!(_orm::computed(#name, #separator));
        };
        let field = &field.name;
        match encoder {
            // An element has no field of its own.
            _ if part.field().is_none() && !part.is_shard() => plain,
            Encoder::Plain | Encoder::Padded(_) | Encoder::Ascending | Encoder::Biased
                if field == name =>
            {
                plain
            }
            Encoder::Shard(shards) => {
                let shards = Literal::u32_unsuffixed(*shards);
                quote!(_orm::sharded::<#ty, #shards>(#name, #field, #separator))
            }
            Encoder::Spread => quote!(_orm::spread(#name, #field, #separator)),
            _ => quote!(_orm::coded::<#ty, #coded>(#name, #field, #separator)#max),
        }
    });
    let parts = quote!(&[#(#parts),*]);
    (!key.parts.is_empty()).then(|| quote_spanned!(key.template.literal.span()=> .parts(#parts)))
}
