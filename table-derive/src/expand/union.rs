//! `#[derive(TableUnion)]`: an enum that a partition of several entity types is read into.

use super::anonymous;
use crate::ast::krate;
use crate::attr::Items;
use crate::errors::Errors;
use crate::symbol::{ON_UNION, TABLE};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, Type};

/// A variant and the entity type in it.
struct Member<'a> {
    variant: &'a Ident,
    ty: &'a Type,
}

pub fn union(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let mut items = Items::of(&input.attrs, TABLE, ON_UNION, &mut errors);
    let krate = krate(&mut items, &mut errors);
    let members = members(input, &mut errors);
    if !input.generics.params.is_empty() {
        errors.push(
            &input.generics,
            format!("`{}` has parameters, which the rows of a table cannot tell", input.ident),
            "leave them out, and give the entity types in its variants their arguments",
        );
        return errors.into_tokens();
    }
    let impls = if errors.is_empty() { impls(input, &members) } else { fallback(input, &members) };
    let (errors, impls) = (errors.into_tokens(), anonymous(input, &krate, impls));
    quote!(#errors #impls)
}

fn members<'a>(input: &'a DeriveInput, errors: &mut Errors) -> Vec<Member<'a>> {
    let variants = match &input.data {
        Data::Enum(data) if !data.variants.is_empty() => &data.variants,
        _ => {
            errors.push(
                &input.ident,
                format!("`{}` has no variants to read entities into", input.ident),
                "derive `TableUnion` on an enum with one entity type in each variant",
            );
            return Vec::new();
        }
    };
    let mut members: Vec<Member<'a>> = Vec::new();
    for variant in variants {
        let Fields::Unnamed(fields) = &variant.fields else {
            wrong_fields(&variant.ident, errors);
            continue;
        };
        let mut fields = fields.unnamed.iter();
        let (Some(field), None) = (fields.next(), fields.next()) else {
            wrong_fields(&variant.ident, errors);
            continue;
        };
        let (variant, ty) = (&variant.ident, &field.ty);
        let text = ty.to_token_stream().to_string();
        let same = |other: &&Member<'_>| other.ty.to_token_stream().to_string() == text;
        match members.iter().find(same) {
            Some(other) => errors.push(
                ty,
                format!("variants `{}` and `{variant}` hold the same entity type", other.variant),
                "give each entity type one variant",
            ),
            None => members.push(Member { variant, ty }),
        }
    }
    members
}

fn wrong_fields(variant: &Ident, errors: &mut Errors) {
    errors.push(
        variant,
        format!("variant `{variant}` does not hold one entity"),
        format!("write `{variant}(Entity)`"),
    );
}

fn impls(input: &DeriveInput, members: &[Member<'_>]) -> TokenStream {
    let ident = &input.ident;
    let name = ident.unraw().to_string();
    let first = members.first().map(|member| member.ty);
    let types: Vec<_> = members.iter().map(|member| member.ty).collect();
    let arms = members.iter().enumerate().map(|(index, Member { variant, ty })| {
        let pattern = if index + 1 == members.len() {
            quote!(_)
        } else {
            Literal::usize_unsuffixed(index).into_token_stream()
        };
        quote!(#pattern => <#ty as _orm::Variant>::read(row).map(Self::#variant),)
    });
    let assertions = assertions(members);
    quote! {
        #(#assertions)*
        #[automatically_derived]
        impl _orm::TableUnion for #ident {
            const NAME: &'static str = #name;
            const TABLE: &'static str = <#first as _orm::Variant>::MEMBER.table;
            const MEMBERS: &'static [_orm::UnionMember] =
                &[#(<#types as _orm::Variant>::MEMBER),*];
            fn read_member(
                member: usize,
                row: &[u8],
            ) -> _orm::Result<Self, _orm::PropertyError> {
                match member {
                    #(#arms)*
                }
            }
        }
        #(
            #[diagnostic::do_not_recommend]
            impl _orm::MemberOf<#ident> for #types {}
        )*
    }
}

/// What only the members' types can tell of each two of them.
fn assertions(members: &[Member<'_>]) -> Vec<TokenStream> {
    let mut assertions = Vec::new();
    for (at, Member { variant, ty }) in members.iter().enumerate() {
        for Member { variant: other, ty: earlier } in &members[..at] {
            let table = format!(
                "`{other}` and `{variant}` are stored in different tables; a union reads one \
                 partition of one table: give both the same `#[table(name = \"..\")]`"
            );
            let rows = format!(
                "RowKeys of `{other}` and `{variant}` lie in one range, so a query of one would \
                 read rows of the other; start the rows of each with a literal of its own that \
                 begins with no digit, such as `A:`"
            );
            let (left, right) = (
                quote!(<#earlier as _orm::Variant>::MEMBER),
                quote!(<#ty as _orm::Variant>::MEMBER),
            );
            assertions.push(quote_spanned! {ty.span()=>
                const _: () = _orm::assert_union(#left.shares_table(&#right), #table);
                const _: () = _orm::assert_union(#left.differs(&#right), #rows);
            });
        }
    }
    assertions
}

fn fallback(input: &DeriveInput, members: &[Member<'_>]) -> TokenStream {
    let ident = &input.ident;
    let types = members.iter().map(|member| member.ty);
    quote! {
        impl _orm::TableUnion for #ident {
            const NAME: &'static str = "";
            const TABLE: &'static str = "";
            const MEMBERS: &'static [_orm::UnionMember] = &[];
            fn read_member(
                member: usize,
                row: &[u8],
            ) -> _orm::Result<Self, _orm::PropertyError> {
                loop {}
            }
        }
        #(impl _orm::MemberOf<#ident> for #types {})*
    }
}
