//! The patch of an entity: a setter for each field of one property that no key contains.

use crate::ast::{Field, Role};
use crate::expand::property::limit;
use crate::expand::scope::{doc, hygienic};
use crate::expand::types::EntityTypes;
use crate::kind;
use crate::model::Model;
use crate::names;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;

/// The type; `None` for a patch that could set nothing.
pub fn ty(model: &Model<'_>, types: &EntityTypes<'_>) -> Option<TokenStream> {
    model.settable().next()?;
    let cost = if model.patch_is_one_row() {
        "one request"
    } else {
        "a read and a transaction, again after a conflict"
    };
    let mut docs = doc(format!(
        "Properties to be set in a stored `{}`, those that no key is made of. A `merge` is {cost}.",
        model.entity.input.ident.unraw()
    ));
    if model.settable().any(|field| names::setter(field) == "default") {
        let name = names::patch(model.entity);
        docs.extend(doc(""));
        docs.extend(doc(format!(
            "Start from `<{name} as Default>::default()`; a setter has the short name."
        )));
    }
    Some(types.patch_type(docs))
}

pub fn impls(model: &Model<'_>, types: &EntityTypes<'_>) -> Option<TokenStream> {
    model.settable().next()?;
    let (params, patch, where_clause) = (types.params(), types.patch(), &types.where_clause);
    let setters = model.settable().filter_map(|field| match field.role {
        Role::Series => slot_setter(types, field),
        _ => Some(setter(types, field)),
    });
    let default = types.patch_default(quote!(Self(_orm::Default::default())));
    let entity_patch = types.entity_patch_impl(quote!(self.0));
    Some(quote! {
        impl #params #patch #where_clause { #(#setters)* }
        #default
        #entity_patch
    })
}

/// The setter of a field of one property.
fn setter(types: &EntityTypes<'_>, field: &Field<'_>) -> TokenStream {
    let (Field { ident, property, .. }, ty) = (field, field.value_type());
    let set = match (field.role, limit(field)) {
        (Role::Json, _) => hygienic!(self.0.set_json::<#ty>(#property, #ident)),
        (_, Some(limit)) => {
            hygienic!(<#ty as _orm::Stored>::set_limited(self.0, #property, #ident, #limit))
        }
        (_, None) => hygienic!(<#ty as _orm::Stored>::set(self.0, #property, #ident)),
    };
    let value = quote_spanned!(ident.span()=> impl _orm::Value<#ty>);
    let docs = doc(format!("Sets `{property}`."));
    let method = types.setter_fn(&names::setter(field), (ident, value), hygienic!(Self(#set)));
    quote!(#docs #method)
}

/// The setter of one slot of a series that is an array.
fn slot_setter(types: &EntityTypes<'_>, field: &Field<'_>) -> Option<TokenStream> {
    let (ty, slots) = kind::slots(field.ty)?;
    let property = &field.property;
    let value = quote_spanned!(field.ident.span()=> impl _orm::Value<#ty>);
    let set = hygienic!(self.0.set_slot::<#ty>(#property, slot, #slots, value));
    let docs = doc(format!("Sets the slot of that number of the series `{property}`."));
    let method = types.slot_setter_fn(&names::setter(field), value, hygienic!(Self(#set)));
    Some(quote!(#docs #method))
}
