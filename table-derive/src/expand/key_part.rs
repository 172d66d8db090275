//! `#[derive(KeyPart)]`: an enum with codes, or a newtype.

use super::anonymous;
use crate::attr::Items;
use crate::errors::Errors;
use crate::kind::{Kind, kind};
use crate::symbol::{CRATE, KEY};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::{Attribute, Data, DeriveInput, Field, Fields, LitStr, Member, Token, Variant};

pub fn key_part(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let (krate, impls) = match &input.data {
        Data::Enum(data) => {
            let krate = krate(&input.attrs, &mut errors);
            let codes = codes(input, &data.variants, &mut errors);
            let impls =
                if errors.is_empty() { codes_impls(input, &codes) } else { fallback(input) };
            (krate, impls)
        }
        Data::Struct(data) => {
            let krate = krate(&input.attrs, &mut errors);
            let fields: Vec<&Field> = data.fields.iter().collect();
            if let [field] = fields[..] {
                if let Some(attr) = keys(&field.attrs).next() {
                    errors.push(
                        attr.path(),
                        "a newtype is stored as its field is, under no key of its own",
                        "leave `#[key(..)]` out",
                    );
                }
                let member = data.fields.members().next();
                (krate, newtype_impls(input, field, member))
            } else {
                not_a_key_part(input, &mut errors);
                (krate, fallback(input))
            }
        }
        Data::Union(_) => {
            not_a_key_part(input, &mut errors);
            return errors.into_tokens();
        }
    };
    let (errors, impls) = (errors.into_tokens(), anonymous(input, &krate, impls));
    quote!(#errors #impls)
}

fn not_a_key_part(input: &DeriveInput, errors: &mut Errors) {
    errors.push(
        &input.ident,
        format!("`{}` has no text that could stand in a key", input.ident),
        "derive `KeyPart` on an enum of variants without fields, or on a struct of one field",
    );
}

/// `#[key(crate = path)]` on the type.
fn krate(attrs: &[Attribute], errors: &mut Errors) -> TokenStream {
    let mut items = Items::of(attrs, KEY, &[CRATE], errors);
    crate::ast::krate(&mut items, errors)
}

fn keys(attrs: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident(KEY))
}

/// A variant with the code that stands for it.
struct Code<'a> {
    variant: &'a Ident,
    code: String,
    /// Where the code stands.
    at: TokenStream,
}

fn codes<'a>(
    input: &DeriveInput,
    variants: &'a Punctuated<Variant, Token![,]>,
    errors: &mut Errors,
) -> Vec<Code<'a>> {
    if variants.is_empty() {
        not_a_key_part(input, errors);
    }
    let mut codes: Vec<Code<'a>> = Vec::new();
    for variant in variants {
        if !matches!(variant.fields, Fields::Unit) {
            errors.push(
                &variant.ident,
                format!("variant `{}` has fields, which one code cannot tell", variant.ident),
                "leave the fields out, or store them in fields of the entity",
            );
            continue;
        }
        let mut attrs = keys(&variant.attrs);
        let attr = attrs.next();
        if let Some(second) = attrs.next() {
            errors.push(
                second.path(),
                format!("variant `{}` has a second code", variant.ident),
                "keep the one that rows are stored with",
            );
        }
        let given = attr.map(|attr| attr.parse_args::<LitStr>());
        let Some(given) = given.map_or(Some(None), |given| errors.keep(given).map(Some)) else {
            continue;
        };
        let code = Code {
            variant: &variant.ident,
            at: given
                .as_ref()
                .map_or_else(|| variant.ident.to_token_stream(), ToTokens::to_token_stream),
            code: given.map_or_else(|| variant.ident.unraw().to_string(), |code| code.value()),
        };
        let refused = |c: char| matches!(c, '/' | '\\' | '#' | '?' | '~') || c.is_control();
        if code.code.is_empty() {
            errors.push(&code.at, "an empty code", "give every variant a code: `#[key(\"M\")]`");
            continue;
        } else if let Some(c) = code.code.chars().find(|&c| refused(c)) {
            errors.push(
                &code.at,
                format!("a code cannot hold {c:?}"),
                "use letters, digits and signs other than `/`, `\\`, `#`, `?` and `~`",
            );
        } else if let Some(other) = codes.iter().find(|other| other.code == code.code) {
            errors.push(
                &code.at,
                format!(
                    "`{}` and `{}` have the same code {:?}",
                    other.variant, code.variant, code.code
                ),
                "give each variant a code of its own: `#[key(\"..\")]`",
            );
        } else if let Some(other) = codes
            .iter()
            .find(|other| other.code.starts_with(&code.code) || code.code.starts_with(&other.code))
        {
            errors.push(
                &code.at,
                format!(
                    "of the codes {:?} and {:?}, one is the start of the other",
                    other.code, code.code
                ),
                "use codes of one length, or of which none is the start of another",
            );
        }
        codes.push(code);
    }
    codes
}

fn codes_impls(input: &DeriveInput, codes: &[Code<'_>]) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let units = |code: &Code<'_>| code.code.encode_utf16().count();
    let longest = codes.iter().map(units).max().unwrap_or_default();
    let fixed = codes.iter().all(|code| code.code.is_ascii() && units(code) == longest);
    let longest = Literal::usize_unsuffixed(longest);
    let width = if fixed { quote!(Fixed(#longest)) } else { quote!(UpTo(#longest)) };
    let ascending = codes.windows(2).all(|pair| match pair {
        [left, right] => left.code.encode_utf16().lt(right.code.encode_utf16()),
        _ => true,
    });
    let sorted = ascending.then(|| {
        quote! {
            impl #impl_generics _orm::SortedLast<_orm::Plain> for #ident #ty_generics #where_clause {}
            impl #impl_generics _orm::Sorted<_orm::Plain> for #ident #ty_generics #where_clause {}
            impl #impl_generics _orm::Ordered for #ident #ty_generics #where_clause {}
        }
    });
    let variants: Vec<_> = codes.iter().map(|code| code.variant).collect();
    let texts: Vec<_> = codes.iter().map(|code| &code.code).collect();
    quote! {
        const fn __code #impl_generics (value: &#ident #ty_generics) -> &'static str #where_clause {
            match value {
                #(#ident::#variants => #texts,)*
            }
        }
        #[automatically_derived]
        impl #impl_generics _orm::KeyPart<_orm::Plain> for #ident #ty_generics #where_clause {
            const WIDTH: _orm::Width = _orm::Width::#width;
            const PREFIX_FREE: bool = true;
            fn encode(&self, key: &mut _orm::KeyText) -> _orm::Result<(), _orm::KeyFault> {
                key.literal(__code(self));
                _orm::Ok(())
            }
            fn decode(text: &str) -> _orm::Result<Self, _orm::KeyFault> {
                match text {
                    #(#texts => _orm::Ok(Self::#variants),)*
                    _ => _orm::Err(_orm::KeyFault::Malformed),
                }
            }
        }
        #sorted
        #[automatically_derived]
        impl #impl_generics _orm::Property for #ident #ty_generics #where_clause {
            fn write(
                &self,
                out: _orm::PropertyWriter<'_>,
            ) -> _orm::Result<(), _orm::PropertyFault> {
                out.string(__code(self))
            }
            fn read<'__de, __D: _orm::Deserializer<'__de>>(
                value: __D,
            ) -> _orm::Result<Self, __D::Error> {
                _orm::read_code(value, <Self as _orm::KeyPart<_orm::Plain>>::decode)
            }
            fn edm(&self) -> _orm::Result<_orm::Option<_orm::Edm>, _orm::PropertyFault> {
                _orm::Ok(_orm::Some(_orm::Edm::from(__code(self))))
            }
        }
    }
}

fn newtype_impls(input: &DeriveInput, field: &Field, member: Option<Member>) -> TokenStream {
    let (ident, inner) = (&input.ident, &field.ty);
    let (property_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let mut generics = input.generics.clone();
    generics.params.push(syn::parse_quote!(__X));
    let (impl_generics, _, _) = generics.split_for_impl();
    let predicates: Vec<_> = where_clause.iter().flat_map(|clause| &clause.predicates).collect();
    let marker = |name: TokenStream, body: TokenStream| {
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
    };
    let of = |name: TokenStream| quote!(<#inner as _orm::#name>);
    let key_part = of(quote!(KeyPart<__X>));
    let text_part = of(quote!(TextPart<__X>));
    let property = of(quote!(Property));
    let ordered = of(quote!(Ordered));
    let key_part = marker(
        quote!(KeyPart),
        quote! {
            const WIDTH: _orm::Width = #key_part::WIDTH;
            const REVERSED: bool = #key_part::REVERSED;
            const PREFIX_FREE: bool = #key_part::PREFIX_FREE;
            fn encode(&self, key: &mut _orm::KeyText) -> _orm::Result<(), _orm::KeyFault> {
                #key_part::encode(&self.#member, key)
            }
            fn is_rounded(&self) -> bool {
                #key_part::is_rounded(&self.#member)
            }
            fn decode(text: &str) -> _orm::Result<Self, _orm::KeyFault> {
                _orm::Ok(Self { #member: #key_part::decode(text)? })
            }
        },
    );
    let text_part = marker(
        quote!(TextPart),
        quote! {
            fn prefix(prefix: &str) -> _orm::String {
                #text_part::prefix(prefix)
            }
        },
    );
    let sorted_last = marker(quote!(SortedLast), TokenStream::new());
    let sorted = marker(quote!(Sorted), TokenStream::new());
    let from_text = (kind(inner) == Kind::Text && input.generics.params.is_empty()).then(|| {
        quote! {
            impl _orm::Value<#ident> for &str {
                fn into_value(self) -> #ident {
                    #ident { #member: _orm::String::from(self).into() }
                }
            }
        }
    });
    quote! {
        #key_part
        #sorted_last
        #sorted
        #text_part
        #from_text
        // The higher-ranked bound lets a type that is no property stand in keys all the same.
        #[automatically_derived]
        impl #property_generics _orm::Property for #ident #ty_generics
        where
            for<'__any> #inner: _orm::Property,
            #(#predicates,)*
        {
            fn write(
                &self,
                out: _orm::PropertyWriter<'_>,
            ) -> _orm::Result<(), _orm::PropertyFault> {
                #property::write(&self.#member, out)
            }
            fn read<'__de, __D: _orm::Deserializer<'__de>>(
                value: __D,
            ) -> _orm::Result<Self, __D::Error> {
                _orm::Ok(Self { #member: #property::read(value)? })
            }
            fn absent() -> _orm::Option<Self> {
                #property::absent().map(|value| Self { #member: value })
            }
            fn edm(&self) -> _orm::Result<_orm::Option<_orm::Edm>, _orm::PropertyFault> {
                #property::edm(&self.#member)
            }
        }
        #[automatically_derived]
        impl #property_generics _orm::Ordered for #ident #ty_generics
        where
            for<'__any> #inner: _orm::Ordered,
            #(#predicates,)*
        {
            fn is_rounded(&self) -> bool {
                #ordered::is_rounded(&self.#member)
            }
        }
    }
}

/// Every implementation, so that the mistake in the derive is the only error.
fn fallback(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        impl #impl_generics _orm::KeyPart<_orm::Plain> for #ident #ty_generics #where_clause {
            const WIDTH: _orm::Width = _orm::Width::Fixed(1);
            fn encode(&self, key: &mut _orm::KeyText) -> _orm::Result<(), _orm::KeyFault> {
                loop {}
            }
            fn decode(text: &str) -> _orm::Result<Self, _orm::KeyFault> {
                loop {}
            }
        }
        impl #impl_generics _orm::SortedLast<_orm::Plain> for #ident #ty_generics #where_clause {}
        impl #impl_generics _orm::Sorted<_orm::Plain> for #ident #ty_generics #where_clause {}
        impl #impl_generics _orm::Ordered for #ident #ty_generics #where_clause {}
        impl #impl_generics _orm::Property for #ident #ty_generics #where_clause {
            fn write(
                &self,
                out: _orm::PropertyWriter<'_>,
            ) -> _orm::Result<(), _orm::PropertyFault> {
                loop {}
            }
            fn read<'__de, __D: _orm::Deserializer<'__de>>(
                value: __D,
            ) -> _orm::Result<Self, __D::Error> {
                loop {}
            }
            fn edm(&self) -> _orm::Result<_orm::Option<_orm::Edm>, _orm::PropertyFault> {
                loop {}
            }
        }
    }
}
