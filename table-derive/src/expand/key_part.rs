//! `KeyPart` and `Property` for an enum with codes, or for a newtype.

use crate::expand::types::Types;
use crate::kind::{Kind, kind};
use crate::tokens::*;
use crate::variants::{Code, KeyPart};
use syn::{Field, Member};

pub fn impls(input: &DeriveInput, parsed: &KeyPart<'_>) -> TokenStream {
    let types = &Types::of(input);
    match parsed {
        KeyPart::Codes(codes) => coded(types, codes),
        KeyPart::Newtype(field, member, grows) => newtype(types, field, member, *grows),
    }
}

/// The codes of an enum, and the traits that allow ranges of variants where the codes ascend.
pub fn coded(types: &Types<'_>, codes: &[Code<'_>]) -> TokenStream {
    let ascend =
        codes.is_sorted_by(|left, right| left.code.encode_utf16().lt(right.code.encode_utf16()));
    let sorted = [quote!(SortedLast<_orm::Plain>), quote!(Sorted<_orm::Plain>), quote!(Ordered)];
    let sorted = sorted.iter().filter(|_| ascend);
    let sorted = sorted.map(|name| types.implement(quote!(_orm::#name), TokenStream::new()));
    let variants: Vec<_> = codes.iter().map(|code| code.variant).collect();
    let texts: Vec<_> = codes.iter().map(|code| &code.code).collect();
    let body = quote! {
        const CODES: &'static [&'static _orm::str] = &[#(#texts),*];
        fn code(&self) -> &'static _orm::str {
            match self { #(Self::#variants => #texts,)* }
        }
        fn of_code(code: &_orm::str) -> _orm::Option<Self> {
            match code {
                #(#texts => _orm::Some(Self::#variants),)*
                _ => _orm::None,
            }
        }
    };
    let coded = types.implement(quote!(_orm::Coded), body);
    quote!(#[automatically_derived] #coded #(#sorted)*)
}

/// The traits of a newtype, which are those of its field. One of text can be given as a literal.
fn newtype(types: &Types<'_>, field: &Field, member: &Member, grows: bool) -> TokenStream {
    let grows = grows.then(|| quote!(, true));
    let (ty, inner, bounds, params) = (&types.ty, &field.ty, types.predicates(), &types.params);
    let from_text = (kind(inner) == Kind::Text && !types.is_generic()).then(|| {
        quote! {
            impl _orm::Value<#ty> for &_orm::str {
                fn into_value(self) -> #ty {
                    let text = _orm::Value::<_orm::String>::into_value(self);
                    #ty { #member: _orm::From::from(text) }
                }
            }
        }
    });
    quote! {
        _orm::newtype!([#params] #ty, [#bounds] #inner, #member #grows);
        #from_text
    }
}
