//! The scope of generated code.
//!
//! Invariant: a name in generated code never resolves to a name of the user's, and the user's names
//! never resolve to generated ones. Implementations have a scope of their own ([`anonymous`]).
//! Variables next to the user's paths are [`hygienic`]. A variable that the user named keeps its
//! hygiene, which may be a `macro_rules!`.

use crate::tokens::*;
use syn::Meta;

/// `quote!` for code whose variables cannot collide with a user's function of the same name.
macro_rules! hygienic {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}
pub(crate) use hygienic;

/// A scope for implementations, in which `_orm` is the runtime.
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

/// The lints that the user allows on the type, allowed on the types generated next to it.
pub fn lints(input: &DeriveInput) -> TokenStream {
    let attrs = input.attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::List(list) if list.path.is_ident("allow") || list.path.is_ident("expect") => {
            let lints = &list.tokens;
            Some(quote!(#[allow(#lints)]))
        }
        // Generated types mention the deprecated one.
        meta if meta.path().is_ident("deprecated") => Some(quote!(#[allow(deprecated)])),
        _ => None,
    });
    quote!(#(#attrs)*)
}

/// A span at which errors in [`hygienic`] code show the user's code. Lints still see generated code.
pub fn located(at: impl Spanned) -> Span {
    Span::mixed_site().located_at(at.span())
}

/// The tokens with that span. Tokens inside parentheses keep theirs.
pub fn relocated(tokens: impl ToTokens, at: Span) -> TokenStream {
    respanned(tokens, |_| at)
}

/// The tokens with that location and the hygiene they had.
pub fn located_tokens(tokens: impl ToTokens, at: Span) -> TokenStream {
    respanned(tokens, |own| own.located_at(at))
}

fn respanned(tokens: impl ToTokens, span: impl Fn(Span) -> Span) -> TokenStream {
    let tokens = tokens.into_token_stream().into_iter();
    let respan = |mut token: proc_macro2::TokenTree| {
        token.set_span(span(token.span()));
        token
    };
    tokens.map(respan).collect()
}

pub fn doc(text: impl AsRef<str>) -> TokenStream {
    let text = format!(" {}", text.as_ref());
    quote!(#[doc = #text])
}
