//! `ReadRow` for an entity: its fields, read from a row's properties and keys.

use crate::ast::{Field, Role};
use crate::expand::property::{self, group_call, groups, read_type, slot, version};
use crate::expand::scope::hygienic;
use crate::expand::types::Types;
use crate::expand::write::list;
use crate::kind;
use crate::model::Model;
use crate::names::field_id;
use crate::tokens::*;

pub fn impls(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let fields = &model.entity.fields;
    let (metadata, aliases) = (metadata(fields), aliases(fields));
    read_row_impl(types, quote!(#metadata #aliases), read_row(model))
}

/// `ReadRow`. `consts` are the constants that differ from the trait's defaults.
pub fn read_row_impl(types: &Types<'_>, consts: TokenStream, body: TokenStream) -> TokenStream {
    let name = types.name();
    let body = hygienic! {
        const NAME: &'static _orm::str = #name;
        #consts
        fn read_row(row: _orm::usize, mut m: _orm::Members<'_, '_>) -> _orm::Read<Self> {
            #body
        }
    };
    let implement = types.implement(quote!(_orm::ReadRow), body);
    quote!(#[automatically_derived] #implement)
}

/// The constant that asks for the types of properties, where a flattened group needs them.
fn metadata(fields: &[Field<'_>]) -> Option<TokenStream> {
    fields.iter().any(|field| field.role == Role::Flatten).then(|| {
        hygienic! {
            const METADATA: _orm::Metadata =
                _orm::metadata(<Self as _orm::TableEntity>::PROPERTIES);
        }
    })
}

/// The constant with the former names of properties, if there are any.
fn aliases(fields: &[Field<'_>]) -> Option<TokenStream> {
    let pairs = fields.iter().flat_map(|Field { aliases, property, .. }| {
        aliases.iter().map(move |alias| quote!((#alias, #property)))
    });
    list("ALIASES", quote!(_orm::Alias), pairs)
}

fn read_row(model: &Model<'_>) -> TokenStream {
    let (fields, mut read) = (&model.entity.fields, Reading::default());
    for (index, field) in fields.iter().enumerate() {
        let (ident, value) = (field.ident, finish(model, index, field));
        read.values.push(hygienic!(#ident: #value));
        let (slot, property, ty) = (slot(index), &field.property, read_type(field));
        if field.is_column() {
            read.slots.push(hygienic!(let mut #slot = _orm::None;));
            let take = hygienic!(<#ty as _orm::Stored>::take(&mut #slot, &mut m, #property)?);
            read.arms.push(hygienic!(#property => #take,));
        }
    }
    for (index, field) in groups(fields) {
        let (slot, property) = (slot(index), &field.property);
        let empty = group_call(field, hygienic!(empty()));
        let group = group_call(field, hygienic!(read(&mut #slot, #property, other, &mut m)));
        read.slots.push(hygienic!(let mut #slot = #empty;));
        read.groups.push(hygienic!(#group?));
    }
    read.body()
}

/// What reads a row: the variables, what fills them from properties and then from keys, and the fields' values.
#[derive(Default)]
pub struct Reading {
    pub slots: Vec<TokenStream>,
    /// For each column.
    pub arms: Vec<TokenStream>,
    /// For a property that is no column: each in turn may take it.
    pub groups: Vec<TokenStream>,
    pub from_keys: Vec<TokenStream>,
    pub values: Vec<TokenStream>,
}

impl Reading {
    pub fn body(self) -> TokenStream {
        let Self { slots, arms, groups, from_keys, values } = self;
        let other = hygienic!(_orm::Members::other(&mut m, other)?);
        // Groups take the types of properties, too.
        let (next, other) = match groups.is_empty() {
            true => (hygienic!(next_property), hygienic!(other => #other,)),
            false => (hygienic!(next_name), hygienic!(other => if !(#(#groups)||*) { #other },)),
        };
        hygienic! {
            #(#slots)*
            while let _orm::Some(member) = _orm::Members::#next(&mut m)? {
                match &*member {
                    #(#arms)*
                    #other
                }
            }
            #(#from_keys)*
            _orm::Ok(Self { #(#values),* })
        }
    }
}

/// The value of a field from what was read for it.
fn finish(model: &Model<'_>, index: usize, field: &Field<'_>) -> TokenStream {
    match field.role {
        _ if field.key_only.is_some() => {
            let (id, name, ty) = (field_id(&field.name), &field.name, read_type(field));
            let id = Literal::u64_unsuffixed(id);
            hygienic!(_orm::Members::key_value(&m, row, #name, <Self as _orm::Field<#id, #ty>>::KEYS)?)
        }
        Role::Skip => hygienic!(_orm::Default::default()),
        // An index row's ETag does not guard the entity.
        Role::ETag if model.rows.len() > 1 && kind::option(field.ty).is_some() => {
            let canonical = Literal::usize_unsuffixed(model.canonical);
            let etag = version(field, "ETagField", hygienic!(_orm::Members::etag(&m)));
            hygienic!(if row == #canonical { #etag } else { _orm::None })
        }
        Role::ETag => version(field, "ETagField", hygienic!(_orm::Members::etag(&m))),
        Role::Timestamp => {
            version(field, "TimestampField", hygienic!(_orm::Members::timestamp(&m)))
        }
        _ => property::value(field, &slot(index).to_token_stream()),
    }
}
