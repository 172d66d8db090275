//! A mark that accepts what a rule would refuse is there for a reason. One that accepts nothing hides what a later change
//! brings.

use super::rows::{all_duplicates, all_without_id};
use crate::errors::{Errors, mistake};
use crate::growing::{Few, few_partitions, growing};
use crate::model::Model;
use crate::tokens::*;

/// No mark is left when the reason for it is gone. Other mistakes come first: they may be the reason.
pub fn unneeded(model: &Model<'_>, errors: &Errors) {
    if !errors.is_empty() {
        return;
    }
    let entity = model.entity;
    let unneeded = |at: Span, mark: &str| {
        mistake!(errors, Ident::new(mark, at) => "nothing here needs `{mark}`", help: "remove it");
    };
    // What only the types know, generated code asks.
    if let Some(at) = entity.allow_append_only
        && growing(model).is_empty()
    {
        unneeded(at, "allow_append_only");
    }
    if let Some(at) = entity.allow_single_partition
        && matches!(few_partitions(model), Few::No)
    {
        unneeded(at, "allow_single_partition");
    }
    for row in &entity.rows {
        if let Some(at) = row.allow_duplicate
            && !all_duplicates(entity).iter().any(|(duplicate, _)| duplicate.name == row.name)
        {
            unneeded(at, "allow_duplicate");
        }
        if let Some(at) = row.allow_key_conflict
            && !all_without_id(model).any(|(without, ..)| without.name == row.name)
        {
            unneeded(at, "allow_key_conflict");
        }
    }
}
