//! The signature of every type, method and implementation that the derives generate.
//!
//! Each signature is written here once. `expand` fills it with code, `fallback` with `loop {}`, so
//! code that uses an entity compiles the same way while the entity has a mistake.

use crate::expand::scope::{hygienic, lints, relocated};
use crate::expand::types::EntityTypes;
use crate::names;
use crate::variants::UnionMember;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::DeriveInput;

/// Types.
impl EntityTypes<'_> {
    /// `struct EPartition(..)`, shown where the partition's template is.
    pub fn partition_type(&self, docs: TokenStream, at: Span) -> TokenStream {
        let krate = &self.entity.krate;
        let key = quote!(#krate::query::PartitionKey);
        self.key_type(docs, &names::partition(self.entity), self.params(), key, at)
    }

    /// `struct EByX<S>(..)`, shown where the row's template is.
    pub fn row_type(&self, docs: TokenStream, name: &Ident, at: Span) -> TokenStream {
        let krate = &self.entity.krate;
        let key = quote!(#krate::query::RowKey<__S>);
        self.key_type(docs, name, self.params_and(quote!(__S = ())), key, at)
    }

    fn key_type(
        &self,
        docs: TokenStream,
        name: &Ident,
        params: TokenStream,
        key: TokenStream,
        at: Span,
    ) -> TokenStream {
        let (vis, name) = (relocated(&self.entity.input.vis, at), relocated(name, at));
        let (lints, where_clause) = (lints(self.entity.input), &self.where_clause);
        let phantom = self.phantom().map(|phantom| quote!(, #phantom));
        quote_spanned! {at=>
            #docs
            #lints
            #[must_use]
            #[derive(::core::fmt::Debug, ::core::clone::Clone)]
            #vis struct #name #params (#key #phantom) #where_clause;
        }
    }

    /// `struct EColumns { .. }`, with a field for each column.
    pub fn columns_type(
        &self,
        docs: TokenStream,
        name: &Ident,
        fields: TokenStream,
    ) -> TokenStream {
        let (vis, lints) = (&self.entity.input.vis, lints(self.entity.input));
        let (params, where_clause) = (self.params(), &self.where_clause);
        let phantom = self.phantom().map(|phantom| quote!(__entity: #phantom,));
        quote! {
            #docs
            #lints
            #[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::marker::Copy)]
            #[allow(dead_code, deprecated, non_snake_case)]
            #vis struct #name #params #where_clause { #fields #phantom }
        }
    }

    /// `struct EPatch(..)`.
    pub fn patch_type(&self, docs: TokenStream) -> TokenStream {
        let (entity, ty, where_clause) = (self.entity, &self.ty, &self.where_clause);
        let (krate, vis, lints) = (&entity.krate, &entity.input.vis, lints(entity.input));
        let (name, params) = (names::patch(entity), self.params());
        let default = (!self.is_generic()).then(|| quote!(, ::core::default::Default));
        quote! {
            #docs
            #lints
            #[must_use]
            #[derive(::core::fmt::Debug, ::core::clone::Clone #default)]
            #vis struct #name #params (#krate::repo::Patch<#ty>) #where_clause;
        }
    }
}

/// Methods.
impl EntityTypes<'_> {
    /// `E::partition(..)`. Errors about its arguments show the template.
    pub fn partition_fn(
        &self,
        parameters: TokenStream,
        body: TokenStream,
        at: Span,
    ) -> TokenStream {
        let (vis, partition) = (&self.entity.input.vis, self.partition());
        let method = Ident::new("partition", at);
        quote!(#vis fn #method(#parameters) -> #partition { #body })
    }

    /// `E::partitions(..)`, for a partition with a shard.
    pub fn partitions_fn(&self, parameters: TokenStream, body: TokenStream) -> TokenStream {
        let (vis, partition) = (&self.entity.input.vis, self.partition());
        quote!(#vis fn partitions(#parameters) -> _orm::Vec<#partition> { #body })
    }

    /// `EPartition::by_x()`.
    pub fn row_fn(&self, name: &Ident, row: TokenStream, body: TokenStream) -> TokenStream {
        let vis = &self.entity.input.vis;
        quote!(#vis fn #name(&self) -> #row { #body })
    }

    /// `EByX::component(value)`, which gives a component and returns the key in its next state.
    pub fn component_fn(
        &self,
        name: &Ident,
        (value, next): (TokenStream, TokenStream),
        body: TokenStream,
    ) -> TokenStream {
        let vis = &self.entity.input.vis;
        quote!(#vis fn #name(self, #name: #value) -> #next { #body })
    }

    /// `EByX::component_in(range)` or `EByX::component_starts_with(prefix)`, which ends a key.
    pub fn last_component_fn(
        &self,
        name: &Ident,
        (parameter, ty): (&str, TokenStream),
        body: TokenStream,
    ) -> TokenStream {
        let (vis, parameter) = (&self.entity.input.vis, Ident::new(parameter, Span::call_site()));
        quote!(#vis fn #name(self, #parameter: #ty) -> _orm::Range<Self> { #body })
    }

    /// `EPatch::field(value)`.
    pub fn setter_fn(
        &self,
        name: &Ident,
        (parameter, ty): (&Ident, TokenStream),
        body: TokenStream,
    ) -> TokenStream {
        let vis = &self.entity.input.vis;
        hygienic!(#vis fn #name(self, #parameter: #ty) -> Self { #body })
    }

    /// `EPatch::field_at(slot, value)`.
    pub fn slot_setter_fn(&self, name: &Ident, ty: TokenStream, body: TokenStream) -> TokenStream {
        let vis = &self.entity.input.vis;
        hygienic!(#vis fn #name(self, slot: usize, value: #ty) -> Self { #body })
    }
}

/// The parts of `TableEntity` that an entity fills.
#[derive(Default)]
pub struct TableEntityParts {
    pub table: TokenStream,
    pub partition: TokenStream,
    pub escape: Option<TokenStream>,
    pub rows: Vec<TokenStream>,
    pub guards: Option<TokenStream>,
    pub longest_keys: Vec<TokenStream>,
    /// Constants that differ from the trait's defaults.
    pub flags: TokenStream,
    pub canonical: TokenStream,
    pub encode_partition_key: TokenStream,
    pub encode_row_key: TokenStream,
    pub encode_properties: TokenStream,
    pub set_version: Option<TokenStream>,
}

/// Implementations.
impl EntityTypes<'_> {
    /// An implementation with these parameters and the entity's bounds.
    fn implement(
        &self,
        params: TokenStream,
        what: TokenStream,
        this: impl ToTokens,
        body: TokenStream,
    ) -> TokenStream {
        let where_clause = &self.where_clause;
        quote!(impl #params #what for #this #where_clause { #body })
    }

    pub fn table_entity_impl(&self, parts: TableEntityParts) -> TokenStream {
        let TableEntityParts { table, partition, escape, rows, guards, longest_keys, .. } = &parts;
        let TableEntityParts { flags, canonical, set_version, .. } = &parts;
        let TableEntityParts { encode_partition_key, encode_row_key, encode_properties, .. } =
            &parts;
        let body = hygienic! {
            const TABLE: &'static str = #table;
            const PARTITION: &'static str = #partition;
            #escape
            const ROWS: &'static [_orm::RowTemplate] = &[#(#rows),*];
            #guards
            const LONGEST_KEYS: &'static [_orm::Option<usize>] = &[#(#longest_keys),*];
            #flags
            type Canonical = #canonical;
            fn encode_partition_key(&self, key: &mut _orm::KeyText) -> _orm::KeyResult {
                #encode_partition_key
            }
            fn encode_row_key(&self, row: usize, key: &mut _orm::KeyText) -> _orm::KeyResult<bool> {
                #encode_row_key
            }
            fn encode_properties(&self, row: usize, out: &mut _orm::PropertiesWriter) -> _orm::Written {
                #encode_properties
            }
            #set_version
        };
        let implement = self.implement(self.params(), quote!(_orm::TableEntity), &self.ty, body);
        quote!(#[automatically_derived] #[diagnostic::do_not_recommend] #implement)
    }

    /// `FromRow` of the rows `row`, each of which is read as the whole entity.
    pub fn full_row_impl(&self, params: TokenStream, row: impl ToTokens) -> TokenStream {
        let from = quote!(_orm::FromRow<#row>);
        let implement = self.implement(params, from, &self.ty, TokenStream::new());
        quote!(#[diagnostic::do_not_recommend] #implement)
    }

    /// `Query` for the type `this`.
    pub fn query_impl(
        &self,
        (params, this): (TokenStream, &TokenStream),
        (row, class): (TokenStream, TokenStream),
        body: TokenStream,
    ) -> TokenStream {
        let body = quote! {
            type Row = #row;
            type Class = #class;
            fn into_keys(self) -> _orm::KeyResult<_orm::KeyRange> { #body }
        };
        let implement = self.implement(params, quote!(_orm::Query), this, body);
        quote!(#[diagnostic::do_not_recommend] #implement)
    }

    /// `Row` for a row's type in every state.
    pub fn row_impl(
        &self,
        this: &TokenStream,
        columns: TokenStream,
        (index, value): (impl ToTokens, TokenStream),
    ) -> TokenStream {
        let ty = &self.ty;
        let body = quote! {
            type Entity = #ty;
            type Columns = #columns;
            const INDEX: usize = #index;
            const COLUMNS: Self::Columns = #value;
        };
        self.implement(self.params_and(quote!(__S)), quote!(_orm::Row), this, body)
    }

    /// `Stores`: the row's properties or keys hold the field with that number.
    pub fn stores_impl(&self, this: &TokenStream, id: impl ToTokens) -> TokenStream {
        let stores = quote!(_orm::Stores<#id>);
        self.implement(self.params_and(quote!(__S)), stores, this, TokenStream::new())
    }

    /// `Stores` of every field.
    pub fn stores_all_impl(&self, this: &TokenStream) -> TokenStream {
        let params = self.params_and(quote!(__S, const _ID: u64));
        self.implement(params, quote!(_orm::Stores<_ID>), this, TokenStream::new())
    }

    /// `Field`: what a projection asks of the entity for one of its fields.
    pub fn field_impl(
        &self,
        params: TokenStream,
        (id, ty): (impl ToTokens, impl ToTokens),
        property: &str,
        from_keys: Option<TokenStream>,
    ) -> TokenStream {
        let body = quote!(const PROPERTY: &'static str = #property; #from_keys);
        self.implement(params, quote!(_orm::Field<#id, #ty>), &self.ty, body)
    }

    /// `Default` for a generic patch. A derived one would ask for more of the type's parameters.
    pub fn patch_default(&self, body: TokenStream) -> Option<TokenStream> {
        let body = quote!(fn default() -> Self { #body });
        self.is_generic()
            .then(|| self.implement(self.params(), quote!(_orm::Default), self.patch(), body))
    }

    /// `EntityPatch`, by which `Repo::merge` takes the patch.
    pub fn entity_patch_impl(&self, body: TokenStream) -> TokenStream {
        let ty = &self.ty;
        let body = quote!(fn into_patch(self) -> _orm::Patch<#ty> { #body });
        self.implement(self.params(), quote!(_orm::EntityPatch<#ty>), self.patch(), body)
    }
}

/// `ReadRow`. `consts` are the constants that differ from the trait's defaults.
pub fn read_row_impl(
    (params, ty, where_clause): (impl ToTokens, impl ToTokens, impl ToTokens),
    (name, consts): (&str, Option<TokenStream>),
    body: TokenStream,
) -> TokenStream {
    hygienic! {
        #[automatically_derived]
        impl #params _orm::ReadRow for #ty #where_clause {
            const NAME: &'static str = #name;
            #consts
            fn read_row(row: usize, mut m: _orm::Members<'_, '_>) -> _orm::Read<Self> {
                #body
            }
        }
    }
}

/// The parts of `Properties` that a group of properties fills.
pub struct PropertiesParts {
    pub properties: TokenStream,
    pub slots: TokenStream,
    pub write: TokenStream,
    pub read: TokenStream,
    pub finish: TokenStream,
}

pub fn properties_impl(input: &DeriveInput, parts: PropertiesParts) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let PropertiesParts { properties, slots, write, read, finish } = parts;
    hygienic! {
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl #impl_generics _orm::Properties for #ident #ty_generics #where_clause {
            const PROPERTIES: &'static [_orm::Declared] = #properties;
            type Slots = #slots;
            fn write(
                &self,
                name: &str,
                out: &mut _orm::PropertiesWriter,
            ) -> _orm::Result<(), _orm::PropertyError> {
                #write
            }
            fn read(
                slots: &mut Self::Slots,
                name: &str,
                property: &str,
                members: &mut _orm::Members<'_, '_>,
            ) -> _orm::Read<bool> {
                #read
            }
            fn finish(slots: Self::Slots, name: &str) -> _orm::Read<Self> {
                #finish
            }
        }
    }
}

/// The parts of `TableUnion` that an enum fills.
#[derive(Default)]
pub struct UnionParts {
    pub name: String,
    pub table: TokenStream,
    pub members: Vec<TokenStream>,
    pub read: TokenStream,
}

pub fn union_impl(input: &DeriveInput, parts: UnionParts) -> TokenStream {
    let ident = &input.ident;
    let UnionParts { name, table, members, read } = parts;
    quote! {
        #[automatically_derived]
        impl _orm::TableUnion for #ident {
            const NAME: &'static str = #name;
            const TABLE: &'static str = #table;
            const MEMBERS: &'static [_orm::UnionMember] = &[#(#members),*];
            fn read_member(
                member: usize,
                row: &[u8],
            ) -> _orm::Result<Self, _orm::PropertyError> {
                #read
            }
        }
    }
}

/// `MemberOf`: the union reads this entity type.
pub fn member_impl(input: &DeriveInput, member: &UnionMember<'_>) -> TokenStream {
    let (ident, ty) = (&input.ident, member.ty);
    quote! {
        #[diagnostic::do_not_recommend]
        impl _orm::MemberOf<#ident> for #ty {}
    }
}

/// `FromRow` of a projection, for the rows of which `row` is a bound and that hold its fields.
pub fn projected_from_row_impl(
    input: &DeriveInput,
    row: TokenStream,
    stores: TokenStream,
) -> TokenStream {
    let ident = &input.ident;
    let (_, ty_generics, where_clause) = input.generics.split_for_impl();
    let mut generics = input.generics.clone();
    generics.params.push(syn::parse_quote!(__R: #row));
    let (row_generics, _, _) = generics.split_for_impl();
    let predicates = where_clause.iter().flat_map(|clause| &clause.predicates);
    quote! {
        impl #row_generics _orm::FromRow<__R> for #ident #ty_generics
        where
            #stores
            #(#predicates,)*
        {
        }
    }
}

/// `KeyPart` of an enum by its plain encoder.
pub fn code_key_part_impl(
    input: &DeriveInput,
    width: TokenStream,
    encode: TokenStream,
    decode: TokenStream,
) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics _orm::KeyPart<_orm::Plain> for #ident #ty_generics #where_clause {
            const WIDTH: _orm::Width = _orm::Width::#width;
            const PREFIX_FREE: bool = true;
            fn encode(&self, key: &mut _orm::KeyText) -> _orm::Result<(), _orm::KeyFault> {
                #encode
            }
            fn decode(text: &str) -> _orm::Result<Self, _orm::KeyFault> {
                #decode
            }
        }
    }
}

/// The traits that let ranges of variants be asked for.
pub fn sorted_impls(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        impl #impl_generics _orm::SortedLast<_orm::Plain> for #ident #ty_generics #where_clause {}
        impl #impl_generics _orm::Sorted<_orm::Plain> for #ident #ty_generics #where_clause {}
        impl #impl_generics _orm::Ordered for #ident #ty_generics #where_clause {}
    }
}

/// The bodies of `Property`, and what else the trait has.
pub struct PropertyParts {
    pub predicates: TokenStream,
    pub write: TokenStream,
    pub read: TokenStream,
    pub absent: Option<TokenStream>,
    pub edm: TokenStream,
}

pub fn property_impl(input: &DeriveInput, parts: PropertyParts) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let PropertyParts { predicates, write, read, absent, edm } = parts;
    quote! {
        #[automatically_derived]
        impl #impl_generics _orm::Property for #ident #ty_generics #predicates {
            fn write(
                &self,
                out: _orm::PropertyWriter<'_>,
            ) -> _orm::Result<(), _orm::PropertyFault> {
                #write
            }
            fn read<'__de, __D: _orm::Deserializer<'__de>>(
                value: __D,
            ) -> _orm::Result<Self, __D::Error> {
                #read
            }
            #absent
            fn edm(&self) -> _orm::Result<_orm::Option<_orm::Edm>, _orm::PropertyFault> {
                #edm
            }
        }
    }
}
