//! Code, from what the user wrote: an entity's parts in a file each, and the smaller derives.
//!
//! Invariant: no name of the code's own is taken for one of the user's, nor the other way round.
//! Implementations stand in a scope of their own ([`anonymous`]); variables beside paths of the
//! user's are [`hygienic`]; a variable that the user named keeps where its name came from, which may
//! be a `macro_rules!`.

/// `quote!`, for code whose variables meet no function of the user's that is called as one of them.
macro_rules! hygienic {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}

mod codec;
mod columns;
mod entity;
mod fields;
mod key_part;
pub mod names;
pub mod patch;
mod projection;
mod properties;
mod query;
mod sample;
#[cfg(test)]
mod tests;
mod union;

pub use key_part::key_part;
pub use projection::projection;
pub use properties::properties;
pub use union::union;

use crate::ast::{Entity, Row};
use crate::check;
use crate::errors::Errors;
use crate::fallback;
use crate::model::Model;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{DeriveInput, GenericParam, Generics, Meta};

/// `#[derive(TableEntity)]`.
pub fn entity(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let Some(parsed) = Entity::parse(input, &mut errors) else { return errors.into_tokens() };
    check::entity(&parsed, &mut errors);
    let model = Model::resolve(&parsed, &mut errors);
    if let Some(model) = &model {
        check::model(model, &mut errors);
    }
    let Some(model) = model.filter(|_| errors.is_empty()) else {
        let fallback = fallback::entity(&parsed);
        let errors = errors.into_tokens();
        return quote!(#errors #fallback);
    };
    let expansion = Expansion::of(&parsed);
    let types = [columns::types(&model, &expansion), query::types(&model, &expansion)];
    let patch = (patch::types(&model, &expansion), patch::impls(&model, &expansion));
    let impls = [
        entity::impls(&model, &expansion),
        codec::read_row(&model, &expansion),
        query::impls(&model, &expansion),
        fields::impls(&model, &expansion),
    ];
    let (patch, patch_impls) = patch;
    let body = anonymous(input, &parsed.krate, quote!(#(#impls)* #patch_impls));
    quote!(#(#types)* #patch #body)
}

/// Implementations, where names of theirs meet none of the user's.
pub fn anonymous(input: &DeriveInput, krate: &TokenStream, impls: impl ToTokens) -> TokenStream {
    let lints = lints(input);
    quote! {
        #lints
        #[allow(dead_code, deprecated, non_camel_case_types, non_snake_case, private_bounds)]
        #[allow(private_interfaces, unused_imports, unused_mut, unused_qualifications, unused_variables)]
        const _: () = {
            use #krate::__private as _orm;
            #impls
        };
    }
}

/// What the user allows of the type, allowed of those generated beside it.
pub fn lints(input: &DeriveInput) -> TokenStream {
    let attrs = input.attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::List(list) if list.path.is_ident("allow") || list.path.is_ident("expect") => {
            let lints = &list.tokens;
            Some(quote!(#[allow(#lints)]))
        }
        // They mention it.
        meta if meta.path().is_ident("deprecated") => Some(quote!(#[allow(deprecated)])),
        _ => None,
    });
    quote!(#(#attrs)*)
}

/// Generics in the forms that an expansion needs.
pub struct Expansion<'a> {
    generics: &'a Generics,
    /// Parameters with their bounds, without their defaults.
    params: Vec<TokenStream>,
    args: Vec<TokenStream>,
    /// The entity's type.
    pub ty: TokenStream,
    pub where_clause: TokenStream,
}

impl<'a> Expansion<'a> {
    pub fn of(entity: &'a Entity<'a>) -> Self {
        let DeriveInput { ident, generics, .. } = entity.input;
        let params = generics.params.iter().map(|param| {
            let mut param = param.clone();
            match &mut param {
                GenericParam::Type(param) => param.default = None,
                GenericParam::Const(param) => param.default = None,
                GenericParam::Lifetime(_) => {}
            }
            param.into_token_stream()
        });
        let args = generics.params.iter().map(|param| match param {
            GenericParam::Type(param) => param.ident.to_token_stream(),
            GenericParam::Const(param) => param.ident.to_token_stream(),
            GenericParam::Lifetime(param) => param.lifetime.to_token_stream(),
        });
        let (_, ty_generics, where_clause) = generics.split_for_impl();
        Self {
            generics,
            params: params.collect(),
            args: args.collect(),
            ty: quote!(#ident #ty_generics),
            where_clause: where_clause.to_token_stream(),
        }
    }

    pub fn is_generic(&self) -> bool {
        !self.generics.params.is_empty()
    }

    /// `<..>` behind `impl` or a type's own name: the entity's parameters.
    pub fn params(&self) -> TokenStream {
        self.params_and(TokenStream::new())
    }

    /// The entity's parameters, then `more`.
    pub fn params_and(&self, more: TokenStream) -> TokenStream {
        list(&self.params, more)
    }

    /// `<..>` behind a type that is used: the entity's arguments.
    pub fn args(&self) -> TokenStream {
        self.args_and(TokenStream::new())
    }

    /// The entity's arguments, then `more`.
    pub fn args_and(&self, more: TokenStream) -> TokenStream {
        list(&self.args, more)
    }

    /// A row's type in its first state.
    pub fn row(&self, entity: &Entity<'_>, row: &Row) -> TokenStream {
        self.row_in(entity, row, TokenStream::new())
    }

    /// A row's type in that state.
    pub fn row_in(&self, entity: &Entity<'_>, row: &Row, state: TokenStream) -> TokenStream {
        let (name, args) = (names::row(entity, row), self.args_and(state));
        quote!(#name #args)
    }

    /// A field that mentions the entity's parameters, for types of which no other field does.
    pub fn phantom(&self) -> Option<TokenStream> {
        let ty = &self.ty;
        self.is_generic().then(|| quote!(::core::marker::PhantomData<fn() -> #ty>))
    }

    /// The value of that field.
    pub fn phantom_value(&self) -> Option<TokenStream> {
        self.is_generic().then(|| quote!(, _orm::PhantomData))
    }
}

fn list(own: &[TokenStream], more: TokenStream) -> TokenStream {
    if own.is_empty() && more.is_empty() { more } else { quote!(<#(#own,)* #more>) }
}

/// Where errors about [`hygienic`] code show the user's; lints still see it as generated.
pub fn located(at: impl Spanned) -> Span {
    Span::mixed_site().located_at(at.span())
}

/// The tokens, as if they stood there; those in parentheses keep their variables.
pub fn relocated(tokens: impl ToTokens, at: Span) -> TokenStream {
    tokens
        .into_token_stream()
        .into_iter()
        .map(|mut token| {
            token.set_span(at);
            token
        })
        .collect()
}

/// A line of documentation.
pub fn doc(text: impl AsRef<str>) -> TokenStream {
    let text = format!(" {}", text.as_ref());
    quote!(#[doc = #text])
}
