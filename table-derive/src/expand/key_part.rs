//! `KeyPart` and `Property` for an enum with codes, or for a newtype.

use crate::expand::types::Types;
use crate::kind::{Kind, kind};
use crate::variants::{Code, KeyPart};
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::{DeriveInput, Field, Member, Type};

pub fn impls(input: &DeriveInput, parsed: &KeyPart<'_>) -> TokenStream {
    match parsed {
        KeyPart::Codes(codes) => codes_impls(input, codes),
        KeyPart::Newtype(field, member) => newtype_impls(&Types::of(input), field, member),
    }
}

pub fn codes_impls(input: &DeriveInput, codes: &[Code<'_>]) -> TokenStream {
    let types = &Types::of(input);
    let code_fn = code_fn(types, codes);
    let key_part = types.implement(quote!(_orm::KeyPart<_orm::Plain>), code_key_part(codes));
    let ascending =
        codes.is_sorted_by(|left, right| left.code.encode_utf16().lt(right.code.encode_utf16()));
    // The traits that allow ranges of variants in queries.
    let sorted = [quote!(SortedLast<_orm::Plain>), quote!(Sorted<_orm::Plain>), quote!(Ordered)];
    let sorted = sorted
        .into_iter()
        .filter(|_| ascending)
        .chain([quote!(PrefixFree<_orm::Plain>)])
        .map(|name| types.implement(quote!(_orm::#name), TokenStream::new()));
    let property = types.implement(quote!(_orm::Property), code_property());
    quote! {
        #code_fn
        #[automatically_derived]
        #key_part
        #(#sorted)*
        #[automatically_derived]
        #property
    }
}

/// The function from a variant to its code.
fn code_fn(types: &Types<'_>, codes: &[Code<'_>]) -> TokenStream {
    let (ident, ty) = (&types.input.ident, &types.ty);
    let (params, where_clause) = (types.params(), &types.where_clause);
    let variants = codes.iter().map(|code| code.variant);
    let texts = codes.iter().map(|code| &code.code);
    quote! {
        const fn __code #params (value: &#ty) -> &'static _orm::str #where_clause {
            match value {
                #(#ident::#variants => #texts,)*
            }
        }
    }
}

/// The items of `KeyPart` of an enum: the codes as they are.
fn code_key_part(codes: &[Code<'_>]) -> TokenStream {
    let units = |code: &Code<'_>| code.code.encode_utf16().count();
    let longest = codes.iter().map(units).max().unwrap_or_default();
    let fixed = codes.iter().all(|code| code.code.is_ascii() && units(code) == longest);
    let longest = Literal::usize_unsuffixed(longest);
    let width = if fixed { quote!(Fixed(#longest)) } else { quote!(UpTo(#longest)) };
    let texts = codes.iter().map(|code| &code.code);
    let arms =
        codes.iter().map(|Code { variant, code, .. }| quote!(#code => _orm::Ok(Self::#variant),));
    quote! {
        const WIDTH: _orm::Width = _orm::Width::#width;
        const SHAPE: _orm::Shape = _orm::Shape::OneOf(&[#(#texts),*]);
        const PREFIX_FREE: _orm::bool = true;
        fn encode(&self, key: &mut _orm::KeyText) -> _orm::Result<(), _orm::KeyFault> {
            key.literal(__code(self));
            _orm::Ok(())
        }
        fn decode(text: &_orm::str) -> _orm::Result<Self, _orm::KeyFault> {
            match text {
                #(#arms)*
                _ => _orm::Err(_orm::KeyFault::Malformed),
            }
        }
    }
}

/// The items of `Property` of an enum: its code as text.
fn code_property() -> TokenStream {
    property(
        quote!(_orm::Some(_orm::EdmType::String)),
        quote!(out.string(__code(self))),
        quote!(_orm::read_code(value, <Self as _orm::KeyPart<_orm::Plain>>::decode)),
        quote!(_orm::Ok(_orm::Some(_orm::From::from(__code(self))))),
    )
}

/// The items of `Property` with these values.
fn property(
    edm_type: TokenStream,
    write: TokenStream,
    read: TokenStream,
    edm: TokenStream,
) -> TokenStream {
    quote! {
        const TYPE: _orm::Option<_orm::EdmType> = #edm_type;
        fn write(&self, out: _orm::PropertyWriter<'_>) -> _orm::Result<(), _orm::PropertyFault> {
            #write
        }
        fn read<'__de, __D: _orm::Deserializer<'__de>>(
            value: __D,
        ) -> _orm::Result<Self, __D::Error> {
            #read
        }
        fn edm(&self) -> _orm::Result<_orm::Option<_orm::Edm>, _orm::PropertyFault> {
            #edm
        }
    }
}

/// The traits of a newtype, which are those of its field.
fn newtype_impls(types: &Types<'_>, field: &Field, member: &Member) -> TokenStream {
    let inner = &field.ty;
    // For every encoder that the field supports.
    let keys = (quote!(__X), quote!(#inner));
    // The higher-ranked bound makes it a condition: a newtype of a type that is no property can still
    // be in keys.
    let values = (TokenStream::new(), quote!(for<'__any> #inner));
    let none = TokenStream::new;
    let impls = [
        if_field(types, &keys, quote!(KeyPart<__X>), key_part_body(inner, member)),
        if_field(types, &keys, quote!(SortedLast<__X>), none()),
        if_field(types, &keys, quote!(Sorted<__X>), none()),
        if_field(types, &keys, quote!(PrefixFree<__X>), none()),
        if_field(types, &keys, quote!(TextPart<__X>), text_part_body(inner)),
        if_field(types, &values, quote!(Property), newtype_property(inner, member)),
        if_field(types, &values, quote!(Ordered), none()),
    ];
    let from_text = newtype_from_text(types, inner, member);
    quote!(#(#impls)* #from_text)
}

/// A trait of a newtype whose field has it.
fn if_field(
    types: &Types<'_>,
    (param, field): &(TokenStream, TokenStream),
    name: TokenStream,
    body: TokenStream,
) -> TokenStream {
    let (ty, params, predicates) = (&types.ty, types.params_and(param.clone()), types.predicates());
    quote! {
        #[automatically_derived]
        impl #params _orm::#name for #ty where #field: _orm::#name, #predicates { #body }
    }
}

fn key_part_body(inner: &Type, member: &Member) -> TokenStream {
    let of = quote!(<#inner as _orm::KeyPart<__X>>);
    quote! {
        const WIDTH: _orm::Width = #of::WIDTH;
        const SHAPE: _orm::Shape = #of::SHAPE;
        const REVERSED: _orm::bool = #of::REVERSED;
        const PREFIX_FREE: _orm::bool = #of::PREFIX_FREE;
        fn encode(&self, key: &mut _orm::KeyText) -> _orm::Result<(), _orm::KeyFault> {
            #of::encode(&self.#member, key)
        }
        fn decode(text: &_orm::str) -> _orm::Result<Self, _orm::KeyFault> {
            _orm::Ok(Self { #member: #of::decode(text)? })
        }
    }
}

fn text_part_body(inner: &Type) -> TokenStream {
    quote! {
        fn prefix(prefix: &_orm::str) -> _orm::String {
            <#inner as _orm::TextPart<__X>>::prefix(prefix)
        }
    }
}

/// A newtype of text can be passed to a key as a literal.
fn newtype_from_text(types: &Types<'_>, inner: &Type, member: &Member) -> Option<TokenStream> {
    let ident = &types.input.ident;
    (kind(inner) == Kind::Text && !types.is_generic()).then(|| {
        quote! {
            impl _orm::Value<#ident> for &_orm::str {
                fn into_value(self) -> #ident {
                    let text = _orm::Value::<_orm::String>::into_value(self);
                    #ident { #member: _orm::From::from(text) }
                }
            }
        }
    })
}

fn newtype_property(inner: &Type, member: &Member) -> TokenStream {
    let of = quote!(<#inner as _orm::Property>);
    let property = property(
        quote!(#of::TYPE),
        quote!(#of::write(&self.#member, out)),
        quote!(_orm::Ok(Self { #member: #of::read(value)? })),
        quote!(#of::edm(&self.#member)),
    );
    quote! {
        #property
        fn absent() -> _orm::Option<Self> {
            #of::absent().map(|value| Self { #member: value })
        }
    }
}
