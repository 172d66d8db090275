//! The names of generated types and methods.

use crate::ast::{Field, Role, Row};
use crate::case::pascal;
use crate::tokens::*;

pub fn partition(input: &DeriveInput) -> Ident {
    format_ident!("{}Partition", input.ident)
}

pub fn columns(input: &DeriveInput) -> Ident {
    format_ident!("{}Columns", input.ident)
}

pub fn patch(input: &DeriveInput) -> Ident {
    format_ident!("{}Patch", input.ident)
}

pub fn row(input: &DeriveInput, row: &Row) -> Ident {
    format_ident!("{}{}", input.ident, pascal(&row.name.unraw().to_string()))
}

/// The module of the components' types.
pub fn components(input: &DeriveInput) -> Ident {
    format_ident!("{}Components", input.ident)
}

pub fn row_columns(input: &DeriveInput, row: &Row) -> Ident {
    if row.is_full() { columns(input) } else { format_ident!("{}Columns", self::row(input, row)) }
}

/// A patch's method for a field.
pub fn setter(field: &Field<'_>) -> Ident {
    match field.role {
        Role::Series => format_ident!("{}_at", field.ident.unraw()),
        _ => field.ident.clone(),
    }
}

/// A field's number in types: the 64-bit FNV-1a hash of its name.
pub fn field_id(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
