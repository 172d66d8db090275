//! The partition as a type: made by `E::partition(..)`, with a method for each row.

use crate::ast::{Encoder, Row};
use crate::expand::key::{read_instant, shard_of};
use crate::expand::row::state;
use crate::expand::sample::{class, cost, described};
use crate::expand::scope::{doc, hygienic};
use crate::expand::types::Types;
use crate::model::{Key, KeyedRow, Model, Part};
use crate::names;
use crate::tokens::*;

pub fn ty(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let docs = doc(format!(
        "One partition {}. As a query, its `{}` rows: {}.",
        described(&model.partition),
        model.entity.rows[model.canonical].name,
        cost(class(&model.rows[model.canonical].key, 0))
    ));
    let krate = &model.entity.krate;
    let key = quote!(#krate::query::PartitionKey);
    types.key_type(docs, &names::partition(types.input), types.params(), key, rows_span(model))
}

/// The span of the rows: an error about a method that a partition lacks lists them so.
fn rows_span(model: &Model<'_>) -> (Span, Span) {
    let span = |row: &Row| (row.name.span(), row.template.literal.span());
    let mut own = model.own_rows().map(|keyed| span(keyed.row));
    let ends = own.next().map(|first| (first, own.last().unwrap_or(first)));
    ends.map_or_else(|| (Span::call_site(), Span::call_site()), |((at, _), (_, end))| (at, end))
}

/// The functions of the entity that make partitions and keys.
pub fn makers(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let (own, ranges) = (own(model, types), ranges_of_time(model, types));
    let (eventual, uniques) = (eventual(model, types), uniques(model, types));
    types.items(&types.ty, quote!(#own #ranges #eventual #uniques))
}

/// What a partition offers: the keys of each row. As a `Query` itself, it reads its canonical rows.
pub fn keys(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let about = types.about(names::partition(types.input));
    let canonical = &model.entity.rows[model.canonical];
    let (method, row) = (&canonical.name, types.row(canonical));
    let (names, named) = named_rows(model, types).unzip();
    let rows = rows(model, types);
    let rows = types.items(types.partition(), quote!(#(#rows)* #named));
    quote!(_orm::partition!(#about, #row, #method); #rows #names)
}

/// `row()` where rows have names: a trait whose message lists them, and the method.
fn named_rows(model: &Model<'_>, types: &Types<'_>) -> Option<(TokenStream, TokenStream)> {
    let own = || model.own_rows().map(|keyed| keyed.row.name.unraw());
    let names: Vec<_> = own().map(|name| format!("`{name}`")).collect();
    let names = format!("its rows are {}", names.join(", "));
    let KeyedRow { row, key, .. } = &model.rows[model.canonical];
    let state = state(model, key, 0);
    let (vis, method) = (&types.input.vis, &row.name);
    let first = types.row_in(names::row(types.input, row), state);
    let tokens =
        (quote!(_orm::named_rows!(#names);), quote!(_orm::named_rows!(#vis #first, #method);));
    own().all(|name| name != "row").then_some(tokens)
}

/// `E::partition(..)`, which takes every component. With a shard, `E::partitions(..)` too: one partition for each.
fn own(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let partition = &model.partition;
    let docs = doc(format!(
        "The partition {}, whose rows can be asked for by key. Sends nothing.",
        described(partition)
    ));
    // Errors about its arguments show the template.
    let method = Ident::new("partition", partition.template.literal.span());
    let made = types.holding(&names::partition(types.input), hygienic!(key));
    let maker = Maker { model, types, partition, returned: types.partition(), made };
    let (one, all) = (maker.one(docs, &method), maker.all(format_ident!("partitions")));
    quote!(#one #all)
}

/// `E::by_x(..)` for each row in another partition: its keys in the partition of these components. Where that
/// has a shard, `E::by_x_partitions(..)` too.
fn eventual(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let rows = model.eventual().map(|(KeyedRow { row, key, .. }, partition)| {
        let docs = doc(format!(
            "The rows {} of the partition {}: {}.",
            described(key),
            described(partition),
            cost(class(key, 0))
        ));
        let (returned, made) = row_of(model, types, row, key, hygienic!(key));
        let maker = Maker { model, types, partition, returned, made };
        let all = maker.all(format_ident!("{}_partitions", row.name.unraw()));
        let one = maker.one(docs, &row.name);
        quote!(#one #all)
    });
    rows.collect()
}

/// The type of a row without components, and its value in that partition.
fn row_of(
    model: &Model<'_>,
    types: &Types<'_>,
    row: &Row,
    key: &Key<'_>,
    of: TokenStream,
) -> (TokenStream, TokenStream) {
    let (name, start) = (names::row(types.input, row), &key.template.start);
    let made = types.holding(&name, quote!(_orm::PartitionKey::row_key(&#of, #start)));
    (types.row_in(&name, state(model, key, 0)), made)
}

/// `E::unique_x(..)` for each `unique(x, across)`: the key of its guard.
fn uniques(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let uniques = model.entity.uniques.iter().zip(&model.guards);
    let methods =
        uniques.filter(|(unique, _)| unique.across.is_some()).map(|(unique, partition)| {
            let (name, entity) = (&unique.name, &types.ty);
            let method = format_ident!("unique_{name}", span = partition.template.literal.span());
            let docs = doc("The values that at most one entity has, for `Repo::load_unique`.");
            let returned = quote!(_orm::UniqueKey<#entity>);
            let made = hygienic!(_orm::UniqueKey::new(#name, key));
            Maker { model, types, partition, returned, made }.one(docs, &method)
        });
    methods.collect()
}

/// `E::by_x_in(range, ..)` for each row whose key starts with the instant that spreads its partitions.
fn ranges_of_time(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let rows = model.rows.iter().filter_map(|keyed| {
        let (row, [partition, key]) = (keyed.row, model.keys_of(keyed));
        let spread = partition.parts.iter().find(|part| part.encoder == Encoder::Spread);
        let at = spread.and_then(Part::field)?;
        let is_at = |part: &&Part<'_>| part.field().is_some_and(|own| own.name == at.name);
        let ranges = format_ident!("{}_in", key.parts.first().filter(is_at)?.ident.unraw());
        let docs = doc(format!(
            "The rows {} of a range of time: a query for each of its partitions, for `Repo::list_many`.",
            described(key)
        ));
        let (of, row_key) = row_of(model, types, row, key, hygienic!(key));
        let made = hygienic!(#row_key.#ranges(_orm::Clone::clone(&range)));
        let maker = Maker { model, types, partition, returned: quote!(_orm::Range<#of>), made };
        maker.for_each_shard(docs, format_ident!("{}_in", row.name.unraw()))
    });
    rows.collect()
}

/// What makes a value of a PartitionKey, the variable `key`.
struct Maker<'m> {
    model: &'m Model<'m>,
    types: &'m Types<'m>,
    partition: &'m Key<'m>,
    returned: TokenStream,
    made: TokenStream,
}

impl Maker<'_> {
    fn start(&self) -> TokenStream {
        let (name, start) = (self.types.name(), &self.partition.template.start);
        let escape = if self.model.entity.encode { quote!(Encode) } else { quote!(Reject) };
        hygienic!(let key = _orm::PartitionKey::new(#name, _orm::Escape::#escape, #start);)
    }

    /// A function from the components of the PartitionKey.
    fn one(&self, docs: TokenStream, method: &Ident) -> TokenStream {
        let Self { returned, made, .. } = self;
        let at = self.partition.template.literal.span();
        let parameters = self.partition.parts.iter().map(|part| {
            let (mut ident, ty) = (part.ident.clone(), part.value_type());
            ident.set_span(ident.span().located_at(at));
            quote_spanned!(at=> #ident: impl _orm::Value<#ty>)
        });
        let parts = self.partition.parts.iter().map(|part| {
            let (Part { ident, name, separator, .. }, of) = (part, part.tokens());
            let value = match part.origin().filter(|_| part.is_shard()) {
                Some((field, ty)) => {
                    shard_of(part, field, &quote!(&_orm::Value::<#ty>::into_value(#ident)))
                }
                None => quote!(#ident),
            };
            hygienic!(let key = #of::push_partition(key, #name, #value, #separator);)
        });
        let (vis, start) = (&self.types.input.vis, self.start());
        quote!(#docs #vis fn #method(#(#parameters),*) -> #returned { #start #(#parts)* #made })
    }

    /// A function from the other components than the shard, if there is one: a value for each shard.
    fn all(&self, method: Ident) -> Option<TokenStream> {
        let shards = self.partition.parts.iter().find_map(|part| match part.encoder {
            Encoder::Shard(shards) => Some(format!("The {shards} partitions")),
            _ => None,
        });
        let shards = shards.unwrap_or_else(|| "The 60 partitions of each day".to_owned());
        let text = &self.partition.template.text;
        let docs =
            doc(format!("{shards} `{text}` that share a load, to be read by `Repo::list_many`."));
        self.for_each_shard(docs, method)
    }

    /// As [`all`](Self::all). An instant that spreads the partitions is given as a range, the variable `range`.
    fn for_each_shard(&self, docs: TokenStream, method: Ident) -> Option<TokenStream> {
        let Self { returned, made, .. } = self;
        let over = self.partition.parts.iter().find(|part| part.is_shard())?;
        let spread = over.field().filter(|_| over.encoder == Encoder::Spread).map(read_instant);
        let given = self.partition.parts.iter().filter(|part| spread.is_some() || !part.is_shard());
        let given = given.map(|part| {
            let (ident, ty) = (&part.ident, part.value_type());
            if part.is_shard() {
                let value = hygienic!(let range = _orm::Bounded::<#ty>::into_bounded(#ident););
                return (quote!(#ident: impl _orm::Bounded<#ty>), value);
            }
            let value = quote!(let #ident = _orm::Value::<#ty>::into_value(#ident););
            (quote!(#ident: impl _orm::Value<#ty>), value)
        });
        let (parameters, values): (Vec<_>, Vec<_>) = given.unzip();
        let parts = self.partition.parts.iter().map(|part| {
            let (Part { ident, name, separator, .. }, of) = (part, part.tokens());
            let value = if part.is_shard() { hygienic!(shard) } else { quote!(#ident) };
            hygienic!(let key = #of::push_ref(&#value, key, #name, #separator);)
        });
        let (vis, start) = (&self.types.input.vis, self.start());
        let make = hygienic!(|shard| { #start #(#parts)* #made });
        let all = match spread {
            Some(read) => hygienic!(_orm::Spread::map_in(#read, &range, #make)),
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
}

/// `EPartition::by_x()` for each row.
fn rows(model: &Model<'_>, types: &Types<'_>) -> Vec<TokenStream> {
    let rows = model.own_rows().map(|KeyedRow { row, key, .. }| {
        let (first, made) = row_of(model, types, row, key, quote!(self.0));
        let (vis, method) = (&types.input.vis, &row.name);
        let docs = doc(format!("The rows {}: {}.", described(key), cost(class(key, 0))));
        quote!(#docs #vis fn #method(&self) -> #first { #made })
    });
    rows.collect()
}
