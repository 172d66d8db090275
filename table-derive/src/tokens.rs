//! What most modules use of `proc_macro2`, `quote` and `syn`.

pub use proc_macro2::{Ident, Literal, Span, TokenStream};
pub use quote::{ToTokens, format_ident, quote, quote_spanned};
pub use syn::ext::IdentExt;
pub use syn::spanned::Spanned;
pub use syn::{DeriveInput, LitInt, LitStr, Path, Type};
