//! An entity's type and the types generated for it, as generated code names them.

use crate::ast::{Entity, Row};
use crate::names;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{DeriveInput, GenericParam};

/// The entity's generics in every form that generated code needs.
pub struct EntityTypes<'a> {
    pub entity: &'a Entity<'a>,
    /// Parameters with their bounds, without their defaults.
    params: Vec<TokenStream>,
    args: Vec<TokenStream>,
    /// The entity's own type.
    pub ty: TokenStream,
    pub where_clause: TokenStream,
}

impl<'a> EntityTypes<'a> {
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
            entity,
            params: params.collect(),
            args: args.collect(),
            ty: quote!(#ident #ty_generics),
            where_clause: where_clause.to_token_stream(),
        }
    }

    pub fn is_generic(&self) -> bool {
        !self.params.is_empty()
    }

    /// `<..>` after `impl` or in a declaration: the entity's parameters.
    pub fn params(&self) -> TokenStream {
        self.params_and(TokenStream::new())
    }

    /// The entity's parameters, then `more`.
    pub fn params_and(&self, more: TokenStream) -> TokenStream {
        list(&self.params, more)
    }

    /// The entity's arguments, then `more`.
    fn args_and(&self, more: TokenStream) -> TokenStream {
        list(&self.args, more)
    }

    /// A generated type with the entity's arguments.
    pub fn with_args(&self, name: impl ToTokens) -> TokenStream {
        let args = self.args_and(TokenStream::new());
        quote!(#name #args)
    }

    pub fn partition(&self) -> TokenStream {
        self.with_args(names::partition(self.entity))
    }

    pub fn patch(&self) -> TokenStream {
        self.with_args(names::patch(self.entity))
    }

    /// A row's type in its first state.
    pub fn row(&self, row: &Row) -> TokenStream {
        self.with_args(names::row(self.entity, row))
    }

    /// A row's type in that state.
    pub fn row_in(&self, name: impl ToTokens, state: TokenStream) -> TokenStream {
        let args = self.args_and(state);
        quote!(#name #args)
    }

    /// A field that mentions the entity's parameters, for types in which no other field does.
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
