//! The errors found so far. All of them are reported in one build.

use crate::tokens::*;
use std::collections::BTreeSet;
use std::fmt::Display;

#[derive(Default)]
pub struct Errors {
    errors: Option<syn::Error>,
    /// Code in which the compiler itself finds an error.
    code: TokenStream,
}

impl Errors {
    pub fn add(&mut self, error: syn::Error) {
        match &mut self.errors {
            Some(errors) => errors.combine(error),
            None => self.errors = Some(error),
        }
    }

    /// Reports a placeholder of `template` that is almost one of the `known` names. Only the compiler
    /// can underline a part of a string literal, and it does so for format strings.
    pub fn misspelled(&mut self, template: &LitStr, known: &BTreeSet<&str>) {
        let names = known.iter().map(|name| {
            let mut ident: Ident =
                syn::parse_str(name).unwrap_or_else(|_| format_ident!("r#{name}"));
            ident.set_span(template.span());
            ident
        });
        let values = known.iter().map(|_| "");
        self.code.extend(quote! {
            const _: fn() = || {
                let (#(#names,)*) = (#(#values,)*);
                let _ = ::core::format_args!(#template);
            };
        });
    }

    /// The value, or `None` after adding its error.
    pub fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    pub fn is_empty(&self) -> bool {
        self.errors.is_none() && self.code.is_empty()
    }

    /// The errors as code that fails to compile with them.
    pub fn into_tokens(self) -> TokenStream {
        let errors = self.errors.map(syn::Error::into_compile_error);
        let code = self.code;
        quote!(#errors #code)
    }
}

/// What an error says: what is wrong, and what to write instead.
pub fn text(wrong: impl Display, help: impl Display) -> String {
    format!("{wrong}\nhelp: {help}")
}

/// An error at some tokens, pushed to `errors` or returned as a value. Its two texts are format
/// strings. A help that is computed follows `help =`.
macro_rules! mistake {
    ($errors:ident, $($mistake:tt)*) => {
        $errors.add($crate::errors::mistake!($($mistake)*))
    };
    ($at:expr => $wrong:literal, help: $help:literal) => {
        ::syn::Error::new_spanned(&$at, $crate::errors::text(format_args!($wrong), format_args!($help)))
    };
    ($at:expr => $wrong:literal, help = $help:expr) => {
        ::syn::Error::new_spanned(&$at, $crate::errors::text(format_args!($wrong), $help))
    };
}
pub(crate) use mistake;
