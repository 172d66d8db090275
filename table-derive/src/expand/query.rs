//! The partition and each row as types: a key given from left to right, one method a component.

use super::entity::partition_fn;
use super::{Expansion, columns, doc, lints, names, relocated, sample};
use crate::ast::Row;
use crate::model::{Encoder, Key, Model, Part};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use std::collections::BTreeSet;
use syn::ext::IdentExt;

pub fn types(model: &Model<'_>, expansion: &Expansion<'_>) -> TokenStream {
    let entity = model.entity;
    let (krate, vis, where_clause) = (&entity.krate, &entity.input.vis, &expansion.where_clause);
    let params = expansion.params();
    let at = model.partition.template.literal.span();
    let partition = relocated(names::partition(entity), at);
    let own_vis = relocated(vis, at);
    let canonical = &entity.rows[model.canonical].name;
    let about_partition = doc(format!(
        "One partition {}. As a query, its `{canonical}` rows: {}.",
        such(&model.partition),
        cost(PARTITION)
    ));
    let phantom = expansion.phantom().map(|phantom| quote!(, #phantom));
    let components = component_types(model);
    let lints = &lints(entity.input);
    let rows = model.rows().map(|(row, key)| {
        // Errors about a query show the row that the user declared.
        let at = key.template.literal.span();
        let (vis, name) = (relocated(vis, at), relocated(names::row(entity, row), at));
        let params = expansion.params_and(quote!(__S = ()));
        let copy = if row.is_full() { "full copies" } else { "partial copies" };
        let docs = doc(format!(
            "The rows `{}` of one partition, {}: {copy}. As a query, those with the components given.",
            row.name,
            such(key)
        ));
        quote_spanned! {at=>
            #docs
            #lints
            #[must_use]
            #[derive(::core::fmt::Debug, ::core::clone::Clone)]
            #vis struct #name #params (#krate::query::RowKey<__S> #phantom) #where_clause;
        }
    });
    let partition = quote_spanned! {at=>
        #about_partition
        #lints
        #[must_use]
        #[derive(::core::fmt::Debug, ::core::clone::Clone)]
        #own_vis struct #partition #params (#krate::query::PartitionKey #phantom) #where_clause;
    };
    quote! {
        #partition
        #(#rows)*
        #components
    }
}

/// A key in documentation.
pub fn such(key: &Key<'_>) -> String {
    format!("`{}`, such as `{}`", key.template.text, sample::whole(key))
}

/// A query in documentation.
fn cost(class: &str) -> String {
    match class {
        POINT => format!("a {class}, one request for one row"),
        _ => format!("a {class}, in requests of up to 1,000 rows"),
    }
}

const PARTITION: &str = "partition query";
const POINT: &str = "point query";
const ROW_RANGE: &str = "row range query";

/// The class of a key of which so many components are given.
fn class(key: &Key<'_>, given: usize) -> &'static str {
    match given {
        _ if given == key.parts.len() => POINT,
        0 if key.template.start.is_empty() => PARTITION,
        _ => ROW_RANGE,
    }
}

/// A type for each component, by which the type of an incomplete key says what it needs next.
fn component_types(model: &Model<'_>) -> Option<TokenStream> {
    let (vis, module) = (&model.entity.input.vis, names::components(model.entity));
    let components: BTreeSet<_> =
        model.rows.iter().flat_map(|key| &key.parts).map(|part| &part.ident).collect();
    model.has_components().then(|| {
        quote! {
            #[doc(hidden)]
            #[allow(missing_debug_implementations, non_camel_case_types, non_snake_case, unreachable_pub)]
            #vis mod #module { #(pub enum #components {})* }
        }
    })
}

/// The state of a key of which so many components are given.
fn state(model: &Model<'_>, key: &Key<'_>, given: usize) -> TokenStream {
    match key.parts.get(given) {
        None => quote!(_orm::Complete),
        Some(Part { ident, .. }) if given == 0 && key.template.start.is_empty() => {
            let module = names::components(model.entity);
            quote!(_orm::Open<#module::#ident>)
        }
        Some(Part { ident, .. }) => needs(ident).into_token_stream(),
    }
}

/// The short name of the state of a key that needs this component next. In the impls that use it,
/// parameters have other names.
fn needs(component: &Ident) -> Ident {
    format_ident!("__{}", component.unraw())
}

/// Those names. An import of the components' module would be ambiguous where a glob import brings
/// another of that name.
fn states(model: &Model<'_>) -> TokenStream {
    let module = names::components(model.entity);
    let needed: BTreeSet<_> = model
        .rows
        .iter()
        .flat_map(|key| key.parts.iter().skip(usize::from(key.template.start.is_empty())))
        .map(|part| &part.ident)
        .collect();
    needed
        .into_iter()
        .map(|component| {
            let name = needs(component);
            quote!(type #name = _orm::Needs<#module::#component>;)
        })
        .collect()
}

pub fn impls(model: &Model<'_>, expansion: &Expansion<'_>) -> TokenStream {
    let partition_fn = partition_fn(model, expansion);
    let partition = partition(model, expansion);
    let rows = model.rows().enumerate().map(|(index, (row, key))| {
        let components = components(model, expansion, row, key);
        let query = query(model, expansion, index, row);
        quote!(#components #query)
    });
    let states = states(model);
    quote!(#states #partition_fn #partition #(#rows)*)
}

fn partition(model: &Model<'_>, expansion: &Expansion<'_>) -> TokenStream {
    let entity = model.entity;
    let (vis, where_clause) = (&entity.input.vis, &expansion.where_clause);
    let (params, args) = (expansion.params(), expansion.args());
    let partition = names::partition(entity);
    let methods = model.rows().map(|(row, key)| {
        let (method, name) = (&row.name, names::row(entity, row));
        let start = &key.template.start;
        let first = expansion.row_in(entity, row, state(model, key, 0));
        let phantom = expansion.phantom_value();
        let doc = doc(format!("The rows {}: {}.", such(key), cost(class(key, 0))));
        quote! {
            #doc
            #vis fn #method(&self) -> #first {
                #name(self.0.row(#start) #phantom)
            }
        }
    });
    let canonical = &entity.rows[model.canonical];
    let (method, row) = (&canonical.name, expansion.row(entity, canonical));
    quote! {
        impl #params #partition #args #where_clause {
            #(#methods)*
        }
        #[diagnostic::do_not_recommend]
        impl #params _orm::Query for #partition #args #where_clause {
            type Row = #row;
            type Class = _orm::class::Partition;
            fn into_keys(self) -> _orm::KeyResult<_orm::KeyRange> {
                _orm::KeyState::keys(self.#method().0)
            }
        }
    }
}

/// `Query` and `Row` of one row.
fn query(model: &Model<'_>, expansion: &Expansion<'_>, index: usize, row: &Row) -> TokenStream {
    let entity = model.entity;
    let Expansion { ty, where_clause, .. } = expansion;
    let params = expansion.params_and(quote!(__S: _orm::KeyState));
    let any_params = expansion.params_and(quote!(__S));
    let this = expansion.row_in(entity, row, quote!(__S));
    let first = expansion.row(entity, row);
    let index = Literal::usize_unsuffixed(index);
    let (columns, value) = (columns::name(entity, row), columns::value(model, expansion, row));
    let args = expansion.args();
    quote! {
        #[diagnostic::do_not_recommend]
        impl #params _orm::Query for #this #where_clause {
            type Row = #first;
            type Class = __S::Class;
            fn into_keys(self) -> _orm::KeyResult<_orm::KeyRange> {
                __S::keys(self.0)
            }
        }
        impl #any_params _orm::Row for #this #where_clause {
            type Entity = #ty;
            type Columns = #columns #args;
            const INDEX: usize = #index;
            const COLUMNS: Self::Columns = #value;
        }
    }
}

/// The methods of each component, in the state in which it comes next.
fn components(
    model: &Model<'_>,
    expansion: &Expansion<'_>,
    row: &Row,
    key: &Key<'_>,
) -> TokenStream {
    let (entity, where_clause) = (model.entity, &expansion.where_clause);
    let params = expansion.params();
    key.parts
        .iter()
        .enumerate()
        .map(|(given, part)| {
            let this = expansion.row_in(entity, row, state(model, key, given));
            let methods = methods(model, expansion, row, key, given, part);
            quote!(impl #params #this #where_clause { #methods })
        })
        .collect()
}

fn methods(
    model: &Model<'_>,
    expansion: &Expansion<'_>,
    row: &Row,
    key: &Key<'_>,
    given: usize,
    part: &Part<'_>,
) -> TokenStream {
    let entity = model.entity;
    let vis = &entity.input.vis;
    let Part { ident, name, then, .. } = part;
    let (ty, part_of) = (part.value_type(), part.tokens());
    let encoder = part.encoder.tokens();
    // The plain encoder is the traits' default.
    let by = (part.encoder != Encoder::Plain).then(|| quote!(, #encoder));
    let make = names::row(entity, row);
    let at = ident.span();
    let next = expansion.row_in(entity, row, state(model, key, given + 1));
    let phantom = expansion.phantom_value();
    let about = |gives: &str, sample: String, class: &str| {
        let template = &key.template.text;
        doc(format!("Gives {gives} `{name}` of `{template}`, as in `{sample}`: {}.", cost(class)))
    };
    let equal = about("the", sample::given(key, given + 1), class(key, given + 1));
    let range = {
        // Escapes change the order of text, which otherwise sorts at the end of a key.
        let bound = if part.last && !entity.encode { quote!(LastRangeOf) } else { quote!(RangeOf) };
        let method = format_ident!("{}_in", ident.unraw());
        let docs = about("a range of", sample::through(key, given), ROW_RANGE);
        let range = quote_spanned!(at=> impl _orm::#bound<#ty #by>);
        quote! {
            #docs
            #vis fn #method(self, range: #range) -> _orm::Range<Self> {
                #part_of::range(self.0, #name, range)
            }
        }
    };
    let starts_with = part.kind().may_be_text().then(|| {
        let method = format_ident!("{}_starts_with", ident.unraw());
        let docs = about("the start of", sample::through(key, given), ROW_RANGE);
        let prefix = quote_spanned!(at=> impl _orm::PrefixOf<#ty #by>);
        quote! {
            #docs
            #vis fn #method(self, prefix: #prefix) -> _orm::Range<Self> {
                self.0.starts_with::<#encoder, #ty, _>(#name, prefix, #then)
            }
        }
    });
    let value = quote_spanned!(at=> impl _orm::Value<#ty>);
    quote! {
        #equal
        #vis fn #ident(self, #ident: #value) -> #next {
            #make(#part_of::push(self.0, #name, #ident, #then) #phantom)
        }
        #range
        #starts_with
    }
}
