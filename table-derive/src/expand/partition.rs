//! The partition as a type: made by `E::partition(..)`, with a method for each row.

use crate::ast::{Encoder, Row};
use crate::expand::key::{read_instant, shard_of};
use crate::expand::row::state;
use crate::expand::sample::{class, cost, described};
use crate::expand::scope::doc;
use crate::expand::types::Types;
use crate::model::{Key, Model, Part};
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
    let own = &model.entity.rows[..model.own_rows()];
    let ends = own.first().map(span).zip(own.last().map(span));
    ends.map_or_else(|| (Span::call_site(), Span::call_site()), |((at, _), (_, end))| (at, end))
}

pub fn impls(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let (partition, partitions) = (partition_of(model, types), partitions_of(model, types));
    let eventual = eventual(model, types).into_iter().chain(uniques(model, types));
    let ranges = ranges_of_time(model, types);
    let make = types.items(&types.ty, quote!(#partition #partitions #(#ranges)* #(#eventual)*));
    let keys = keys(model, types);
    quote!(#make #keys)
}

/// What a partition offers: the keys of each row. As a `Query` itself, it reads its canonical rows.
pub fn keys(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let partition = types.partition();
    let wrapper = types.about(TokenStream::new(), names::partition(types.input));
    let canonical = &model.entity.rows[model.canonical];
    let (method, row) = (&canonical.name, types.row(canonical));
    let body = quote! {
        type Row = #row;
        type Class = _orm::class::Partition;
        fn into_keys(self) -> _orm::KeyResult<_orm::KeyRange> {
            _orm::KeyState::keys(Self::#method(&self).0)
        }
    };
    let query = types.implement_for(types.params(), quote!(_orm::Query), &partition, body);
    let (names, method) = named_rows(model, types).unzip();
    let rows = rows(model, types);
    let rows = types.items(partition, quote!(#(#rows)* #method));
    quote!(_orm::wrapper!(#wrapper); #rows #names #[diagnostic::do_not_recommend] #query)
}

/// `row()` where rows have names: a trait whose message lists them, and the method.
fn named_rows(model: &Model<'_>, types: &Types<'_>) -> Option<(TokenStream, TokenStream)> {
    let (own, canonical) = (&model.entity.rows[..model.own_rows()], model.canonical);
    let names: Vec<_> = own.iter().map(|row| format!("`{}`", row.name.unraw())).collect();
    let names = format!("its rows are {}", names.join(", "));
    let (row, state) = (&own[canonical], state(model, &model.rows[canonical], 0));
    let (vis, method) = (&types.input.vis, &row.name);
    let first = types.row_in(names::row(types.input, row), state);
    let tokens =
        (quote!(_orm::named_rows!(#names);), quote!(_orm::named_rows!(#vis #first, #method);));
    own.iter().all(|row| row.name != "row").then_some(tokens)
}

/// The variable for a key. No component's name collides with it.
fn variable(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

fn start(model: &Model<'_>, types: &Types<'_>, partition: &Key<'_>, key: &Ident) -> TokenStream {
    let (name, start) = (types.name(), &partition.template.start);
    let escape = if model.entity.encode { quote!(Encode) } else { quote!(Reject) };
    quote!(let #key = _orm::PartitionKey::new(#name, _orm::Escape::#escape, #start);)
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
    let value = types.holding(&names::partition(types.input), quote!(#key));
    let made = (types.partition(), value);
    from_partition(model, types, partition, (docs, &method), made)
}

/// `E::by_x(..)` for each row in another partition: its keys in the partition of these components. Where that
/// has a shard, `E::by_x_partitions(..)` too.
fn eventual(model: &Model<'_>, types: &Types<'_>) -> Vec<TokenStream> {
    let rows = model.eventual().map(|(row, partition, key)| {
        let (name, start) = (names::row(types.input, row), &key.template.start);
        let docs = doc(format!(
            "The rows {} of the partition {}: {}.",
            described(key),
            described(partition),
            cost(class(key, 0))
        ));
        let at = variable("key");
        let value = types.holding(&name, quote!(_orm::PartitionKey::row_key(&#at, #start)));
        let made = (types.row_in(&name, state(model, key, 0)), value);
        let shards = format_ident!("{}_partitions", row.name.unraw());
        let all = (all_shards(partition), &shards);
        let shards = for_each_shard(model, types, partition, all, made.clone());
        let one = from_partition(model, types, partition, (docs, &row.name), made);
        quote!(#one #shards)
    });
    rows.collect()
}

/// `E::unique_x(..)` for each `unique(x, across)`: the key of its guard.
fn uniques<'m>(
    model: &'m Model<'_>,
    types: &'m Types<'_>,
) -> impl Iterator<Item = TokenStream> + 'm {
    let uniques = model.entity.uniques.iter().zip(&model.guards);
    uniques.filter(|(unique, _)| unique.across.is_some()).map(|(unique, key)| {
        let (name, entity, at) = (&unique.name, &types.ty, variable("key"));
        let method = format_ident!("unique_{name}", span = key.template.literal.span());
        let docs = doc("The values that at most one entity has, for `Repo::load_unique`.");
        let made = (quote!(_orm::UniqueKey<#entity>), quote!(_orm::UniqueKey::new(#name, #at)));
        from_partition(model, types, key, (docs, &method), made)
    })
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

fn give(part: &Part<'_>, key: &Ident) -> TokenStream {
    let Part { ident, name, separator, .. } = part;
    let value = match part.origin().filter(|_| part.is_shard()) {
        Some((field, ty)) => {
            shard_of(part, field, &quote!(&_orm::Value::<#ty>::into_value(#ident)))
        }
        None => quote!(#ident),
    };
    let part = part.tokens();
    quote!(let #key = #part::push_partition(#key, #name, #value, #separator);)
}

/// `E::partitions(..)`, where the partition has a shard: one partition for each shard.
fn partitions_of(model: &Model<'_>, types: &Types<'_>) -> Option<TokenStream> {
    let key = variable("key");
    let value = types.holding(&names::partition(types.input), quote!(#key));
    let made = (types.partition(), value);
    let about = (all_shards(&model.partition), &format_ident!("partitions"));
    for_each_shard(model, types, &model.partition, about, made)
}

fn all_shards(partition: &Key<'_>) -> TokenStream {
    let shards = partition.parts.iter().find_map(|part| match part.encoder {
        Encoder::Shard(shards) => Some(format!("The {shards} partitions")),
        _ => None,
    });
    let shards = shards.unwrap_or_else(|| "The 60 partitions of each day".to_owned());
    let text = &partition.template.text;
    doc(format!("{shards} `{text}` that share a load, to be read by `Repo::list_many`."))
}

/// `E::by_x_in(range, ..)` for each row whose key starts with the instant that spreads its partitions.
fn ranges_of_time(model: &Model<'_>, types: &Types<'_>) -> Vec<TokenStream> {
    let rows = model.rows().enumerate().filter_map(|(index, (row, key))| {
        let partition = model.partition_of(index);
        let spread = partition.parts.iter().find(|part| part.encoder == Encoder::Spread);
        let at = spread.and_then(Part::field)?;
        let is_at = |part: &&Part<'_>| part.field().is_some_and(|own| own.name == at.name);
        let ranges = format_ident!("{}_in", key.parts.first().filter(is_at)?.ident.unraw());
        let method = format_ident!("{}_in", row.name.unraw());
        let docs = doc(format!(
            "The rows {} of a range of time: a query for each of its partitions, for `Repo::list_many`.",
            described(key)
        ));
        let (name, start) = (names::row(types.input, row), &key.template.start);
        let (at, range) = (variable("key"), variable("range"));
        let row_key = types.holding(&name, quote!(_orm::PartitionKey::row_key(&#at, #start)));
        let value = quote!(#row_key.#ranges(_orm::Clone::clone(&#range)));
        let of = types.row_in(&name, state(model, key, 0));
        let made = (quote!(_orm::Range<#of>), value);
        for_each_shard(model, types, partition, (docs, &method), made)
    });
    rows.collect()
}

/// A function from the other components of a PartitionKey, and from the range of an instant that spreads it,
/// which makes a `value` of the variables `key` and `range` for each shard, if the key has one.
fn for_each_shard(
    model: &Model<'_>,
    types: &Types<'_>,
    partition: &Key<'_>,
    (docs, method): (TokenStream, &Ident),
    (returned, value): (TokenStream, TokenStream),
) -> Option<TokenStream> {
    let over = partition.parts.iter().find(|part| part.is_shard())?;
    let spread = over.field().filter(|_| over.encoder == Encoder::Spread).map(read_instant);
    let (key, shard, range) = (&variable("key"), &variable("shard"), &variable("range"));
    let given =
        partition.parts.iter().filter(|part| spread.is_some() || !part.is_shard()).map(|part| {
            let (ident, ty) = (&part.ident, part.value_type());
            if part.is_shard() {
                let value = quote!(let #range = _orm::Bounded::<#ty>::into_bounded(#ident););
                return (quote!(#ident: impl _orm::Bounded<#ty>), value);
            }
            let value = quote!(let #ident = _orm::Value::<#ty>::into_value(#ident););
            (quote!(#ident: impl _orm::Value<#ty>), value)
        });
    let (parameters, values): (Vec<_>, Vec<_>) = given.unzip();
    let (vis, start) = (&types.input.vis, start(model, types, partition, key));
    let parts = partition.parts.iter().map(|part| {
        let Part { ident, name, separator, .. } = part;
        let value = if part.is_shard() { shard } else { ident };
        let part = part.tokens();
        quote!(let #key = #part::push_ref(&#value, #key, #name, #separator);)
    });
    let make = quote!(|#shard| { #start #(#parts)* #value });
    let all = match spread {
        Some(read) => quote!(_orm::Spread::map_in(#read, &#range, #make)),
        None => quote!(_orm::Shard::map_all(#make)),
    };
    Some(quote! {
        #docs
        #vis fn #method(#(#parameters),*) -> _orm::Vec<#returned> {
            #(#values)*
            #all
        }
    })
}

/// `EPartition::by_x()` for each row.
fn rows(model: &Model<'_>, types: &Types<'_>) -> Vec<TokenStream> {
    let rows = model.rows().take(model.own_rows()).map(|(row, key)| {
        let (name, start) = (names::row(types.input, row), &key.template.start);
        let first = types.row_in(&name, state(model, key, 0));
        let (vis, method) = (&types.input.vis, &row.name);
        let docs = doc(format!("The rows {}: {}.", described(key), cost(class(key, 0))));
        let made = types.holding(&name, quote!(_orm::PartitionKey::row_key(&self.0, #start)));
        quote!(#docs #vis fn #method(&self) -> #first { #made })
    });
    rows.collect()
}
