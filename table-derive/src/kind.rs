//! What a field's type is, judged by its spelling. The type checker decides about aliases, newtypes
//! and types of the user's own that have the name of a library's type.

use crate::tokens::*;
use syn::{GenericArgument, PathArguments, PathSegment};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// With the digits of the largest value.
    Unsigned(usize),
    Signed(usize),
    Float,
    Text,
    Bytes,
    Bool,
    Char,
    // These are guesses, for samples and for growing values.
    Instant,
    Date,
    Time,
    Uuid,
    Ulid,
    Other,
}

pub fn kind(ty: &Type) -> Kind {
    let Some(segment) = last_segment(ty) else { return Kind::Other };
    match segment.ident.to_string().as_str() {
        "u8" => Kind::Unsigned(3),
        "u16" => Kind::Unsigned(5),
        "u32" => Kind::Unsigned(10),
        "u64" | "usize" => Kind::Unsigned(20),
        "i8" => Kind::Signed(3),
        "i16" => Kind::Signed(5),
        "i32" => Kind::Signed(10),
        "i64" | "isize" => Kind::Signed(20),
        "f32" | "f64" => Kind::Float,
        "bool" => Kind::Bool,
        "char" => Kind::Char,
        "String" => Kind::Text,
        "Cow" | "Box" if argument(segment).is_some_and(|ty| is(ty, "str")) => Kind::Text,
        "Vec" if argument(segment).is_some_and(|ty| is(ty, "u8")) => Kind::Bytes,
        "OffsetDateTime" | "DateTime" | "Timestamp" => Kind::Instant,
        "Date" | "NaiveDate" => Kind::Date,
        "Time" | "NaiveTime" => Kind::Time,
        "Uuid" => Kind::Uuid,
        "Ulid" => Kind::Ulid,
        _ => Kind::Other,
    }
}

impl Kind {
    /// Whether no type of the user's own has that name.
    pub fn is_sure(self) -> bool {
        use Kind::{Date, Instant, Other, Time, Ulid, Uuid};
        !matches!(self, Instant | Date | Time | Uuid | Ulid | Other)
    }

    /// Whether it may be text, so that queries can ask for a prefix.
    pub fn may_be_text(self) -> bool {
        matches!(self, Self::Text | Self::Other)
    }
}

pub fn option(ty: &Type) -> Option<&Type> {
    argument_of("Option", ty)
}

/// Whether the type is a map, which takes every property.
pub fn is_map(ty: &Type) -> bool {
    is(option(ty).unwrap_or(ty), "BTreeMap")
}

pub fn vec(ty: &Type) -> Option<&Type> {
    argument_of("Vec", ty)
}

/// The type of the elements of a collection, which may be optional.
pub fn element(ty: &Type) -> Option<&Type> {
    let ty = option(ty).unwrap_or(ty);
    match ungrouped(ty) {
        Type::Array(array) => Some(&array.elem),
        _ => vec(ty).or_else(|| argument_of("BTreeSet", ty)),
    }
}

/// The slots of a series `[Option<T>; N]` with a literal `N`.
pub fn array(ty: &Type) -> Option<usize> {
    let Type::Array(array) = ungrouped(ty) else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(len), .. }) = &array.len else {
        return None;
    };
    len.base10_parse().ok()
}

/// The `T` and the `N` of a series `[Option<T>; N]`.
pub fn slots(ty: &Type) -> Option<(&Type, &syn::Expr)> {
    let Type::Array(array) = ungrouped(ty) else { return None };
    Some((option(&array.elem)?, &array.len))
}

/// Whether a series of that type has slots, each of which may be empty.
pub fn has_slots(ty: &Type) -> bool {
    slots(ty).is_some() || is(ty, "Ring")
}

/// The lifetime and the type of a reference.
pub fn reference(ty: &Type) -> Option<(String, &Type)> {
    let Type::Reference(reference) = ungrouped(ty) else { return None };
    let lifetime = reference.lifetime.as_ref();
    let lifetime =
        lifetime.map_or_else(|| "'_".to_owned(), |own| own.to_token_stream().to_string());
    Some((lifetime, &reference.elem))
}

pub fn is(ty: &Type, name: &str) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == name)
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ungrouped(ty) {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped(&group.elem),
        Type::Paren(paren) => ungrouped(&paren.elem),
        _ => ty,
    }
}

fn argument_of<'t>(name: &str, ty: &'t Type) -> Option<&'t Type> {
    last_segment(ty).filter(|segment| segment.ident == name).and_then(argument)
}

fn argument(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().rev().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}
