//! `TableEntity`: the templates of an entity, and how it is written into rows.

use crate::ast::{Field, Role};
use crate::expand::key::{
    longest_keys, of_unknown_width, width, write_partition_key, write_row_key,
};
use crate::expand::property;
use crate::expand::scope::hygienic;
use crate::expand::types::Types;
use crate::model::{Key, Model, Part};
use crate::names;
use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

pub fn impls(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let (constants, longest_keys) = longest_keys(model, types.is_generic());
    let assertions = assertions(model);
    // Assertions about a type parameter run where a key of that type is written.
    let (outside, inside) =
        if types.is_generic() { (vec![], Some(deferred(&assertions))) } else { (assertions, None) };
    let body = table_entity(model, types, &longest_keys, inside);
    let table_entity = types.implement(quote!(_orm::TableEntity), body);
    let full_rows = full_rows(model, types);
    quote! {
        #(const _: () = #outside)*
        #constants
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        #table_entity
        #full_rows
    }
}

/// The items of `TableEntity`.
fn table_entity(
    model: &Model<'_>,
    types: &Types<'_>,
    longest_keys: &[TokenStream],
    assertions: Option<TokenStream>,
) -> TokenStream {
    let (table, partition) = (&model.entity.table, &model.partition.template.text);
    let (escape, rows, guards) = (escape(model), row_templates(model), guards(model));
    let (flags, canonical) = (flags(model), types.row(&model.entity.rows[model.canonical]));
    let (partition_key, row_key) = (write_partition_key(model), write_row_key(model));
    let (properties, set_version) = (write_properties(model), set_version(&model.entity.fields));
    hygienic! {
        const TABLE: &'static _orm::str = #table;
        const PARTITION: &'static _orm::str = #partition;
        #escape
        const ROWS: &'static [_orm::RowTemplate] = &[#(#rows),*];
        #guards
        const LONGEST_KEYS: &'static [_orm::Option<_orm::usize>] = &[#(#longest_keys),*];
        #flags
        type Canonical = #canonical;
        fn encode_partition_key(&self, key: &mut _orm::KeyText) -> _orm::KeyResult {
            #assertions
            #partition_key
            _orm::Ok(())
        }
        fn encode_row_key(&self, row: _orm::usize, key: &mut _orm::KeyText) -> _orm::RowWritten {
            #row_key
            _orm::Ok(true)
        }
        fn encode_properties(&self, row: _orm::usize, out: &mut _orm::Writer) -> _orm::Written {
            #properties
            _orm::Ok(())
        }
        #set_version
    }
}

/// The constant that lets keys hold all text.
fn escape(model: &Model<'_>) -> Option<TokenStream> {
    let encode = quote!(
        const ESCAPE: _orm::Escape = _orm::Escape::Encode;
    );
    model.entity.encode.then_some(encode)
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
    flags.map(|(_, flag)| quote!(const #flag: _orm::bool = true;)).collect()
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
        hygienic!(if _orm::matches!(row, #(#rows)|*) { #(#writes)* })
    });
    let check = check_open(&model.entity.fields);
    quote!(#(#writes)* #check)
}

/// The statement that finds a property which a map and another field both write.
fn check_open(fields: &[Field<'_>]) -> Option<TokenStream> {
    fields.iter().any(|field| field.role == Role::Flatten).then(|| {
        let declared = property::declared(fields);
        hygienic!(_orm::Writer::check_open(out, #declared)?;)
    })
}

/// `TableEntity::set_version`, where fields hold the version.
fn set_version(fields: &[Field<'_>]) -> Option<TokenStream> {
    let versions = fields.iter().filter_map(|field| {
        let value = match field.role {
            Role::ETag => {
                property::version(field, "ETagField", hygienic!(_orm::Clone::clone(etag)))
            }
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
            if part.separator.is_empty() && !part.last {
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
fn full_rows(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let full = model.entity.rows.iter().filter(|row| row.is_full());
    full.map(|row| {
        let row = types.row_in(names::row(types.input, row), quote!(__S));
        let (params, from) = (types.params_and(quote!(__S)), quote!(_orm::FromRow<#row>));
        let implement = types.implement_for(params, from, &types.ty, TokenStream::new());
        quote!(#[diagnostic::do_not_recommend] #implement)
    })
    .collect()
}
