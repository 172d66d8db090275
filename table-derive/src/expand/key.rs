//! Keys: written from an entity, and read back into its `key_only` fields.

use crate::ast::Field;
use crate::expand::property::slot;
use crate::expand::scope::{hygienic, located};
use crate::model::{Key, Model, Part, Source, Width};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Path;
use syn::ext::IdentExt;

/// What happens to text that keys cannot hold.
pub fn escape(model: &Model<'_>) -> TokenStream {
    if model.entity.encode { quote!(_orm::Escape::Encode) } else { quote!(_orm::Escape::Reject) }
}

/// The statements that write a key, after the literal that it starts with.
fn write(when: Option<&Path>, key: &Key<'_>) -> TokenStream {
    let start = &key.template.start;
    let start = (!start.is_empty()).then(|| hygienic!(key.literal(#start);));
    let when = when.map(|path| {
        quote_spanned! {located(path)=>
            if !#path(self) {
                return _orm::Ok(false);
            }
        }
    });
    let parts = key.parts.iter().map(write_part);
    quote!(#when #start #(#parts)*)
}

/// The statements that write one component.
fn write_part(part: &Part<'_>) -> TokenStream {
    let Part { name, separator, .. } = part;
    let part_of = part.tokens();
    let write = |value: TokenStream| hygienic!(#part_of::write(#value, key, #name, #separator)?;);
    match part.source {
        Source::With(path) => write(quote_spanned!(located(path)=> &#path(self))),
        Source::Field(Field { ident, .. }) if part.sparse().is_some() => {
            let write = write(hygienic!(value));
            hygienic! {
                let _orm::Some(value) = &self.#ident else {
                    return _orm::Ok(false);
                };
                #write
            }
        }
        Source::Field(field) if part.is_shard() => {
            let Field { ident, .. } = field;
            let shard = shard_of(field, &hygienic!(&self.#ident));
            write(hygienic!(&#shard))
        }
        Source::Field(Field { ident, .. }) => write(hygienic!(&self.#ident)),
    }
}

/// The shard of a field's value. Its span is the field's type, where rustc reports a type without
/// shards once.
pub fn shard_of(field: &Field<'_>, value: &TokenStream) -> TokenStream {
    quote_spanned!(located(field.ty)=> _orm::Shard::of(#value))
}

/// The statements of `encode_partition_key`.
pub fn write_partition_key(model: &Model<'_>) -> TokenStream {
    write(None, &model.partition)
}

/// The statements of `encode_row_key`, by the number of the row. Guard rows come last.
pub fn write_row_key(model: &Model<'_>) -> TokenStream {
    let rows = model.rows().map(|(row, key)| write(row.when.as_ref(), key));
    let guards = model.guards.iter().map(|key| write(None, key));
    let bodies: Vec<_> = rows.chain(guards).collect();
    by_row(&bodies.iter().map(|body| hygienic!({ #body })).collect::<Vec<_>>())
        .unwrap_or_else(|| bodies.into_iter().collect())
}

/// A `match` on the number of the row; `None` for fewer than two rows.
fn by_row(bodies: &[TokenStream]) -> Option<TokenStream> {
    let [others @ .., last] = bodies else { return None };
    let index = (0..others.len()).map(Literal::usize_unsuffixed);
    (!others.is_empty()).then(|| {
        hygienic! {
            match row {
                #(#index => #others)*
                _ => #last
            }
        }
    })
}

/// The width of a component, which only its type knows.
pub fn width(part: &Part<'_>) -> TokenStream {
    let part = part.tokens();
    quote!(#part::WIDTH)
}

/// The components whose width only their types know.
pub fn of_unknown_width<'k, 'a>(
    model: &Model<'_>,
    key: &'k Key<'a>,
) -> impl Iterator<Item = &'k Part<'a>> {
    let encode = model.entity.encode;
    key.parts.iter().filter(move |part| part.width(encode) == Width::Unknown)
}

/// The length of each template's longest key, and the constants that compute it. The span of each is
/// its template, where an error is shown.
pub fn longest_keys(model: &Model<'_>, generic: bool) -> (TokenStream, Vec<TokenStream>) {
    let encode = model.entity.encode;
    let mut constants = TokenStream::new();
    let mut longest = Vec::new();
    for (index, key) in model.keys().enumerate() {
        let known = Literal::usize_unsuffixed(key.known_units(encode));
        let widths: Vec<_> = of_unknown_width(model, key).map(width).collect();
        longest.push(if key.parts.iter().any(|part| part.width(encode) == Width::Unbounded) {
            quote!(_orm::None)
        } else if widths.is_empty() {
            quote!(_orm::Some(#known))
        } else if generic {
            quote!(_orm::longest_key(#known, &[#(#widths),*]))
        } else {
            let name = format_ident!("__KEY_{index}");
            constants.extend(quote_spanned! {key.template.literal.span()=>
                const #name: _orm::Option<_orm::usize> = _orm::longest_key(#known, &[#(#widths),*]);
            });
            quote!(#name)
        });
    }
    (constants, longest)
}

/// The statement that reads the `key_only` fields from a row's two keys.
pub fn read_keys(model: &Model<'_>) -> Option<TokenStream> {
    let fields = model.entity.fields.iter().enumerate();
    let wanted: Vec<_> = fields.filter(|(_, field)| field.key_only.is_some()).collect();
    if wanted.is_empty() {
        return None;
    }
    let (in_partition, in_rows): (Vec<_>, Vec<_>) =
        wanted.iter().copied().partition(|(_, field)| model.partition.recovers(field));
    let slots: Vec<_> = wanted.iter().map(|(index, _)| slot(*index)).collect();
    let partition = read_key(model, &model.partition, &in_partition, &hygienic!(partition_key));
    let rows = read_row_key(model, &in_rows);
    Some(hygienic! {
        let (#(#slots,)*) = _orm::Members::read_keys(&m, |partition_key, row_key| {
            #partition
            #rows
            _orm::Ok((#(#slots,)*))
        })?;
    })
}

/// The statement that reads those fields from the RowKey, by the number of the row.
fn read_row_key(model: &Model<'_>, wanted: &[(usize, &Field<'_>)]) -> Option<TokenStream> {
    let slots: Vec<_> = wanted.iter().map(|(index, _)| slot(*index)).collect();
    let read = |key| {
        let read = read_key(model, key, wanted, &hygienic!(row_key));
        hygienic!({ #read (#(#slots,)*) })
    };
    let rows: Vec<_> = model.rows.iter().map(read).collect();
    let value = by_row(&rows).or_else(|| rows.first().cloned())?;
    (!wanted.is_empty()).then(|| hygienic!(let (#(#slots,)*) = #value;))
}

/// The statements that read those fields from one key. They read the key to its end, so a row of
/// another template that starts with the same literal is not taken for one of this template.
fn read_key(
    model: &Model<'_>,
    key: &Key<'_>,
    wanted: &[(usize, &Field<'_>)],
    text: &TokenStream,
) -> Option<TokenStream> {
    let wanted_slot = |part: &Part<'_>| -> Option<Ident> {
        let field = part.field().filter(|_| part.is_recoverable())?;
        wanted.iter().find(|(_, own)| own.name == field.name).map(|(index, _)| slot(*index))
    };
    key.parts.iter().find_map(wanted_slot)?;
    let entity = model.entity.input.ident.unraw().to_string();
    let (escape, start) = (escape(model), &key.template.start);
    let parts = key.parts.iter().map(|part| {
        let (part_of, name, separator) = (part.tokens(), &part.name, part.separator);
        let to = wanted_slot(part).map(|slot| hygienic!(let #slot =));
        hygienic!(#to #part_of::read(&mut key, #name, #separator)?;)
    });
    Some(hygienic! {
        let mut key = _orm::KeyReader::new(#entity, #escape, #text);
        _orm::KeyReader::literal(&mut key, #start)?;
        #(#parts)*
        key.finish()?;
    })
}
