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
//! symbol             the names of attributes
//! case               the case of names
//! nearest            the known name nearest to a mistyped one
//! kind               what a field's type is, by its spelling
//! errors             the errors found so far
//! template           key templates
//! attr               the parts of an attribute
//! component          the components that the user declared
//! ast                what the user wrote on an entity and its fields
//! variants           what the user wrote on the enums and newtypes of the smaller derives
//! model              an entity whose key templates are resolved
//! names              the names of generated types and methods
//! check::table       rules over the table, its partitions and its transactions
//! check::fields      rules over fields and their properties
//! check::rows        rules over rows
//! check::keys        rules over key templates and their components
//! check::foreign     rules over rows in other partitions
//! check::generated   rules over the names of generated types and methods
//! check::codes       rules over the codes of an enum
//! check              the lists of rules
//! expand::scope      the scope of generated code: hygiene and spans
//! expand::types      the generated types as code names them
//! expand::sample     sample keys for documentation
//! expand::property   one field as properties
//! expand::key        keys: written and read
//! expand::write      an entity written into rows
//! expand::read       an entity read from a row
//! expand::columns    a row's columns
//! expand::row        a row's key, given from left to right
//! expand::partition  the partition
//! expand::projected  what a projection may ask for
//! expand::patch      the patch
//! expand::key_part   the code of an enum or newtype in keys
//! expand::properties the code of a group of properties
//! expand::union      the code of a union
//! expand::projection the code of a projection
//! expand             all code of an entity
//! fallback           what is written after a mistake
//! derive             each derive from input to code
//! ```

mod ast;
mod attr;
mod case;
mod check;
mod component;
mod derive;
mod errors;
mod expand;
mod fallback;
mod kind;
mod model;
mod names;
mod nearest;
mod symbol;
mod template;
#[cfg(test)]
mod tests;
mod variants;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

#[doc = include_str!("table_entity.md")]
#[proc_macro_derive(TableEntity, attributes(table, row, component))]
pub fn table_entity(input: TokenStream) -> TokenStream {
    derive::table_entity(&parse_macro_input!(input as DeriveInput)).into()
}

#[doc = include_str!("key_part.md")]
#[proc_macro_derive(KeyPart, attributes(key))]
pub fn key_part(input: TokenStream) -> TokenStream {
    derive::key_part(&parse_macro_input!(input as DeriveInput)).into()
}

#[doc = include_str!("properties.md")]
#[proc_macro_derive(Properties, attributes(table))]
pub fn properties(input: TokenStream) -> TokenStream {
    derive::properties(&parse_macro_input!(input as DeriveInput)).into()
}

#[doc = include_str!("table_union.md")]
#[proc_macro_derive(TableUnion, attributes(table))]
pub fn table_union(input: TokenStream) -> TokenStream {
    derive::table_union(&parse_macro_input!(input as DeriveInput)).into()
}

#[doc = include_str!("projection.md")]
#[proc_macro_derive(Projection, attributes(projection))]
pub fn projection(input: TokenStream) -> TokenStream {
    derive::projection(&parse_macro_input!(input as DeriveInput)).into()
}
