//! A plan as text that is the same each time it is made.

use crate::eventual::{INTENT_START, TICKET_START};
use crate::plan::{Plan, Step};
use crate::property::{LARGE_START, chunk_of};
use crate::store::Operation;

/// The text of a plan without the names that each call makes anew: those of intents, of tickets and of large values.
pub(super) fn repeatable(plan: &Plan) -> String {
    let mut plan = plan.clone();
    for step in &mut plan.steps {
        match step {
            Step::Write { operation, .. } => without_new_name(operation),
            Step::Commit { batch, .. } => batch.operations.iter_mut().for_each(without_new_name),
            _ => {}
        }
    }
    plan.to_string()
}

fn without_new_name(operation: &mut Operation) {
    let row_key = &operation.row_key;
    if let Some(start) =
        [INTENT_START, TICKET_START].into_iter().find(|start| row_key.starts_with(start))
    {
        operation.row_key = format!("{start}..");
    } else if let Some((_, chunk)) = chunk_of(row_key) {
        operation.row_key = format!("{LARGE_START}..:{chunk:06}");
    }
}
