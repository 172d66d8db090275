//! New keys for stored entities, while clients write: within a partition, to other partitions, to another table.
//!
//! Three kinds of row: the *old row* at the old key, the *marker* that takes its place for ever, and the *parcel*, in
//! the new partition, with the entity on its way. What counts of an entity is its new row; else its old row; else
//! the parcel that the marker names; else there is no entity.
//!
//! Invariants:
//! - One step changes the form in which an entity counts: the transaction that replaces its old row, in the version
//!   that was read, with the marker. No old key holds an entity again after a marker.
//! - The transaction that inserts the new rows deletes the parcel. A parcel's name is random, is not sent again once
//!   it may have arrived, and never comes back: of all that know it, one lands, writes or deletes it.
//! - A read asks the new key, the old key, the parcel, and the new key again, in this order.
//! - Rows in other partitions follow the canonical row of their form. Those of the old form go after those of the new
//!   form are there (`follow`).
//! - The guard of a unique value names an entity by its old key or by its new one; no marker is deleted while a guard names
//!   the entity by the key under it (`other_form`, `retire_guards`).
//! - No clock decides what is written.

mod canonical;
mod check;
mod check_sums;
mod compare_types;
mod connect;
mod determined_key;
mod entity_expiry;
mod events;
mod expired;
mod follow;
mod group;
mod index_rows;
mod insert;
mod kinds;
mod land;
mod large_values;
mod list;
mod list_eventual;
mod list_many;
mod load;
mod load_unique;
mod loaded;
mod located;
mod many;
mod marker_row;
mod merge;
mod migrates;
mod migrating;
mod mover;
mod moving;
mod old_key;
mod old_place;
mod one_transaction;
mod other_form;
mod pages;
mod parcel;
mod passes;
mod plan;
mod readings;
mod retire;
mod retire_check;
mod retire_guards;
mod save;
mod scan;
mod settle;
mod sorted;
mod stays;
mod stored_form;
#[cfg(test)]
#[cfg(feature = "embedded")]
mod tests;
mod together;
mod totals;
mod transaction;
mod transaction_with;
mod verify;

pub use crate::error::MigrationError;
pub use list::MigratingList;
pub use list_many::MigratingListMany;
pub use loaded::MigratingLoaded;
pub use many::{ManyFailure, ManyReport};
pub use merge::MigratingMerge;
pub use migrates::Migrates;
pub use migrating::Migrating;
pub use mover::{Migrate, MigrateProgress, MigrateReport, Unmovable};
pub(crate) use old_place::is_held;
pub use pages::MigratingPages;
pub use plan::MigrationPlan;
pub use retire::{RetireMarkers, RetireProgress, RetireReport};
pub use retire_check::RetirePlan;
pub use scan::MigratingScan;
pub use settle::MigratingSettle;
pub use stored_form::StoredForm;
pub use transaction::MigratingTransaction;
pub use transaction_with::{MigratingScope, MigratingTransactionWith};
pub use verify::VerifyMigrated;

#[doc(hidden)]
pub use check::check;
