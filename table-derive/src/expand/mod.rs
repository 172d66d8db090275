//! Code, from what the rules allow. Each function writes one piece of it.

pub mod key_part;
pub mod projection;
pub mod properties;
pub mod scope;
pub mod types;
pub mod union;
pub mod write;

mod columns;
mod key;
mod partition;
mod patch;
mod projected;
mod property;
mod read;
mod row;
mod sample;

#[cfg(test)]
mod tests;

use crate::model::Model;
use crate::tokens::*;
use scope::anonymous;
use types::Types;

/// All code of an entity: its generated types, then the implementations in a scope of their own.
pub fn entity(model: &Model<'_>) -> TokenStream {
    let types = &Types::of(model.entity.input);
    // A patch that could set nothing has no use.
    let patch = model.settable().next().is_some();
    let (beside, common) = common(model, types, patch);
    let components = row::component_types(model);
    let written = write::impls(model, types);
    let own = [
        Some(row::states(model)),
        Some(partition::makers(model, types)),
        Some(projected::fields(model, types)),
        patch.then(|| patch::setters(model, types)),
    ];
    let impls = quote!(#written #common #(#own)*);
    let impls = anonymous(model.entity.input, &model.entity.krate, impls);
    quote!(#beside #components #impls)
}

/// The types beside an entity, and the implementations, that it also has after a mistake.
pub fn common(model: &Model<'_>, types: &Types<'_>, patch: bool) -> (TokenStream, TokenStream) {
    let beside = [
        Some(columns::column_types(model, types)),
        Some(partition::ty(model, types)),
        Some(row::row_types(model, types)),
        patch.then(|| patch::ty(model, types)),
    ];
    let impls = [
        Some(read::impls(model, types)),
        Some(partition::keys(model, types)),
        Some(row::impls(model, types)),
        Some(columns::impls(model, types)),
        Some(projected::stores(model, types)),
        patch.then(|| patch::traits(types)),
    ];
    (quote!(#(#beside)*), quote!(#(#impls)*))
}
