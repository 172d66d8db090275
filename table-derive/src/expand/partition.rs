//! The partition as a type: made by `E::partition(..)`, with a method for each row.

use crate::expand::key::{escape, shard_of};
use crate::expand::row::state;
use crate::expand::sample::{PARTITION_QUERY, class, cost, described};
use crate::expand::scope::doc;
use crate::expand::types::EntityTypes;
use crate::model::{Encoder, Model, Part, Source};
use crate::names;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;

pub fn ty(model: &Model<'_>, types: &EntityTypes<'_>) -> TokenStream {
    let docs = doc(format!(
        "One partition {}. As a query, its `{}` rows: {}.",
        described(&model.partition),
        model.entity.rows[model.canonical].name,
        cost(PARTITION_QUERY)
    ));
    types.partition_type(docs, model.partition.template.literal.span())
}

pub fn impls(model: &Model<'_>, types: &EntityTypes<'_>) -> TokenStream {
    let (ty, where_clause) = (&types.ty, &types.where_clause);
    let (params, partition) = (types.params(), types.partition());
    let make = [partition_of(model, types)].into_iter().chain(partitions_of(model, types));
    let rows = rows(model, types);
    let query = query(model, types);
    quote! {
        impl #params #ty #where_clause { #(#make)* }
        impl #params #partition #where_clause { #rows }
        #query
    }
}

/// The variable for a key, which no component of the same name meets.
fn variable(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The statement that starts a PartitionKey.
fn start(model: &Model<'_>, key: &Ident) -> TokenStream {
    let name = model.entity.input.ident.unraw().to_string();
    let (escape, start) = (escape(model), &model.partition.template.start);
    quote!(let #key = _orm::PartitionKey::new(#name, #escape, #start);)
}

/// `E::partition(..)`, which takes every component.
fn partition_of(model: &Model<'_>, types: &EntityTypes<'_>) -> TokenStream {
    let (key, at) = (&variable("key"), model.partition.template.literal.span());
    let parameters = model.partition.parts.iter().map(|part| {
        let (mut ident, ty) = (part.ident.clone(), part.value_type());
        ident.set_span(ident.span().located_at(at));
        quote_spanned!(at=> #ident: impl _orm::Value<#ty>)
    });
    let start = start(model, key);
    let parts = model.partition.parts.iter().map(|part| give(part, key));
    let (name, phantom) = (names::partition(model.entity), types.phantom_value());
    let body = quote!(#start #(#parts)* #name(#key #phantom));
    let docs = doc(format!(
        "The partition {}, whose rows can be asked for by key. Sends nothing.",
        described(&model.partition)
    ));
    let method = types.partition_fn(quote!(#(#parameters),*), body, at);
    quote!(#docs #method)
}

/// The statement that appends a component to a PartitionKey.
fn give(part: &Part<'_>, key: &Ident) -> TokenStream {
    let Part { ident, name, separator, .. } = part;
    let value = match (part.encoder, part.source) {
        (Encoder::Shard(_), Source::Field(field)) => {
            let ty = field.value_type();
            shard_of(field, &quote!(&_orm::Value::<#ty>::into_value(#ident)))
        }
        _ => quote!(#ident),
    };
    let part = part.tokens();
    quote!(let #key = #part::give_partition(#key, #name, #value, #separator);)
}

/// `E::partitions(..)`, where the partition has a shard: one partition for each shard.
fn partitions_of(model: &Model<'_>, types: &EntityTypes<'_>) -> Option<TokenStream> {
    let is_shard = |part: &&Part<'_>| matches!(part.encoder, Encoder::Shard(_));
    let parts = &model.partition.parts;
    let Encoder::Shard(shards) = parts.iter().find(is_shard)?.encoder else { return None };
    let others = || parts.iter().filter(|part| !is_shard(part));
    let parameters = others().map(|part| {
        let (ident, ty) = (&part.ident, part.value_type());
        quote!(#ident: impl _orm::Value<#ty>)
    });
    let values = others().map(|part| {
        let (ident, ty) = (&part.ident, part.value_type());
        quote!(let #ident = _orm::Value::<#ty>::into_value(#ident);)
    });
    let all = all_shards(model, types);
    let method = types.partitions_fn(quote!(#(#parameters),*), quote!(#(#values)* #all));
    let docs = doc(format!(
        "The {shards} partitions `{}` that share a load, to be read by `Repo::list_many`.",
        model.partition.template.text
    ));
    Some(quote!(#docs #method))
}

/// The partitions of all shards, from the values of the other components.
fn all_shards(model: &Model<'_>, types: &EntityTypes<'_>) -> TokenStream {
    let (key, shard) = (&variable("key"), &variable("shard"));
    let start = start(model, key);
    let parts = model.partition.parts.iter().map(|part| {
        let Part { ident, name, separator, .. } = part;
        let value = if matches!(part.encoder, Encoder::Shard(_)) { shard } else { ident };
        let part = part.tokens();
        quote!(let #key = #part::give_one(&#value, #key, #name, #separator);)
    });
    let (partition, phantom) = (names::partition(model.entity), types.phantom_value());
    quote! {
        _orm::Shard::all()
            .map(|#shard| {
                #start
                #(#parts)*
                #partition(#key #phantom)
            })
            .collect()
    }
}

/// `EPartition::by_x()` for each row.
fn rows(model: &Model<'_>, types: &EntityTypes<'_>) -> TokenStream {
    let rows = model.rows().map(|(row, key)| {
        let (name, start) = (names::row(model.entity, row), &key.template.start);
        let first = types.row_in(&name, state(model, key, 0));
        let phantom = types.phantom_value();
        let docs = doc(format!("The rows {}: {}.", described(key), cost(class(key, 0))));
        let method = types.row_fn(&row.name, first, quote!(#name(self.0.row(#start) #phantom)));
        quote!(#docs #method)
    });
    rows.collect()
}

/// `Query` for the partition: the canonical rows in it.
fn query(model: &Model<'_>, types: &EntityTypes<'_>) -> TokenStream {
    let canonical = &model.entity.rows[model.canonical];
    let (method, row) = (&canonical.name, types.row(canonical));
    let body = quote!(_orm::KeyState::keys(self.#method().0));
    let of = (types.params(), &types.partition());
    types.query_impl(of, (row, quote!(_orm::class::Partition)), body)
}
