//! Each row as a type: a key that is built from left to right, with methods for each component.

use crate::ast::{Encoder, Row};
use crate::expand::columns;
use crate::expand::sample::{self, ROW_RANGE_QUERY, class, cost, described};
use crate::expand::scope::doc;
use crate::expand::types::Types;
use crate::kind::Kind;
use crate::model::{Key, KeyedRow, Model, Part, Width};
use crate::names;
use crate::tokens::*;
use std::collections::BTreeSet;

pub fn row_types(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let rows = model.rows.iter().map(|KeyedRow { row, key, .. }| {
        let copy = if row.is_full() { "full copies" } else { "partial copies" };
        let docs = doc(format!(
            "The rows `{}` of one partition, {}: {copy}. As a query, those with the components given.",
            row.name,
            described(key)
        ));
        let (krate, name) = (&model.entity.krate, names::row(types.input, row));
        let (params, inner) =
            (types.params_and(quote!(__S = ())), quote!(#krate::query::RowKey<__S>));
        let at = key.template.literal.span();
        types.key_type(docs, &name, params, inner, (at, at))
    });
    rows.collect()
}

/// A type for each component. The type of an incomplete key names the component it needs next.
pub fn component_types(model: &Model<'_>) -> Option<TokenStream> {
    let (vis, module) = (&model.entity.input.vis, names::components(model.entity.input));
    let components: BTreeSet<_> =
        model.rows.iter().flat_map(|row| &row.key.parts).map(|part| &part.ident).collect();
    (!components.is_empty()).then(|| {
        quote! {
            #[doc(hidden)]
            #[allow(missing_debug_implementations, non_camel_case_types, non_snake_case, unreachable_pub)]
            #vis mod #module { #(pub enum #components {})* }
        }
    })
}

/// The state of a key whose first `given` components are given.
pub fn state(model: &Model<'_>, key: &Key<'_>, given: usize) -> TokenStream {
    match key.parts.get(given) {
        None => quote!(_orm::Complete),
        Some(Part { ident, .. }) if given == 0 && key.is_open() => {
            let module = names::components(model.entity.input);
            quote!(_orm::Open<#module::#ident>)
        }
        Some(Part { ident, .. }) => needs(ident).into_token_stream(),
    }
}

/// The short name of the state of a key that needs this component next. No parameter of the impls
/// that use it has such a name.
fn needs(component: &Ident) -> Ident {
    format_ident!("__{}", component.unraw())
}

/// Those short names. An import of the components' module would be ambiguous next to a glob import of
/// another module of that name.
pub fn states(model: &Model<'_>) -> TokenStream {
    let module = names::components(model.entity.input);
    let needed: BTreeSet<_> = model
        .rows
        .iter()
        .flat_map(|KeyedRow { key, .. }| key.parts.iter().skip(usize::from(key.is_open())))
        .map(|part| &part.ident)
        .collect();
    let state = |component: &Ident| {
        let name = needs(component);
        quote!(type #name = _orm::Needs<#module::#component>;)
    };
    needed.into_iter().map(state).collect()
}

pub fn impls(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let rows = model.rows.iter().enumerate().map(|(at, KeyedRow { row, key, index, .. })| {
        let row_type = &names::row(types.input, row);
        let steps = key.parts.iter().enumerate();
        let steps = steps.map(|(at, part)| Step { model, types, row_type, key, at, part }.items());
        let below = (at == model.canonical).then(|| and_below(model, types, row, key));
        let traits = traits(model, types, *index, row);
        quote!(#(#steps)* #below #traits)
    });
    rows.collect()
}

/// The traits of one row. A full one stores every field.
fn traits(model: &Model<'_>, types: &Types<'_>, index: usize, row: &Row) -> TokenStream {
    let name = names::row(types.input, row);
    let (this, first, ty) = (types.row_in(&name, quote!(__S)), types.row(row), &types.ty);
    let columns = types.with_args(names::row_columns(types.input, row));
    let (index, value) = (Literal::usize_unsuffixed(index), columns::value(model, types, row));
    let body = quote! {
        type Entity = #ty;
        type Columns = #columns;
        const INDEX: _orm::usize = #index;
        const COLUMNS: Self::Columns = #value;
    };
    let implement = |params, what, this: &TokenStream, body| {
        types.implement_for(types.params_and(params), what, this, body)
    };
    let traits = implement(quote!(__S), quote!(_orm::Row), &this, body);
    let full = row.is_full().then(|| {
        let (from_row, stores) = (quote!(_orm::FromRow<#this>), quote!(_orm::Stores<_ID>));
        let from_row = implement(quote!(__S), from_row, ty, TokenStream::new());
        let params = quote!(__S, const _ID: _orm::u64);
        let stores = implement(params, stores, &this, TokenStream::new());
        quote!(#[diagnostic::do_not_recommend] #from_row #stores)
    });
    let (own, bounds, name) = (&types.params, &types.where_clause, name.to_string());
    quote!(_orm::row!([#own] #this, [#bounds], #name, #first); #full #traits)
}

/// `and_below()` of a complete canonical key, unless the derive knows that no row lies below it.
fn and_below(
    model: &Model<'_>,
    types: &Types<'_>,
    row: &Row,
    key: &Key<'_>,
) -> Option<TokenStream> {
    let last = key.parts.last()?;
    let has_end = match last.width(model.entity.encode) {
        _ if !last.last => true,
        Width::Fixed(_) | Width::Unknown => true,
        Width::UpTo(_) | Width::Unbounded => matches!(last.kind(), Kind::Bool | Kind::Char),
    };
    let (ty, encoder) = (last.value_type(), last.encoder.tokens());
    // The higher-ranked bound makes it a condition.
    let bound = last.last.then(|| quote!(where for<'__any> #ty: _orm::PrefixFree<#encoder>));
    let docs = doc(format!(
        "This row and all rows of the partition whose keys continue `{}`, for a union: {}.",
        sample::whole(key),
        cost(ROW_RANGE_QUERY)
    ));
    let vis = &types.input.vis;
    let this = types.row_in(names::row(types.input, row), quote!(_orm::Complete));
    let below = quote! {
        #docs
        #vis fn and_below(self) -> _orm::Below<Self> #bound { self.0.below() }
    };
    has_end.then(|| types.items(this, below))
}

/// A key that needs the component `part` next, the one with number `at`.
struct Step<'m> {
    model: &'m Model<'m>,
    types: &'m Types<'m>,
    row_type: &'m Ident,
    key: &'m Key<'m>,
    at: usize,
    part: &'m Part<'m>,
}

impl Step<'_> {
    fn items(&self) -> TokenStream {
        let this = self.types.row_in(self.row_type, state(self.model, self.key, self.at));
        let (give, range) = (self.give(), self.range());
        let prefix = self.part.kind().may_be_text().then(|| self.prefix());
        self.types.items(this, quote!(#give #range #prefix))
    }

    fn about(&self, gives: &str, sample: String, class: &str) -> TokenStream {
        let (name, template, cost) = (&self.part.name, &self.key.template.text, cost(class));
        doc(format!("Gives {gives} `{name}` of `{template}`, as in `{sample}`: {cost}."))
    }

    /// `component(value)`.
    fn give(&self) -> TokenStream {
        let (Self { types, key, part, row_type, .. }, given) = (self, self.at + 1);
        let Part { ident, name, separator, .. } = part;
        let (ty, part_of) = (part.value_type(), part.tokens());
        let pushed = quote!(#part_of::push(self.0, #name, #ident, #separator));
        let made = types.holding(row_type, pushed);
        let next = types.row_in(row_type, state(self.model, key, given));
        let docs = self.about("the", sample::given(key, given), class(key, given));
        let value = quote_spanned!(ident.span()=> impl _orm::Value<#ty>);
        let vis = &types.input.vis;
        quote! {
            #docs
            #vis fn #ident(self, #ident: #value) -> #next { #made }
        }
    }

    /// `component_in(range)`.
    fn range(&self) -> TokenStream {
        let (name, part_of) = (&self.part.name, self.part.tokens());
        // Text sorts at the end of a key, unless escapes change its order.
        let sorts_last = self.part.last && !self.model.entity.encode;
        let bound = if sorts_last { quote!(LastRangeOf) } else { quote!(RangeOf) };
        let body = quote!(#part_of::range(self.0, #name, range));
        self.last(("in", "range", "a range of"), bound, body)
    }

    /// `component_starts_with(prefix)`.
    fn prefix(&self) -> TokenStream {
        let Part { name, separator, encoder, .. } = self.part;
        let (ty, encoder) = (self.part.value_type(), encoder.tokens());
        let body = quote!(self.0.starts_with::<#encoder, #ty, _>(#name, prefix, #separator));
        self.last(("starts_with", "prefix", "the start of"), quote!(PrefixOf), body)
    }

    /// A method that ends a key. Its argument names the component's encoder, if that is not `Plain`.
    fn last(
        &self,
        (ending, parameter, gives): (&str, &str, &str),
        bound: TokenStream,
        body: TokenStream,
    ) -> TokenStream {
        let Part { ident, encoder, .. } = self.part;
        let (ty, tokens) = (self.part.value_type(), encoder.tokens());
        let by = (*encoder != Encoder::Plain).then(|| quote!(, #tokens));
        let values = quote_spanned!(ident.span()=> impl _orm::#bound<#ty #by>);
        let docs = self.about(gives, sample::through(self.key, self.at), ROW_RANGE_QUERY);
        let (vis, parameter) = (&self.types.input.vis, format_ident!("{parameter}"));
        let method = format_ident!("{}_{ending}", ident.unraw());
        quote! {
            #docs
            #vis fn #method(self, #parameter: #values) -> _orm::Range<Self> { #body }
        }
    }
}
