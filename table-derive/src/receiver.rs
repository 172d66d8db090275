//! `Self` in what the user wrote. Generated types hold it too, where it would be another type.

use crate::tokens::*;
use proc_macro2::{Group, TokenTree};

/// The input with the type's name in place of `Self`.
pub fn named(input: DeriveInput) -> DeriveInput {
    let written = input.to_token_stream();
    if !mentions_self(&written) {
        return input;
    }
    let (ident, (_, arguments, _)) = (&input.ident, input.generics.split_for_impl());
    let arguments = arguments.as_turbofish();
    let name = |span: Span| {
        let mut ident = ident.clone();
        ident.set_span(span);
        quote!(#ident #arguments)
    };
    syn::parse2(replaced(written, &name)).unwrap_or(input)
}

fn mentions_self(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == "Self",
        TokenTree::Group(group) => mentions_self(&group.stream()),
        _ => false,
    })
}

fn replaced(tokens: TokenStream, name: &dyn Fn(Span) -> TokenStream) -> TokenStream {
    let replace = |tree| match tree {
        TokenTree::Ident(ident) if ident == "Self" => name(ident.span()),
        TokenTree::Group(group) => {
            let mut named = Group::new(group.delimiter(), replaced(group.stream(), name));
            named.set_span(group.span());
            TokenTree::Group(named).into()
        }
        tree => tree.into(),
    };
    tokens.into_iter().flat_map(|tree| -> TokenStream { replace(tree) }).collect()
}
