//! `KeyPart` and `Property` for an enum with codes, or for a newtype.

use crate::expand::signature::{PropertyParts, code_key_part_impl, property_impl, sorted_impls};
use crate::kind::{Kind, kind};
use crate::variants::{Code, KeyPart};
use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{DeriveInput, Field, Member, Type};

pub fn impls(input: &DeriveInput, parsed: &KeyPart<'_>) -> TokenStream {
    match parsed {
        KeyPart::Codes(codes) => codes_impls(input, codes),
        KeyPart::Newtype(field, member) => newtype_impls(input, field, member),
    }
}

fn codes_impls(input: &DeriveInput, codes: &[Code<'_>]) -> TokenStream {
    let code_fn = code_fn(input, codes);
    let key_part = code_key_part(input, codes);
    let ascending =
        codes.is_sorted_by(|left, right| left.code.encode_utf16().lt(right.code.encode_utf16()));
    let sorted = ascending.then(|| sorted_impls(input));
    let property = code_property(input);
    quote!(#code_fn #key_part #sorted #property)
}

/// The function from a variant to its code.
fn code_fn(input: &DeriveInput, codes: &[Code<'_>]) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let variants = codes.iter().map(|code| code.variant);
    let texts = codes.iter().map(|code| &code.code);
    quote! {
        const fn __code #impl_generics (value: &#ident #ty_generics) -> &'static str #where_clause {
            match value {
                #(#ident::#variants => #texts,)*
            }
        }
    }
}

/// `KeyPart` of an enum: the codes as they are.
fn code_key_part(input: &DeriveInput, codes: &[Code<'_>]) -> TokenStream {
    let units = |code: &Code<'_>| code.code.encode_utf16().count();
    let longest = codes.iter().map(units).max().unwrap_or_default();
    let fixed = codes.iter().all(|code| code.code.is_ascii() && units(code) == longest);
    let longest = Literal::usize_unsuffixed(longest);
    let width = if fixed { quote!(Fixed(#longest)) } else { quote!(UpTo(#longest)) };
    let arms =
        codes.iter().map(|Code { variant, code, .. }| quote!(#code => _orm::Ok(Self::#variant),));
    let decode = quote! {
        match text {
            #(#arms)*
            _ => _orm::Err(_orm::KeyFault::Malformed),
        }
    };
    code_key_part_impl(input, width, quote!(key.literal(__code(self)); _orm::Ok(())), decode)
}

/// `Property` of an enum: its code as text.
fn code_property(input: &DeriveInput) -> TokenStream {
    let parts = PropertyParts {
        predicates: input.generics.where_clause.to_token_stream(),
        write: quote!(out.string(__code(self))),
        read: quote!(_orm::read_code(value, <Self as _orm::KeyPart<_orm::Plain>>::decode)),
        absent: None,
        edm: quote!(_orm::Ok(_orm::Some(_orm::Edm::from(__code(self))))),
    };
    property_impl(input, parts)
}

/// The traits of a newtype, which are those of its field.
fn newtype_impls(input: &DeriveInput, field: &Field, member: &Member) -> TokenStream {
    let inner = &field.ty;
    let key_part = by_encoder(input, inner, "KeyPart", key_part_body(inner, member));
    let sorted_last = by_encoder(input, inner, "SortedLast", TokenStream::new());
    let sorted = by_encoder(input, inner, "Sorted", TokenStream::new());
    let text_part = by_encoder(input, inner, "TextPart", text_part_body(inner));
    let from_text = newtype_from_text(input, inner, member);
    let property = newtype_property(input, inner, member);
    let ordered = newtype_ordered(input, inner, member);
    quote!(#key_part #sorted_last #sorted #text_part #from_text #property #ordered)
}

/// A trait of keys, by every encoder by which the field has it.
fn by_encoder(input: &DeriveInput, inner: &Type, name: &str, body: TokenStream) -> TokenStream {
    let (ident, name) = (&input.ident, format_ident!("{name}"));
    let mut generics = input.generics.clone();
    generics.params.push(syn::parse_quote!(__X));
    let (impl_generics, _, _) = generics.split_for_impl();
    let (_, ty_generics, where_clause) = input.generics.split_for_impl();
    let predicates = where_clause.iter().flat_map(|clause| &clause.predicates);
    quote! {
        #[automatically_derived]
        impl #impl_generics _orm::#name<__X> for #ident #ty_generics
        where
            #inner: _orm::#name<__X>,
            #(#predicates,)*
        {
            #body
        }
    }
}

fn key_part_body(inner: &Type, member: &Member) -> TokenStream {
    let of = quote!(<#inner as _orm::KeyPart<__X>>);
    quote! {
        const WIDTH: _orm::Width = #of::WIDTH;
        const REVERSED: bool = #of::REVERSED;
        const PREFIX_FREE: bool = #of::PREFIX_FREE;
        fn encode(&self, key: &mut _orm::KeyText) -> _orm::Result<(), _orm::KeyFault> {
            #of::encode(&self.#member, key)
        }
        fn is_rounded(&self) -> bool {
            #of::is_rounded(&self.#member)
        }
        fn decode(text: &str) -> _orm::Result<Self, _orm::KeyFault> {
            _orm::Ok(Self { #member: #of::decode(text)? })
        }
    }
}

fn text_part_body(inner: &Type) -> TokenStream {
    quote! {
        fn prefix(prefix: &str) -> _orm::String {
            <#inner as _orm::TextPart<__X>>::prefix(prefix)
        }
    }
}

/// A newtype of text is given to a key as a literal.
fn newtype_from_text(input: &DeriveInput, inner: &Type, member: &Member) -> Option<TokenStream> {
    let ident = &input.ident;
    (kind(inner) == Kind::Text && input.generics.params.is_empty()).then(|| {
        quote! {
            impl _orm::Value<#ident> for &str {
                fn into_value(self) -> #ident {
                    #ident { #member: _orm::String::from(self).into() }
                }
            }
        }
    })
}

/// The type's `where` clause with a bound on the field. The higher-ranked bound makes it a condition:
/// a newtype of a type that is no property can still be in keys.
fn where_field(input: &DeriveInput, inner: &Type, name: &str) -> TokenStream {
    let name = format_ident!("{name}");
    let predicates = input.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    quote!(where for<'__any> #inner: _orm::#name, #(#predicates,)*)
}

fn newtype_property(input: &DeriveInput, inner: &Type, member: &Member) -> TokenStream {
    let of = quote!(<#inner as _orm::Property>);
    let absent = quote! {
        fn absent() -> _orm::Option<Self> {
            #of::absent().map(|value| Self { #member: value })
        }
    };
    let parts = PropertyParts {
        predicates: where_field(input, inner, "Property"),
        write: quote!(#of::write(&self.#member, out)),
        read: quote!(_orm::Ok(Self { #member: #of::read(value)? })),
        absent: Some(absent),
        edm: quote!(#of::edm(&self.#member)),
    };
    property_impl(input, parts)
}

fn newtype_ordered(input: &DeriveInput, inner: &Type, member: &Member) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let predicates = where_field(input, inner, "Ordered");
    quote! {
        #[automatically_derived]
        impl #impl_generics _orm::Ordered for #ident #ty_generics #predicates {
            fn is_rounded(&self) -> bool {
                <#inner as _orm::Ordered>::is_rounded(&self.#member)
            }
        }
    }
}
