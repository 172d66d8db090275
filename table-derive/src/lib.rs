//! The derive macros of `table-orm`. Apps use them through that crate, which documents them.
//!
//! The way of a struct: [`ast`] holds what the user wrote, read by [`attr`] and [`template`];
//! [`model`] resolves the placeholders of its key templates; [`check`] holds every rule over the
//! whole; [`expand`] writes code. After a mistake, [`fallback`] writes code that lets the rest of
//! the app compile, so that the mistake is the only error.

mod ast;
mod attr;
mod case;
mod check;
mod errors;
mod expand;
mod fallback;
mod kind;
mod model;
mod nearest;
mod symbol;
mod template;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `TableEntity`, with a builder for each row's keys.
#[proc_macro_derive(TableEntity, attributes(table, row, component))]
pub fn table_entity(input: TokenStream) -> TokenStream {
    expand::entity(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `KeyPart` for an enum with codes or a newtype.
#[proc_macro_derive(KeyPart, attributes(key))]
pub fn key_part(input: TokenStream) -> TokenStream {
    expand::key_part(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `Properties` for a struct, to be flattened into an entity.
#[proc_macro_derive(Properties, attributes(table))]
pub fn properties(input: TokenStream) -> TokenStream {
    expand::properties(&parse_macro_input!(input as DeriveInput)).into()
}

/// Lets a smaller struct be read from an entity's rows.
#[proc_macro_derive(Projection, attributes(projection))]
pub fn projection(input: TokenStream) -> TokenStream {
    expand::projection(&parse_macro_input!(input as DeriveInput)).into()
}
