//! The patch of an entity: a setter for each field of one property that no key contains.

use crate::ast::{Field, Role};
use crate::expand::property::limit;
use crate::expand::scope::{doc, hygienic, lints};
use crate::expand::types::Types;
use crate::model::Model;
use crate::tokens::*;
use crate::{kind, names};

pub fn ty(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let cost = if model.patch_is_one_row() {
        "one request"
    } else {
        "a read and a transaction, again after a conflict"
    };
    let name = names::patch(types.input);
    let mut docs = doc(format!(
        "Properties to be set in a stored `{}`, those that no key is made of. A `merge` is {cost}.",
        types.name()
    ));
    if model.settable().any(|field| names::setter(field) == "default") {
        docs.extend(doc(""));
        docs.extend(doc(format!(
            "Start from `<{name} as Default>::default()`; a setter has the short name."
        )));
    }
    let (krate, vis, lints) = (&model.entity.krate, &types.input.vis, lints(types.input));
    let (ty, params, where_clause) = (&types.ty, types.params(), &types.where_clause);
    quote! {
        #docs
        #lints
        #[must_use]
        #vis struct #name #params (#krate::repo::Patch<#ty>) #where_clause;
    }
}

pub fn setters(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let setters = model.settable().map(|field| setter(types, field));
    types.items(types.patch(), setters.collect::<TokenStream>())
}

/// The traits of the patch. `Repo::merge` takes it by one of them, `EntityPatch`.
pub fn traits(types: &Types<'_>) -> TokenStream {
    let (ty, patch) = (&types.ty, types.patch());
    let into_patch = quote!(fn into_patch(self) -> _orm::Patch<#ty> { self.0 });
    let what = quote!(_orm::EntityPatch<#ty>);
    let entity_patch = types.implement_for(types.params(), what, patch, into_patch);
    let others = types.about(names::patch(types.input));
    quote!(#entity_patch _orm::patch!(#others);)
}

/// The setter of a field: of its property, or of one slot of a series that is an array or a ring.
fn setter(types: &Types<'_>, field: &Field<'_>) -> TokenStream {
    let Field { ident, property, ty, .. } = field;
    let value = |ty: &Type| quote_spanned!(ident.span()=> impl _orm::Value<#ty>);
    let (docs, parameters, set) = match (field.role, kind::slots(ty)) {
        (Role::Series, Some((ty, slots))) => {
            let value = value(ty);
            (
                format!("Sets the slot of that number of the series `{property}`."),
                hygienic!(slot: _orm::usize, value: #value),
                hygienic!(self.0.set_slot::<#ty>(#property, slot, #slots, value)),
            )
        }
        (Role::Series, None) => {
            let ring = quote_spanned!(ty.span()=> <#ty as _orm::Rolling>);
            (
                format!("Sets the value of that time in the ring `{property}`, and its stamp."),
                hygienic!(at: #ring::At, value: impl _orm::Value<#ring::Value>),
                hygienic!(self.0.set_ring::<#ty>(#property, at, value)),
            )
        }
        (role, _) => {
            let (ty, value) = (field.value_type(), value(field.value_type()));
            let set = match (role, limit(field)) {
                (Role::Chunked, _) => hygienic!(self.0.set_chunked::<#ty>(#property, #ident)),
                (Role::ChunkedJson, _) => {
                    hygienic!(self.0.set_chunked_json::<#ty>(#property, #ident))
                }
                (Role::Json, _) => hygienic!(self.0.set_json::<#ty>(#property, #ident)),
                (_, Some(limit)) => {
                    hygienic!(<#ty as _orm::Stored>::set_limited(self.0, #property, #ident, #limit))
                }
                (_, None) => hygienic!(<#ty as _orm::Stored>::set(self.0, #property, #ident)),
            };
            (format!("Sets `{property}`."), hygienic!(#ident: #value), set)
        }
    };
    let (docs, vis, method) = (doc(docs), &types.input.vis, names::setter(field));
    hygienic!(#docs #vis fn #method(self, #parameters) -> Self { Self(#set) })
}
