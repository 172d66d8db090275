//! How the rows of an entity in other partitions follow its canonical row, and how a value is unique over all
//! partitions (`unique`).
//!
//! A transaction is atomic in one partition. Rows of an entity in other partitions, its *`eventual` rows*, are
//! written after it, with two kinds of helper row:
//!
//! - An *intent* (`DUE:..`) is in the partition of the entity, and is inserted by the transaction that
//!   writes the entity. It lists the keys of the `eventual` rows that may differ now. It says where to look,
//!   never what to write.
//! - A *ticket* (`TKT:..`) is in the other partition. It is made before the canonical row is read, and
//!   the transaction that writes the `eventual` rows deletes it.
//!
//! The copies of totals ([`Sum::over_partitions`](crate::Sum::over_partitions)) are such rows, too: there, the row
//! of the total stands in place of the canonical row.
//!
//! To *settle* an intent is to bring its `eventual` rows in step. The writer of the entity does so at once, a bulk
//! write for the entities of several transactions together (`bulk_intents`, `settle_group`).
//! What a process leaves behind that ends in between, [`Repo::settle`](crate::Repo::settle) settles. Where the table
//! has a register, the partition is named in it before the transaction is sent, until nothing is left to settle.
//! An entity that has left its key ([`migrate`](crate::migrate)) has no `eventual` rows there any more. Before they go,
//! `AfterMove` sees to it that those of its new key are there.
//!
//! Invariants:
//! - An `eventual` row that differs from what the canonical row says has an intent that lists its key.
//! - The `eventual` rows of a partition never go back to an older state of an entity. A ticket is made before
//!   the canonical row is read, and its ETag never returns, so a decision that was overtaken cannot be
//!   written any more, however late its request takes effect.
//! - No clock decides what is written.

mod bulk_intents;
mod delete;
mod due_entry;
mod eventual_rows;
mod eventual_type;
mod evict;
mod intent;
mod intents;
mod left_ticket;
mod new_row_name;
mod pending;
mod planned;
mod row_owner;
mod scope;
mod send;
mod send_reserved;
mod settle;
mod settle_group;
mod settled;
mod settling;
mod settling_methods;
mod sum_copies;
mod sweep;
mod table_register;
#[cfg(test)]
#[cfg(feature = "embedded")]
pub(crate) mod tests;
mod ticket;
mod ticket_rows;
mod tickets_first;
mod unique;
mod unique_value;
mod without_intent;
mod write;
mod written;

pub use crate::error::{SettleError, SettleFailure};
pub use scope::PartitionScope;
pub use settled::Settled;
pub use sweep::{SETTLE_GRACE, SettleProgress, SettleReport};
pub use table_register::TableRegister;
pub use written::{ReportSettled, ReportSettledFuture, Written};

pub(crate) use bulk_intents::Gathered;
pub(crate) use delete::{delete_batch, delete_loaded};
pub(crate) use due_entry::DueEntry;
pub(crate) use eventual_rows::EventualKey;
pub(crate) use eventual_type::EventualType;
pub(crate) use evict::ExpiringType;
pub(crate) use intent::START as INTENT_START;
pub(crate) use intents::Intents;
pub(crate) use left_ticket::LeftTicket;
pub(crate) use new_row_name::new_row_name;
pub(crate) use pending::Pending;
pub(crate) use planned::{cost_after_delete, plan_of_delete, plan_with_settling, register_step_of};
pub(crate) use scope::Scope;
pub(crate) use settle::settle;
pub(crate) use settling::Settling;
pub(crate) use settling_methods::settling_methods;
pub(crate) use sweep::Sweep;
pub(crate) use ticket::START as TICKET_START;
pub(crate) use unique::{GUARD_ROW, Guard, Guards, Home, MAX_GUARD_READS, guard_row};
pub(crate) use unique_value::{UniqueValue, unique_values};
pub(crate) use without_intent::{pending_keys, settle_keys};
pub(crate) use write::{change_and_settle, run_and_settle};

#[cfg(test)]
#[cfg(feature = "embedded")]
pub(crate) use self::{
    bulk_intents::{MAX_ENTITIES, MAX_WAITING},
    eventual_rows::EventualRows,
    intent::Intent,
    settle::settle_together,
    settling::Group,
    tickets_first::Prepared,
};
