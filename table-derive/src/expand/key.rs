//! Keys, written from an entity.

use crate::ast::Field;
use crate::expand::scope::{hygienic, located};
use crate::model::{Key, Model, Part, Source};
use crate::tokens::*;

/// The statements that write a key behind the literal that it starts with.
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

/// The statements of `encode_row_key`, by the number of the row. Guard rows come last.
pub fn write_row_key(model: &Model<'_>) -> TokenStream {
    let rows = model.rows().map(|(row, key)| write(row.when.as_ref(), key));
    let guards = model.guards.iter().map(|key| write(None, key));
    let mut bodies: Vec<_> = rows.chain(guards).collect();
    let last = bodies.pop();
    if bodies.is_empty() {
        return quote!(#last);
    }
    let index = (0..bodies.len()).map(Literal::usize_unsuffixed);
    hygienic!(match row { #(#index => { #bodies })* _ => { #last } })
}

/// The components of a template as data. The span is the template, where an error is shown.
pub fn parts(key: &Key<'_>, encode: bool) -> Option<TokenStream> {
    let parts = key.parts.iter().map(|part| {
        let (part_of, Part { name, separator, .. }) = (part.tokens(), part);
        let max = part.max(encode).map(Literal::usize_unsuffixed).map(|max| quote!(.max(#max)));
        quote!(_orm::part(#name, #part_of::SHAPE, #separator)#max)
    });
    let parts = quote!(&[#(#parts),*]);
    (!key.parts.is_empty()).then(|| quote_spanned!(key.template.literal.span()=> .parts(#parts)))
}
