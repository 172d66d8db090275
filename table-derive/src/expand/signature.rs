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

/// `struct EPartition(..)`, shown where the partition's template is.
pub fn partition_type(types: &EntityTypes<'_>, docs: TokenStream, at: Span) -> TokenStream {
    let entity = types.entity;
    let (krate, lints) = (&entity.krate, lints(entity.input));
    let (vis, name) = (relocated(&entity.input.vis, at), relocated(names::partition(entity), at));
    let (params, where_clause) = (types.params(), &types.where_clause);
    let phantom = types.phantom().map(|phantom| quote!(, #phantom));
    quote_spanned! {at=>
        #docs
        #lints
        #[must_use]
        #[derive(::core::fmt::Debug, ::core::clone::Clone)]
        #vis struct #name #params (#krate::key::PartitionKey #phantom) #where_clause;
    }
}

/// `struct EByX<S>(..)`, shown where the row's template is.
pub fn row_type(types: &EntityTypes<'_>, docs: TokenStream, name: &Ident, at: Span) -> TokenStream {
    let entity = types.entity;
    let (krate, lints) = (&entity.krate, lints(entity.input));
    let (vis, name) = (relocated(&entity.input.vis, at), relocated(name, at));
    let (params, where_clause) = (types.params_and(quote!(__S = ())), &types.where_clause);
    let phantom = types.phantom().map(|phantom| quote!(, #phantom));
    quote_spanned! {at=>
        #docs
        #lints
        #[must_use]
        #[derive(::core::fmt::Debug, ::core::clone::Clone)]
        #vis struct #name #params (#krate::key::RowKey<__S> #phantom) #where_clause;
    }
}

/// `struct EColumns { .. }`, with a field for each column.
pub fn columns_type(
    types: &EntityTypes<'_>,
    docs: TokenStream,
    name: &Ident,
    fields: impl Iterator<Item = TokenStream>,
) -> TokenStream {
    let (vis, lints) = (&types.entity.input.vis, lints(types.entity.input));
    let (params, where_clause) = (types.params(), &types.where_clause);
    let phantom = types.phantom().map(|phantom| quote!(__entity: #phantom,));
    quote! {
        #docs
        #lints
        #[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::marker::Copy)]
        #[allow(dead_code, deprecated, non_snake_case)]
        #vis struct #name #params #where_clause { #(#fields)* #phantom }
    }
}

/// `struct EPatch(..)`.
pub fn patch_type(types: &EntityTypes<'_>, docs: TokenStream) -> TokenStream {
    let (entity, ty) = (types.entity, &types.ty);
    let (krate, vis, lints) = (&entity.krate, &entity.input.vis, lints(entity.input));
    let (name, params, where_clause) = (names::patch(entity), types.params(), &types.where_clause);
    let default = (!types.is_generic()).then(|| quote!(, ::core::default::Default));
    quote! {
        #docs
        #lints
        #[must_use]
        #[derive(::core::fmt::Debug, ::core::clone::Clone #default)]
        #vis struct #name #params (#krate::repo::Patch<#ty>) #where_clause;
    }
}

/// `Default` for a generic patch. A derived one would ask for more of the type's parameters.
pub fn patch_default(types: &EntityTypes<'_>, body: TokenStream) -> Option<TokenStream> {
    let (params, patch, where_clause) = (types.params(), types.patch(), &types.where_clause);
    types.is_generic().then(|| {
        quote! {
            impl #params _orm::Default for #patch #where_clause {
                fn default() -> Self {
                    #body
                }
            }
        }
    })
}

/// `EntityPatch`, by which `Repo::merge` takes the patch.
pub fn entity_patch_impl(types: &EntityTypes<'_>, body: TokenStream) -> TokenStream {
    let EntityTypes { ty, where_clause, .. } = types;
    let (params, patch) = (types.params(), types.patch());
    quote! {
        impl #params _orm::EntityPatch<#ty> for #patch #where_clause {
            fn into_patch(self) -> _orm::Patch<#ty> {
                #body
            }
        }
    }
}

/// `E::partition(..)`. Errors about its arguments show the template.
pub fn partition_fn(
    types: &EntityTypes<'_>,
    parameters: impl Iterator<Item = TokenStream>,
    body: TokenStream,
    at: Span,
) -> TokenStream {
    let (vis, partition) = (&types.entity.input.vis, types.partition());
    let method = Ident::new("partition", at);
    quote!(#vis fn #method(#(#parameters),*) -> #partition { #body })
}

/// `E::partitions(..)`, for a partition with a shard.
pub fn partitions_fn(
    types: &EntityTypes<'_>,
    parameters: impl Iterator<Item = TokenStream>,
    body: TokenStream,
) -> TokenStream {
    let (vis, partition) = (&types.entity.input.vis, types.partition());
    quote!(#vis fn partitions(#(#parameters),*) -> _orm::Vec<#partition> { #body })
}

/// `EPartition::by_x()`.
pub fn row_fn(
    types: &EntityTypes<'_>,
    name: &Ident,
    row: TokenStream,
    body: TokenStream,
) -> TokenStream {
    let vis = &types.entity.input.vis;
    quote!(#vis fn #name(&self) -> #row { #body })
}

/// `EByX::component(value)`, which gives a component.
pub fn component_fn(
    types: &EntityTypes<'_>,
    name: &Ident,
    value: TokenStream,
    next: TokenStream,
    body: TokenStream,
) -> TokenStream {
    let vis = &types.entity.input.vis;
    quote!(#vis fn #name(self, #name: #value) -> #next { #body })
}

/// `EByX::component_in(range)` or `EByX::component_starts_with(prefix)`, which ends a key.
pub fn last_component_fn(
    types: &EntityTypes<'_>,
    name: &Ident,
    parameter: &str,
    values: TokenStream,
    body: TokenStream,
) -> TokenStream {
    let (vis, parameter) = (&types.entity.input.vis, Ident::new(parameter, Span::call_site()));
    quote!(#vis fn #name(self, #parameter: #values) -> _orm::Range<Self> { #body })
}

/// `EPatch::field(value)`.
pub fn setter_fn(
    types: &EntityTypes<'_>,
    name: &Ident,
    parameter: &Ident,
    value: TokenStream,
    body: TokenStream,
) -> TokenStream {
    let vis = &types.entity.input.vis;
    hygienic!(#vis fn #name(self, #parameter: #value) -> Self { #body })
}

/// `EPatch::field_at(slot, value)`.
pub fn slot_setter_fn(
    types: &EntityTypes<'_>,
    name: &Ident,
    value: TokenStream,
    body: TokenStream,
) -> TokenStream {
    let vis = &types.entity.input.vis;
    hygienic!(#vis fn #name(self, slot: usize, value: #value) -> Self { #body })
}

/// `Query` for the type `this`.
pub fn query_impl(
    types: &EntityTypes<'_>,
    (params, this): (TokenStream, &TokenStream),
    row: TokenStream,
    class: TokenStream,
    body: TokenStream,
) -> TokenStream {
    let where_clause = &types.where_clause;
    quote! {
        #[diagnostic::do_not_recommend]
        impl #params _orm::Query for #this #where_clause {
            type Row = #row;
            type Class = #class;
            fn into_keys(self) -> _orm::KeyResult<_orm::KeyRange> {
                #body
            }
        }
    }
}

/// `Row` for a row's type in every state.
pub fn row_impl(
    types: &EntityTypes<'_>,
    this: &TokenStream,
    columns: TokenStream,
    index: impl ToTokens,
    value: TokenStream,
) -> TokenStream {
    let (ty, where_clause) = (&types.ty, &types.where_clause);
    let params = types.params_and(quote!(__S));
    quote! {
        impl #params _orm::Row for #this #where_clause {
            type Entity = #ty;
            type Columns = #columns;
            const INDEX: usize = #index;
            const COLUMNS: Self::Columns = #value;
        }
    }
}

/// `Stores`: the row's properties or keys hold the field with that number. `id` declares the number
/// where the row holds every field.
pub fn stores_impl(
    types: &EntityTypes<'_>,
    this: &TokenStream,
    id: impl ToTokens,
    declared: Option<TokenStream>,
) -> TokenStream {
    let declared = declared.map(|declared| quote!(, #declared));
    let (params, where_clause) = (types.params_and(quote!(__S #declared)), &types.where_clause);
    quote!(impl #params _orm::Stores<#id> for #this #where_clause {})
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
    pub canonical: Option<TokenStream>,
    pub encode_partition_key: TokenStream,
    pub encode_row_key: TokenStream,
    pub encode_properties: TokenStream,
    pub set_version: Option<TokenStream>,
}

pub fn table_entity_impl(types: &EntityTypes<'_>, parts: TableEntityParts) -> TokenStream {
    let EntityTypes { ty, where_clause, .. } = types;
    let params = types.params();
    let TableEntityParts { table, partition, escape, rows, guards, longest_keys, flags, .. } =
        &parts;
    let TableEntityParts { canonical, encode_partition_key, encode_row_key, .. } = &parts;
    let TableEntityParts { encode_properties, set_version, .. } = &parts;
    hygienic! {
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl #params _orm::TableEntity for #ty #where_clause {
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
            fn encode_row_key(
                &self,
                row: usize,
                key: &mut _orm::KeyText,
            ) -> _orm::KeyResult<bool> {
                #encode_row_key
            }
            fn encode_properties(
                &self,
                row: usize,
                out: &mut _orm::PropertiesWriter,
            ) -> _orm::Written {
                #encode_properties
            }
            #set_version
        }
    }
}

/// `ReadRow`. `consts` are the constants that differ from the trait's defaults.
pub fn read_row_impl(
    params: impl ToTokens,
    ty: impl ToTokens,
    where_clause: impl ToTokens,
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

/// `FromRow` of the rows `row`, each of which is read as the whole entity.
pub fn from_row_impl(
    types: &EntityTypes<'_>,
    params: TokenStream,
    row: impl ToTokens,
) -> TokenStream {
    let EntityTypes { ty, where_clause, .. } = types;
    quote! {
        #[diagnostic::do_not_recommend]
        impl #params _orm::FromRow<#row> for #ty #where_clause {}
    }
}

/// `Field`: what a projection asks of the entity for one of its fields.
pub fn field_impl(
    types: &EntityTypes<'_>,
    params: TokenStream,
    (id, ty): (impl ToTokens, impl ToTokens),
    property: &str,
    from_keys: Option<TokenStream>,
) -> TokenStream {
    let (entity, where_clause) = (&types.ty, &types.where_clause);
    quote! {
        impl #params _orm::Field<#id, #ty> for #entity #where_clause {
            const PROPERTY: &'static str = #property;
            #from_keys
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
