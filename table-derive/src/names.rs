//! The names of generated types and methods.

use crate::ast::{Entity, Field, Role, Row};
use crate::case::pascal;
use proc_macro2::Ident;
use quote::format_ident;
use syn::ext::IdentExt;

pub fn partition(entity: &Entity<'_>) -> Ident {
    format_ident!("{}Partition", entity.input.ident)
}

/// The columns of full rows.
pub fn columns(entity: &Entity<'_>) -> Ident {
    format_ident!("{}Columns", entity.input.ident)
}

pub fn patch(entity: &Entity<'_>) -> Ident {
    format_ident!("{}Patch", entity.input.ident)
}

pub fn row(entity: &Entity<'_>, row: &Row) -> Ident {
    format_ident!("{}{}", entity.input.ident, pascal(&row.name.unraw().to_string()))
}

/// The module of the components' types.
pub fn components(entity: &Entity<'_>) -> Ident {
    format_ident!("{}Components", entity.input.ident)
}

/// The columns of a row.
pub fn row_columns(entity: &Entity<'_>, row: &Row) -> Ident {
    if row.is_full() { columns(entity) } else { format_ident!("{}Columns", self::row(entity, row)) }
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
