//! The patch of an entity: a setter for each property that no key is made of.

use super::{Expansion, codec, doc, lints, names};
use crate::ast::{Field, Role};
use crate::kind;
use crate::model::Model;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;

/// The fields that a patch can set; without any there is no patch.
fn fields<'m>(model: &'m Model<'_>) -> impl Iterator<Item = (&'m Field<'m>, TokenStream)> {
    let in_key = |field: &Field<'_>| {
        let parts = model.keys().flat_map(|key| &key.parts);
        parts.filter_map(|part| part.field()).any(|own| own.name == field.name)
    };
    let stored = model.entity.fields.iter().filter(|field| field.is_stored());
    stored
        .filter(move |field| !in_key(field))
        .filter_map(|field| Some((field, setter(model, field)?)))
}

/// The name of each setter, with the field that it sets.
pub fn methods<'m>(model: &'m Model<'_>) -> impl Iterator<Item = (Ident, &'m Field<'m>)> {
    fields(model).map(|(field, _)| (method(field), field))
}

fn method(field: &Field<'_>) -> Ident {
    match field.role {
        Role::Series => format_ident!("{}_at", field.ident.unraw()),
        _ => field.ident.clone(),
    }
}

/// `None` for a group that has no property of its own.
fn setter(model: &Model<'_>, field: &Field<'_>) -> Option<TokenStream> {
    let Field { ident, property, .. } = field;
    let method = method(field);
    let (vis, ty) = (&model.entity.input.vis, field.value_type());
    let docs = doc(format!("Sets `{property}`."));
    let at = ident.span();
    let value = |set: TokenStream| {
        let value = quote_spanned!(at=> impl _orm::Value<#ty>);
        hygienic! {
            #docs
            #vis fn #method(self, #ident: #value) -> Self {
                Self(#set)
            }
        }
    };
    Some(match (field.role, codec::limit(field)) {
        (Role::Property, Some(limit)) => {
            value(hygienic!(<#ty as _orm::Stored>::set_limited(self.0, #property, #ident, #limit)))
        }
        (Role::Property, None) => {
            value(hygienic!(<#ty as _orm::Stored>::set(self.0, #property, #ident)))
        }
        (Role::Json, _) => value(hygienic!(self.0.set_json::<#ty>(#property, #ident))),
        (Role::Series, _) => {
            let (ty, slots) = kind::slots(field.ty)?;
            let docs = doc(format!("Sets the slot of that number of the series `{property}`."));
            let value = quote_spanned!(at=> impl _orm::Value<#ty>);
            hygienic! {
                #docs
                #vis fn #method(self, slot: usize, value: #value) -> Self {
                    Self(self.0.set_slot::<#ty>(#property, slot, #slots, value))
                }
            }
        }
        _ => return None,
    })
}

pub fn types(model: &Model<'_>, expansion: &Expansion<'_>) -> Option<TokenStream> {
    fields(model).next()?;
    let entity = model.entity;
    let (krate, vis, where_clause) = (&entity.krate, &entity.input.vis, &expansion.where_clause);
    let (name, params, ty) = (names::patch(entity), expansion.params(), &expansion.ty);
    let cost = if model.patch_is_one_row() {
        "one request"
    } else {
        "a read and a transaction, again after a conflict"
    };
    let docs = doc(format!(
        "Properties to be set in a stored `{}`, those that no key is made of. A `merge` is {cost}.",
        entity.input.ident.unraw()
    ));
    let default = (!expansion.is_generic()).then(|| quote!(, ::core::default::Default));
    let shadowed = methods(model).any(|(method, _)| method == "default");
    let start = shadowed.then(|| {
        let start =
            format!("Start from `<{name} as Default>::default()`; a setter has the short name.");
        [doc(""), doc(start)]
    });
    let start = start.iter().flatten();
    let lints = lints(entity.input);
    Some(quote! {
        #docs
        #(#start)*
        #lints
        #[must_use]
        #[derive(::core::fmt::Debug, ::core::clone::Clone #default)]
        #vis struct #name #params (#krate::repo::Patch<#ty>) #where_clause;
    })
}

pub fn impls(model: &Model<'_>, expansion: &Expansion<'_>) -> Option<TokenStream> {
    fields(model).next()?;
    let Expansion { ty, where_clause, .. } = expansion;
    let name = names::patch(model.entity);
    let (params, args) = (expansion.params(), expansion.args());
    let setters = fields(model).map(|(_, setter)| setter);
    // A derived one would ask for more of the type's parameters.
    let default = expansion.is_generic().then(|| {
        quote! {
            impl #params _orm::Default for #name #args #where_clause {
                fn default() -> Self {
                    Self(_orm::Default::default())
                }
            }
        }
    });
    Some(quote! {
        impl #params #name #args #where_clause {
            #(#setters)*
        }
        #default
        impl #params _orm::EntityPatch<#ty> for #name #args #where_clause {
            fn into_patch(self) -> _orm::Patch<#ty> {
                self.0
            }
        }
    })
}
