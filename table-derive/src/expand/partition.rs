//! The partition as a type: made by `E::partition(..)`, with a method for each row.

use crate::ast::{Encoder, Row};
use crate::expand::key::shard_of;
use crate::expand::row::{query, state};
use crate::expand::sample::{class, cost, described};
use crate::expand::scope::doc;
use crate::expand::types::Types;
use crate::model::{Model, Part};
use crate::names;
use crate::tokens::*;

pub fn ty(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let docs = doc(format!(
        "One partition {}. As a query, its `{}` rows: {}.",
        described(&model.partition),
        model.entity.rows[model.canonical].name,
        cost(class(&model.rows[model.canonical], 0))
    ));
    let krate = &model.entity.krate;
    let key = quote!(#krate::query::PartitionKey);
    types.key_type(docs, &names::partition(types.input), types.params(), key, rows_span(model))
}

/// The span of the rows: an error about a method that a partition lacks lists them so.
fn rows_span(model: &Model<'_>) -> (Span, Span) {
    let span = |row: &Row| (row.name.span(), row.template.literal.span());
    let ends = model.entity.rows.first().map(span).zip(model.entity.rows.last().map(span));
    ends.map_or_else(|| (Span::call_site(), Span::call_site()), |((at, _), (_, end))| (at, end))
}

pub fn impls(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let (partition, partitions) = (partition_of(model, types), partitions_of(model, types));
    let (make, keys) = (types.items(&types.ty, quote!(#partition #partitions)), keys(model, types));
    quote!(#make #keys)
}

/// What a partition offers: the keys of each row. As a `Query` itself, it reads its canonical rows.
pub fn keys(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let partition = types.partition();
    let canonical = &model.entity.rows[model.canonical];
    let (method, row) = (&canonical.name, types.row(canonical));
    let body = quote!(_orm::KeyState::keys(self.#method().0));
    let class = quote!(_orm::class::Partition);
    let query = query(types, (types.params(), &partition), (row, class), body);
    let rows = types.items(partition, rows(model, types));
    quote!(#rows #query)
}

/// The variable for a key. No component's name collides with it.
fn variable(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

fn start(model: &Model<'_>, types: &Types<'_>, key: &Ident) -> TokenStream {
    let (name, start) = (types.name(), &model.partition.template.start);
    let escape = if model.entity.encode { quote!(Encode) } else { quote!(Reject) };
    quote!(let #key = _orm::PartitionKey::new(#name, _orm::Escape::#escape, #start);)
}

/// `E::partition(..)`, which takes every component.
fn partition_of(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let (key, at) = (&variable("key"), model.partition.template.literal.span());
    let parameters = model.partition.parts.iter().map(|part| {
        let (mut ident, ty) = (part.ident.clone(), part.value_type());
        ident.set_span(ident.span().located_at(at));
        quote_spanned!(at=> #ident: impl _orm::Value<#ty>)
    });
    let start = start(model, types, key);
    let parts = model.partition.parts.iter().map(|part| give(part, key));
    let (name, phantom) = (names::partition(types.input), types.phantom_value());
    let docs = doc(format!(
        "The partition {}, whose rows can be asked for by key. Sends nothing.",
        described(&model.partition)
    ));
    // Errors about its arguments show the template.
    let (vis, method, partition) =
        (&types.input.vis, Ident::new("partition", at), types.partition());
    quote! {
        #docs
        #vis fn #method(#(#parameters),*) -> #partition { #start #(#parts)* #name(#key #phantom) }
    }
}

fn give(part: &Part<'_>, key: &Ident) -> TokenStream {
    let Part { ident, name, separator, .. } = part;
    let value = match part.field().filter(|_| part.is_shard()) {
        Some(field) => {
            let ty = field.value_type();
            shard_of(field, &quote!(&_orm::Value::<#ty>::into_value(#ident)))
        }
        None => quote!(#ident),
    };
    let part = part.tokens();
    quote!(let #key = #part::push_partition(#key, #name, #value, #separator);)
}

/// `E::partitions(..)`, where the partition has a shard: one partition for each shard.
fn partitions_of(model: &Model<'_>, types: &Types<'_>) -> Option<TokenStream> {
    let parts = &model.partition.parts;
    let Encoder::Shard(shards) = parts.iter().find(|part| part.is_shard())?.encoder else {
        return None;
    };
    let others = parts.iter().filter(|part| !part.is_shard()).map(|part| {
        let (ident, ty) = (&part.ident, part.value_type());
        let value = quote!(let #ident = _orm::Value::<#ty>::into_value(#ident););
        (quote!(#ident: impl _orm::Value<#ty>), value)
    });
    let (parameters, values): (Vec<_>, Vec<_>) = others.unzip();
    let (all, vis, partition) = (all_shards(model, types), &types.input.vis, types.partition());
    let docs = doc(format!(
        "The {shards} partitions `{}` that share a load, to be read by `Repo::list_many`.",
        model.partition.template.text
    ));
    Some(quote! {
        #docs
        #vis fn partitions(#(#parameters),*) -> _orm::Vec<#partition> { #(#values)* #all }
    })
}

/// The partitions of all shards, from the values of the other components.
fn all_shards(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let (key, shard) = (&variable("key"), &variable("shard"));
    let start = start(model, types, key);
    let parts = model.partition.parts.iter().map(|part| {
        let Part { ident, name, separator, .. } = part;
        let value = if part.is_shard() { shard } else { ident };
        let part = part.tokens();
        quote!(let #key = #part::push_ref(&#value, #key, #name, #separator);)
    });
    let (partition, phantom) = (names::partition(types.input), types.phantom_value());
    quote! {
        _orm::Shard::map_all(|#shard| {
            #start
            #(#parts)*
            #partition(#key #phantom)
        })
    }
}

/// `EPartition::by_x()` for each row.
fn rows(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let rows = model.rows().map(|(row, key)| {
        let (name, start) = (names::row(types.input, row), &key.template.start);
        let first = types.row_in(&name, state(model, key, 0));
        let (vis, method, phantom) = (&types.input.vis, &row.name, types.phantom_value());
        let docs = doc(format!("The rows {}: {}.", described(key), cost(class(key, 0))));
        quote!(#docs #vis fn #method(&self) -> #first { #name(_orm::PartitionKey::row_key(&self.0, #start) #phantom) })
    });
    rows.collect()
}
