//! `TableEntity`: the templates of an entity, and how it is written into rows.

use crate::ast::{Field, Role};
use crate::expand::key::{
    longest_keys, of_unknown_width, width, write_partition_key, write_row_key,
};
use crate::expand::property;
use crate::expand::scope::hygienic;
use crate::expand::signature::TableEntityParts;
use crate::expand::types::EntityTypes;
use crate::model::{Key, Model, Part};
use crate::names;
use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

pub fn impls(model: &Model<'_>, types: &EntityTypes<'_>) -> TokenStream {
    let (constants, longest_keys) = longest_keys(model, types.is_generic());
    let assertions = assertions(model);
    // Assertions about a type parameter run where a key of that type is written.
    let (outside, inside) =
        if types.is_generic() { (vec![], Some(deferred(&assertions))) } else { (assertions, None) };
    let partition_key = write_partition_key(model);
    let row_key = write_row_key(model);
    let properties = write_properties(model);
    let parts = TableEntityParts {
        table: model.entity.table.to_token_stream(),
        partition: model.partition.template.text.to_token_stream(),
        escape: escape(model),
        rows: row_templates(model),
        guards: guards(model),
        longest_keys,
        flags: flags(model),
        canonical: types.row(&model.entity.rows[model.canonical]),
        encode_partition_key: hygienic!(#inside #partition_key _orm::Ok(())),
        encode_row_key: hygienic!(#row_key _orm::Ok(true)),
        encode_properties: hygienic!(#properties _orm::Ok(())),
        set_version: set_version(&model.entity.fields),
    };
    let table_entity = types.table_entity_impl(parts);
    let full_rows = full_rows(model, types);
    quote! {
        #(const _: () = #outside)*
        #constants
        #table_entity
        #full_rows
    }
}

/// The constant that lets keys hold all text.
fn escape(model: &Model<'_>) -> Option<TokenStream> {
    model.entity.encode.then(|| {
        quote!(
            const ESCAPE: _orm::Escape = _orm::Escape::Encode;
        )
    })
}

/// The values of `ROWS`.
fn row_templates(model: &Model<'_>) -> Vec<TokenStream> {
    let rows = model.rows().map(|(row, key)| {
        let make = if row.is_full() { quote!(full) } else { quote!(partial) };
        let name = row.name.unraw().to_string();
        let (text, start, digits) = (&key.template.text, &key.template.start, digits(key));
        quote!(_orm::RowTemplate::#make(#name, #text, #start) #digits)
    });
    rows.collect()
}

/// The digits that keys without a literal start with: they differ from other types' keys by them.
fn digits(key: &Key<'_>) -> Option<TokenStream> {
    let first = key.parts.first().filter(|_| key.template.start.is_empty());
    let digits = first.map(Part::digits).filter(|digits| *digits > 0)?;
    let digits = Literal::usize_unsuffixed(digits);
    Some(quote!(.digits(#digits)))
}

/// The constant with the guard rows.
fn guards(model: &Model<'_>) -> Option<TokenStream> {
    let guards = model.entity.uniques.iter().map(|unique| {
        let (name, key, start) = (&unique.name, &unique.template.text, &unique.template.start);
        quote!(_orm::GuardTemplate::new(#name, #key, #start))
    });
    (!model.entity.uniques.is_empty())
        .then(|| quote!(const GUARDS: &'static [_orm::GuardTemplate] = &[#(#guards),*];))
}

/// The constants that allow cheaper writes.
fn flags(model: &Model<'_>) -> TokenStream {
    let flags = [
        (model.keys_follow_canonical(), quote!(KEYS_FOLLOW_CANONICAL)),
        (model.patch_is_one_row(), quote!(PATCHES_ONE_ROW)),
    ];
    let flags = flags.iter().filter(|(holds, _)| *holds);
    flags.map(|(_, flag)| quote!(const #flag: bool = true;)).collect()
}

/// The statements of `encode_properties`. Fields that the same rows store share one `if`.
fn write_properties(model: &Model<'_>) -> TokenStream {
    let mut groups: Vec<(Vec<usize>, Vec<TokenStream>)> = Vec::new();
    for field in &model.entity.fields {
        let Some(write) = property::write(field) else { continue };
        let rows = model.rows().enumerate();
        let rows = rows.filter(|(_, (row, _))| row.stores(field) || field.key_only.is_some());
        let rows: Vec<usize> = rows.map(|(index, _)| index).collect();
        match groups.last_mut() {
            Some((same, writes)) if *same == rows => writes.push(write),
            _ => groups.push((rows, vec![write])),
        }
    }
    let writes = groups.into_iter().map(|(rows, writes)| {
        if rows.len() == model.rows.len() {
            return quote!(#(#writes)*);
        }
        let rows = rows.into_iter().map(Literal::usize_unsuffixed);
        hygienic!(if matches!(row, #(#rows)|*) { #(#writes)* })
    });
    let check = check_open(&model.entity.fields);
    quote!(#(#writes)* #check)
}

/// The statement that finds a property which a map and another field both write.
fn check_open(fields: &[Field<'_>]) -> Option<TokenStream> {
    fields.iter().any(|field| field.role == Role::Flatten).then(|| {
        let declared = property::declared(fields);
        hygienic!(out.check_open(#declared)?;)
    })
}

/// `TableEntity::set_version`, where fields hold the version.
fn set_version(fields: &[Field<'_>]) -> Option<TokenStream> {
    let versions = fields.iter().filter_map(|field| {
        let value = match field.role {
            Role::ETag => property::version(field, "ETagField", hygienic!(etag.clone())),
            Role::Timestamp => property::version(field, "TimestampField", hygienic!(_orm::None)),
            _ => return None,
        };
        let ident = field.ident;
        Some(hygienic!(self.#ident = #value;))
    });
    let versions: Vec<_> = versions.collect();
    (!versions.is_empty()).then(|| {
        hygienic! {
            fn set_version(&mut self, etag: &_orm::ETag) {
                #(#versions)*
            }
        }
    })
}

/// What only the types of components and fields know, asserted at the template or field.
fn assertions(model: &Model<'_>) -> Vec<TokenStream> {
    let mut assertions = Vec::new();
    for key in model.keys() {
        let span = key.template.literal.span();
        for part in of_unknown_width(model, key) {
            if part.separator.is_empty()
                && key.parts.last().is_some_and(|last| last.name != part.name)
            {
                let width = width(part);
                assertions.push(quote_spanned!(span=> _orm::assert_fixed_width(#width);));
            }
        }
    }
    if let Some(open) = model.entity.fields.iter().rfind(|field| property::is_open(field)) {
        let declared = property::declared(&model.entity.fields);
        assertions.push(quote_spanned!(open.ty.span()=> _orm::assert_properties(#declared);));
    }
    assertions
}

/// The assertions as a block that runs for each type the entity is used with.
fn deferred(assertions: &[TokenStream]) -> TokenStream {
    quote! {
        const {
            let _ = <Self as _orm::TableEntity>::LONGEST_KEYS;
            #(#assertions)*
        }
    }
}

/// `FromRow` of each row that stores the whole entity.
fn full_rows(model: &Model<'_>, types: &EntityTypes<'_>) -> TokenStream {
    let full = model.entity.rows.iter().filter(|row| row.is_full());
    full.map(|row| {
        let row = types.row_in(names::row(model.entity, row), quote!(__S));
        types.full_row_impl(types.params_and(quote!(__S)), row)
    })
    .collect()
}
