//! A type and the types generated for it, as generated code names them.

use crate::ast::Row;
use crate::expand::scope::{lints, relocated};
use crate::names;
use crate::tokens::*;

/// A type's generics in every form that generated code needs.
pub struct Types<'a> {
    pub input: &'a DeriveInput,
    /// Parameters with their bounds, without their defaults, and a comma after each.
    pub params: TokenStream,
    args: TokenStream,
    pub ty: TokenStream,
    pub where_clause: TokenStream,
}

impl<'a> Types<'a> {
    pub fn of(input: &'a DeriveInput) -> Self {
        let DeriveInput { ident, generics, .. } = input;
        let mut listed = generics.clone();
        if !listed.params.empty_or_trailing() {
            listed.params.push_punct(Default::default());
        }
        let (params, args, where_clause) = listed.split_for_impl();
        let ty_generics = generics.split_for_impl().1;
        Self {
            input,
            params: inside(params),
            args: inside(args),
            ty: quote!(#ident #ty_generics),
            where_clause: where_clause.to_token_stream(),
        }
    }

    /// The type's name, as runtime errors show it.
    pub fn name(&self) -> String {
        self.input.ident.unraw().to_string()
    }

    pub fn is_generic(&self) -> bool {
        !self.params.is_empty()
    }

    /// `<..>` after `impl` or in a declaration: the type's parameters.
    pub fn params(&self) -> TokenStream {
        self.params_and(TokenStream::new())
    }

    /// The type's parameters, then `more`.
    pub fn params_and(&self, more: TokenStream) -> TokenStream {
        list(&self.params, more)
    }

    pub fn with_args(&self, name: impl ToTokens) -> TokenStream {
        self.row_in(name, TokenStream::new())
    }

    pub fn partition(&self) -> TokenStream {
        self.with_args(names::partition(self.input))
    }

    pub fn patch(&self) -> TokenStream {
        self.with_args(names::patch(self.input))
    }

    /// A row's type in its first state.
    pub fn row(&self, row: &Row) -> TokenStream {
        self.with_args(names::row(self.input, row))
    }

    pub fn row_in(&self, name: impl ToTokens, state: TokenStream) -> TokenStream {
        let args = list(&self.args, state);
        quote!(#name #args)
    }

    /// A field that mentions the type's parameters, for types in which no other field does.
    pub fn phantom(&self) -> Option<TokenStream> {
        let ty = &self.ty;
        self.is_generic().then(|| quote!(::core::marker::PhantomData<fn() -> #ty>))
    }

    /// A value of the type of that name, which holds a key.
    pub fn holding(&self, name: &Ident, key: TokenStream) -> TokenStream {
        let phantom = self.is_generic().then(|| quote!(, _orm::PhantomData));
        quote!(#name(#key #phantom))
    }

    /// What macros of the runtime take: the parameters, a generated type, its bounds and its name.
    pub fn about(&self, name: Ident) -> TokenStream {
        let (params, bounds, this) = (self.params(), &self.where_clause, self.with_args(&name));
        let text = name.unraw().to_string();
        quote!([#params] #this, [#bounds], #text)
    }

    pub fn predicates(&self) -> TokenStream {
        let predicates = self.input.generics.where_clause.iter();
        let predicates = predicates.flat_map(|clause| &clause.predicates);
        quote!(#(#predicates,)*)
    }

    pub fn items(&self, this: impl ToTokens, items: impl ToTokens) -> TokenStream {
        let (params, where_clause) = (self.params(), &self.where_clause);
        quote!(impl #params #this #where_clause { #items })
    }

    pub fn implement(&self, what: TokenStream, body: TokenStream) -> TokenStream {
        self.implement_for(self.params(), what, &self.ty, body)
    }

    /// An implementation for `this` with these parameters and the type's bounds.
    pub fn implement_for(
        &self,
        params: TokenStream,
        what: TokenStream,
        this: impl ToTokens,
        body: TokenStream,
    ) -> TokenStream {
        let where_clause = &self.where_clause;
        quote!(impl #params #what for #this #where_clause { #body })
    }

    /// A type that holds a key. Errors show it from `at` to `end`.
    pub fn key_type(
        &self,
        docs: TokenStream,
        name: &Ident,
        params: TokenStream,
        key: TokenStream,
        (at, end): (Span, Span),
    ) -> TokenStream {
        let vis = &self.input.vis;
        let (declares, name) = (relocated(quote!(#vis struct), at), relocated(name, end));
        let (lints, where_clause) = (lints(self.input), &self.where_clause);
        let phantom = self.phantom().map(|phantom| quote!(, #phantom));
        quote_spanned! {end=>
            #docs
            #lints
            #[must_use]
            #declares #name #params (#key #phantom) #where_clause;
        }
    }
}

/// What is between `<` and `>`.
fn inside(list: impl ToTokens) -> TokenStream {
    match &Vec::from_iter(list.to_token_stream())[..] {
        [_, inside @ .., _] => inside.iter().cloned().collect(),
        _ => TokenStream::new(),
    }
}

fn list(own: &TokenStream, more: TokenStream) -> TokenStream {
    if own.is_empty() && more.is_empty() { more } else { quote!(<#own #more>) }
}
