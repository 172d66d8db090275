//! The partition as a type: made by `E::partition(..)`, with a method for each row.

use crate::ast::Row;
use crate::component::Encoder;
use crate::expand::key::{escape, shard_of};
use crate::expand::row::{query, state};
use crate::expand::sample::{class, cost, described};
use crate::expand::scope::doc;
use crate::expand::types::Types;
use crate::model::{Key, Model, Part};
use crate::names;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

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
    let own = &model.entity.rows[..model.own_rows()];
    let ends = own.first().map(span).zip(own.last().map(span));
    ends.map_or_else(|| (Span::call_site(), Span::call_site()), |((at, _), (_, end))| (at, end))
}

pub fn impls(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let (ty, params, where_clause) = (&types.ty, types.params(), &types.where_clause);
    let make = [partition_of(model, types)].into_iter().chain(partitions_of(model, types));
    let make = make.chain(foreign(model, types));
    let keys = keys(model, types);
    quote! {
        impl #params #ty #where_clause { #(#make)* }
        #keys
    }
}

/// What a partition offers: the keys of each row. As a `Query` itself, it reads its canonical rows.
pub fn keys(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let (params, where_clause) = (types.params(), &types.where_clause);
    let (partition, rows) = (types.partition(), rows(model, types));
    let canonical = &model.entity.rows[model.canonical];
    let (method, row) = (&canonical.name, types.row(canonical));
    let body = quote!(_orm::KeyState::keys(self.#method().0));
    let class = quote!(_orm::class::Partition);
    let query = query(types, (types.params(), &partition), (row, class), body);
    quote! {
        impl #params #partition #where_clause { #rows }
        #query
    }
}

/// The variable for a key. No component's name collides with it.
fn variable(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The statement that starts a PartitionKey.
fn start(model: &Model<'_>, types: &Types<'_>, partition: &Key<'_>, key: &Ident) -> TokenStream {
    let (name, escape, start) = (types.name(), escape(model), &partition.template.start);
    quote!(let #key = _orm::PartitionKey::new(#name, #escape, #start);)
}

/// `E::partition(..)`, which takes every component.
fn partition_of(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let (key, partition) = (variable("key"), &model.partition);
    let docs = doc(format!(
        "The partition {}, whose rows can be asked for by key. Sends nothing.",
        described(partition)
    ));
    // Errors about its arguments show the template.
    let method = Ident::new("partition", partition.template.literal.span());
    let (name, phantom) = (names::partition(types.input), types.phantom_value());
    let made = (types.partition(), quote!(#name(#key #phantom)));
    from_partition(model, types, partition, (docs, &method), made)
}

/// `E::by_x(..)` for each row in another partition: its keys in the partition of these components.
fn foreign(model: &Model<'_>, types: &Types<'_>) -> Vec<TokenStream> {
    let rows = model.foreign().map(|(row, partition, key)| {
        let (name, start) = (names::row(types.input, row), &key.template.start);
        let docs = doc(format!(
            "The rows {} of the partition {}: {}.",
            described(key),
            described(partition),
            cost(class(key, 0))
        ));
        let (at, phantom) = (variable("key"), types.phantom_value());
        let value = quote!(#name(_orm::PartitionKey::row_key(&#at, #start) #phantom));
        let first = types.row_in(&name, state(model, key, 0));
        from_partition(model, types, partition, (docs, &row.name), (first, value))
    });
    rows.collect()
}

/// A function from the components of a PartitionKey, which makes a `value` of the variable `key`.
fn from_partition(
    model: &Model<'_>,
    types: &Types<'_>,
    partition: &Key<'_>,
    (docs, method): (TokenStream, &Ident),
    (returned, value): (TokenStream, TokenStream),
) -> TokenStream {
    let (key, at) = (&variable("key"), partition.template.literal.span());
    let parameters = partition.parts.iter().map(|part| {
        let (mut ident, ty) = (part.ident.clone(), part.value_type());
        ident.set_span(ident.span().located_at(at));
        quote_spanned!(at=> #ident: impl _orm::Value<#ty>)
    });
    let (vis, start) = (&types.input.vis, start(model, types, partition, key));
    let parts = partition.parts.iter().map(|part| give(part, key));
    quote! {
        #docs
        #vis fn #method(#(#parameters),*) -> #returned { #start #(#parts)* #value }
    }
}

/// The statement that appends a component to a PartitionKey.
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
    let start = start(model, types, &model.partition, key);
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
    let rows = model.rows().take(model.own_rows()).map(|(row, key)| {
        let (name, start) = (names::row(types.input, row), &key.template.start);
        let first = types.row_in(&name, state(model, key, 0));
        let (vis, method, phantom) = (&types.input.vis, &row.name, types.phantom_value());
        let docs = doc(format!("The rows {}: {}.", described(key), cost(class(key, 0))));
        quote!(#docs #vis fn #method(&self) -> #first { #name(_orm::PartitionKey::row_key(&self.0, #start) #phantom) })
    });
    rows.collect()
}
