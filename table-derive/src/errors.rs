//! The errors found so far. All of them are reported in one build.

use crate::tokens::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;

/// Code that fails to compile with the errors.
#[derive(Default)]
pub struct Errors(RefCell<TokenStream>);

impl Errors {
    pub fn add(&self, error: syn::Error) {
        self.0.borrow_mut().extend(error.into_compile_error());
    }

    /// Reports a placeholder of `template` that is almost one of the `known` names. Only the compiler
    /// can underline a part of a string literal, and it does so for format strings.
    pub fn misspelled(&self, template: &LitStr, known: &BTreeSet<&str>) {
        let names = known.iter().map(|name| {
            let mut ident: Ident =
                syn::parse_str(name).unwrap_or_else(|_| format_ident!("r#{name}"));
            ident.set_span(template.span());
            ident
        });
        let values = known.iter().map(|_| "");
        self.0.borrow_mut().extend(quote! {
            const _: fn() = || {
                let (#(#names,)*) = (#(#values,)*);
                let _ = ::core::format_args!(#template);
            };
        });
    }

    /// The value, or `None` after adding its error.
    pub fn keep<T>(&self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub fn into_tokens(self) -> TokenStream {
        self.0.into_inner()
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
