//! `TableUnion`: an enum that a partition of several entity types is read into.

use crate::tokens::*;
use crate::variants::UnionMember;

pub fn impls(input: &DeriveInput, members: &[UnionMember<'_>]) -> TokenStream {
    let pairs = members.iter().enumerate();
    let pairs =
        pairs.flat_map(|(at, member)| members[..at].iter().map(move |other| (other, member)));
    let assertions = pairs.map(|(left, right)| assertion(left, right));
    let (union, members) = (union(input, members), member_of(input, members));
    quote!(#(#assertions)* #union #members)
}

/// `TableUnion`. Without members it reads no table.
pub fn union(input: &DeriveInput, members: &[UnionMember<'_>]) -> TokenStream {
    let (ident, name) = (&input.ident, input.ident.unraw().to_string());
    let types = members.iter().map(|member| member.ty);
    let table = types.clone().next();
    let table =
        table.map_or_else(|| quote!(""), |first| quote!(<#first as _orm::Variant>::MEMBER.table));
    let arms = members.iter().enumerate().map(|(at, UnionMember { variant, ty })| {
        let index = Literal::usize_unsuffixed(at);
        let pattern = if at + 1 == members.len() { quote!(_) } else { quote!(#index) };
        quote!(#pattern => <#ty as _orm::Variant>::read(row).map(Self::#variant),)
    });
    quote! {
        #[automatically_derived]
        impl _orm::TableUnion for #ident {
            const NAME: &'static _orm::str = #name;
            const TABLE: &'static _orm::str = #table;
            const MEMBERS: &'static [_orm::UnionMember] = &[#(<#types as _orm::Variant>::MEMBER),*];
            fn read_member(
                member: _orm::usize,
                row: &[_orm::u8],
            ) -> _orm::Result<Self, _orm::PropertyError> {
                match member { #(#arms)* }
            }
        }
    }
}

/// `MemberOf` of each member: the union reads this entity type.
pub fn member_of(input: &DeriveInput, members: &[UnionMember<'_>]) -> TokenStream {
    let ident = &input.ident;
    let types = members.iter().map(|member| member.ty);
    quote! {
        #(#[diagnostic::do_not_recommend] impl _orm::MemberOf<#ident> for #types {})*
    }
}

/// The two types are stored in one table, and no row of one can be taken for one of the other.
fn assertion(left: &UnionMember<'_>, right: &UnionMember<'_>) -> TokenStream {
    let (other, variant) = (left.variant, right.variant);
    let table = format!(
        "`{other}` and `{variant}` are stored in different tables, but a union reads one \
         partition of one table: give both the same `#[table(name = \"..\")]`"
    );
    let rows = format!(
        "a RowKey can be that of a row of `{other}` and of `{variant}`, so one would be taken for \
         the other: start the rows of each with a different literal, such as `A:`, or mark both \
         types with a kind of their own, such as `#[table(kind = \"{variant}\")]`, and guards \
         with a key of their own: `unique(.., key = \"..\")`, or with `across` a table of their own: \
         `unique(.., across, table = \"..\")`"
    );
    let (left, ty) = (left.ty, right.ty);
    let (left, right) =
        (quote!(<#left as _orm::Variant>::MEMBER), quote!(<#ty as _orm::Variant>::MEMBER));
    quote_spanned! {ty.span()=>
        const _: () = _orm::assert_union(_orm::UnionMember::shares_table(&#left, &#right), #table);
        #[allow(long_running_const_eval)]
        const _: () = _orm::assert_union(_orm::UnionMember::differs(&#left, &#right), #rows);
    }
}
