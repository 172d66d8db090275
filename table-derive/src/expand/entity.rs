//! All code of an entity: its generated types, then the implementations in a scope of their own.

use crate::expand::scope::anonymous;
use crate::expand::types::EntityTypes;
use crate::expand::{columns, partition, patch, projected, read, row, write};
use crate::model::Model;
use proc_macro2::TokenStream;
use quote::quote;

pub fn entity(model: &Model<'_>) -> TokenStream {
    let types = &EntityTypes::of(model.entity);
    let beside = [
        Some(columns::column_types(model, types)),
        Some(partition::ty(model, types)),
        Some(row::row_types(model, types)),
        row::component_types(model),
        patch::ty(model, types),
    ];
    let impls = [
        Some(write::impls(model, types)),
        Some(read::impls(model, types)),
        Some(row::states(model)),
        Some(partition::impls(model, types)),
        Some(row::impls(model, types)),
        Some(projected::impls(model, types)),
        patch::impls(model, types),
    ];
    let impls = anonymous(model.entity.input, &model.entity.krate, quote!(#(#impls)*));
    quote!(#(#beside)* #impls)
}
