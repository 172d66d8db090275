//! What the user wrote on the enums and newtypes of the smaller derives.

use crate::errors::{Errors, mistake};
use crate::tokens::*;
use syn::{Attribute, Data, Field, Fields, Member, Variant};

pub enum KeyPart<'a> {
    Codes(Vec<Code<'a>>),
    /// With its field, and whether the type has `#[key(grows)]`.
    Newtype(&'a Field, Member, bool),
}

/// A variant and the code that keys and properties hold for it.
pub struct Code<'a> {
    pub variant: &'a Ident,
    pub code: String,
    /// The tokens of the code's value.
    pub at: TokenStream,
}

impl<'a> KeyPart<'a> {
    /// The type, or `None` when it is neither an enum nor a newtype.
    pub fn parse(input: &'a DeriveInput, grows: Option<Span>, errors: &Errors) -> Option<Self> {
        match &input.data {
            Data::Enum(data) if !data.variants.is_empty() => {
                if let Some(at) = grows {
                    mistake!(errors, Ident::new("grows", at) => "the codes of an enum do not grow", help: "remove `grows`");
                }
                let codes = data.variants.iter();
                let codes = codes.filter_map(|variant| Code::parse(variant, errors));
                Some(Self::Codes(codes.collect()))
            }
            Data::Struct(data) if data.fields.len() == 1 => {
                let (field, member) = data.fields.iter().zip(data.fields.members()).next()?;
                if let Some(attr) = keys(&field.attrs).next() {
                    mistake!(errors, attr.path() => "a newtype is stored as its field, so the field has no code",
                        help: "remove `#[key(..)]`");
                }
                Some(Self::Newtype(field, member, grows.is_some()))
            }
            _ => {
                let ident = &input.ident;
                mistake!(errors, ident => "`{ident}` has no text that a key could hold",
                    help: "derive `KeyPart` on an enum of variants without fields, or on a struct of one field");
                None
            }
        }
    }
}

fn keys(attrs: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident("key"))
}

impl<'a> Code<'a> {
    fn parse(variant: &'a Variant, errors: &Errors) -> Option<Self> {
        let ident = &variant.ident;
        if !matches!(variant.fields, Fields::Unit) {
            mistake!(errors, ident => "variant `{ident}` has fields, but its code stores only which variant it is",
                help: "remove the fields, or move them to the entity");
            return None;
        }
        let mut attrs = keys(&variant.attrs);
        let attr = attrs.next();
        if let Some(second) = attrs.next() {
            mistake!(errors, second.path() => "variant `{ident}` has a second code",
                help: "keep the one that stored rows have");
        }
        let given = match attr {
            Some(attr) => Some(errors.keep(attr.parse_args::<LitStr>())?),
            None => None,
        };
        let code = given.as_ref().map_or_else(|| ident.unraw().to_string(), LitStr::value);
        let at = given.map_or_else(|| ident.to_token_stream(), |code| code.to_token_stream());
        Some(Self { variant: ident, code, at })
    }
}

/// A variant of an enum with `#[derive(TableUnion)]`, and the entity type in it.
pub struct UnionMember<'a> {
    pub variant: &'a Ident,
    pub ty: &'a Type,
}

impl<'a> UnionMember<'a> {
    pub fn parse_all(input: &'a DeriveInput, errors: &Errors) -> Vec<Self> {
        let variants = match &input.data {
            Data::Enum(data) if !data.variants.is_empty() => &data.variants,
            _ => {
                let ident = &input.ident;
                mistake!(errors, ident => "`{ident}` has no variants to read entities into",
                    help: "derive `TableUnion` on an enum with one entity type in each variant");
                return Vec::new();
            }
        };
        let mut members: Vec<Self> = Vec::new();
        for Variant { ident: variant, fields, .. } in variants {
            let mut held = fields.iter();
            let (Fields::Unnamed(_), Some(Field { ty, .. }), None) =
                (fields, held.next(), held.next())
            else {
                mistake!(errors, variant => "variant `{variant}` does not hold one entity",
                    help: "write `{variant}(Entity)`");
                continue;
            };
            let text = |ty: &Type| ty.to_token_stream().to_string();
            if let Some(Self { variant: other, .. }) =
                members.iter().find(|other| text(other.ty) == text(ty))
            {
                mistake!(errors, ty => "variants `{other}` and `{variant}` hold the same entity type",
                    help: "give each entity type one variant");
            } else {
                members.push(Self { variant, ty });
            }
        }
        members
    }
}
