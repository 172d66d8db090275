//! The mistakes found so far: all of them are reported in one build.

use proc_macro2::TokenStream;
use quote::ToTokens;

#[derive(Default)]
pub struct Errors(Option<syn::Error>);

impl Errors {
    /// A mistake at `at`: what is wrong, and what to write instead.
    pub fn push(&mut self, at: impl ToTokens, wrong: impl AsRef<str>, help: impl AsRef<str>) {
        self.add(error(at, wrong, help));
    }

    pub fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The value, or its mistake put among the others.
    pub fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The errors as code that fails to compile with them.
    pub fn into_tokens(self) -> TokenStream {
        self.0.map(syn::Error::into_compile_error).unwrap_or_default()
    }
}

pub fn error(at: impl ToTokens, wrong: impl AsRef<str>, help: impl AsRef<str>) -> syn::Error {
    syn::Error::new_spanned(at, format!("{}\nhelp: {}", wrong.as_ref(), help.as_ref()))
}
