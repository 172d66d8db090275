//! The derive macros of `table-orm`. Apps use them through that crate.
//!
//! A derive parses what the user wrote, checks rules over it, and expands it into code. After a
//! mistake it reports every error and writes a fallback, so that the rest of the app compiles and the
//! mistake is the only error.
//!
//! # Modules
//!
//! A module imports only modules above it in this list.
//!
//! ```text
//! tokens     what most modules use of `proc_macro2`, `quote` and `syn`
//! symbol     the attributes, and what each takes
//! case       the case of names
//! nearest    the known name nearest to a mistyped one
//! kind       what a field's type is, by its spelling
//! errors     the errors found so far
//! template   key templates
//! attr       the parts of an attribute
//! receiver   `Self` in what the user wrote
//! ast        what the user wrote on an entity and its fields
//! expiry     what `expires` adds to an entity
//! variants   what the user wrote on the enums and newtypes of the smaller derives
//! model      an entity whose key templates are resolved
//! growing    how far a PartitionKey spreads writes
//! names      the names of generated types and methods
//! check      the rules, by subject
//! expand     the code, by piece
//! fallback   what is written after a mistake
//! derive     each derive from input to code
//! ```

mod ast;
mod attr;
mod case;
mod check;
mod derive;
mod errors;
mod expand;
mod expiry;
mod fallback;
mod growing;
mod kind;
mod model;
mod names;
mod nearest;
mod receiver;
mod symbol;
mod template;
#[cfg(test)]
mod tests;
mod tokens;
mod variants;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

#[doc = include_str!("table_entity.md")]
#[proc_macro_derive(TableEntity, attributes(table, row, component))]
pub fn table_entity(input: TokenStream) -> TokenStream {
    derive::table_entity(&receiver::named(parse_macro_input!(input as DeriveInput))).into()
}

#[doc = include_str!("key_part.md")]
#[proc_macro_derive(KeyPart, attributes(key))]
pub fn key_part(input: TokenStream) -> TokenStream {
    derive::key_part(&receiver::named(parse_macro_input!(input as DeriveInput))).into()
}

#[doc = include_str!("properties.md")]
#[proc_macro_derive(Properties, attributes(table))]
pub fn properties(input: TokenStream) -> TokenStream {
    derive::properties(&receiver::named(parse_macro_input!(input as DeriveInput))).into()
}

#[doc = include_str!("table_union.md")]
#[proc_macro_derive(TableUnion, attributes(table))]
pub fn table_union(input: TokenStream) -> TokenStream {
    derive::table_union(&receiver::named(parse_macro_input!(input as DeriveInput))).into()
}

#[doc = include_str!("projection.md")]
#[proc_macro_derive(Projection, attributes(projection))]
pub fn projection(input: TokenStream) -> TokenStream {
    derive::projection(&receiver::named(parse_macro_input!(input as DeriveInput))).into()
}
