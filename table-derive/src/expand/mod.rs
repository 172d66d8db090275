//! Code, from what the rules allow. Each function writes one piece of it.

pub mod columns;
pub mod key_part;
pub mod partition;
pub mod patch;
pub mod projected;
pub mod projection;
pub mod properties;
pub mod read;
pub mod row;
pub mod scope;
pub mod types;
pub mod union;
pub mod write;

mod key;
mod property;
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
    let beside = [
        Some(columns::column_types(model, types)),
        Some(partition::ty(model, types)),
        Some(row::row_types(model, types)),
        row::component_types(model),
        patch.then(|| patch::ty(model, types)),
    ];
    let impls = [
        Some(write::impls(model, types)),
        Some(read::impls(model, types)),
        Some(row::states(model)),
        Some(partition::impls(model, types)),
        Some(row::impls(model, types)),
        Some(columns::impls(model, types)),
        Some(projected::impls(model, types)),
        patch.then(|| patch::impls(model, types)),
    ];
    let impls = anonymous(model.entity.input, &model.entity.krate, quote!(#(#impls)*));
    quote!(#(#beside)* #impls)
}
