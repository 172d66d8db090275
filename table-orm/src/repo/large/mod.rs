//! Values of any size: uploaded before the entity that refers to them, read after it, removed when no entity
//! refers to them. A write that has read its entity removes what it replaces (`plan/large_values`); what is left
//! otherwise is removed here.
//!
//! Invariants:
//! - The first row of a value is written before its others, and deleted before them. So a row without the
//!   first one is garbage.
//! - A blob is created after both rows that name it, and deleted between them. Its upload goes on only if the first
//!   row is there after that: whoever deletes this row later deletes the blob, too. The second row outlives the first
//!   for as long as an upload may be in progress, and names a blob that such an upload creates too late.
//! - The first row is deleted in the transaction that makes its entity refer to another value; or in a version that
//!   was read before its entity was seen not to refer to it, and no parcel to that partition. A transaction that made the
//!   entity or a parcel refer to it since then has changed that version.
//! - What is returned as a value has the length and the hash that the entity states.

mod read;
mod unused;
mod upload;
mod value_row;

pub use upload::Upload;

pub(crate) use read::{Again, Next, Reading};
pub(super) use unused::{Unused, judge, removal, remove};
pub(crate) use unused::{has_first_row, remove_all_unused, remove_unused};
