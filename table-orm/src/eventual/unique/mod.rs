//! Values that are unique over all partitions: `unique(.., across)`.
//!
//! A value has a *guard*: the row `UNQ` in the partition `UNQ:<name>:<value>`. It holds the key of the entity
//! that it was reserved for, and the name of the ticket it was reserved with. **A value is taken if and only if
//! its guard names an entity whose canonical row has the value.** A guard alone says nothing, so one that an
//! ended process left blocks nobody.
//!
//! An entity that leaves its key ([`migrate`](crate::migrate)) keeps its values, and its guards go on naming that key.
//! Whoever reads the entity follows the marker that is there (`holder`).
//!
//! To take a value:
//! 1. Insert a *ticket* with a new name beside the entity. It lists the values.
//! 2. Insert the guard. If there is one, contend for it: an entity that has the value keeps it. Of one that
//!    does not, the ticket is deleted first, then the entity is read again, then the guard is replaced in the
//!    version that was read.
//! 3. Write the entity in a transaction that deletes the ticket in its version. If that fails, end the ticket
//!    and then release the values.
//!
//! To *end* a ticket is to put an intent for its values in its place. A taker of a value, a writer that gives one
//! up, and a sweep end tickets. If nothing was reserved, the ticket is just deleted.
//!
//! Invariants:
//! - No two canonical rows have one value, at any instant; each has its guard.
//! - Once a ticket is gone, its transaction cannot succeed any more, however late it takes effect. It needs
//!   the version that the answer to the ticket's insert stated, so an insert that is sent again, or that takes
//!   effect late, makes a ticket that no transaction deletes.
//! - A guard whose entity does not have the value is named in that entity's partition: by the ticket that it
//!   was made with, or by an intent. The guard is written after its ticket. The ticket goes when the entity gets the
//!   value, or when an intent comes in its place, in one transaction. The entity loses the value when an
//!   intent comes, in one transaction. An intent goes after it was seen that no guard names the entity, or that the
//!   entity has the value, or that the guard's ticket is there. So a sweep finds what ended processes left.
//!
//! One exception: a request that writes a guard after its ticket is gone. The intent in place of the ticket stays
//! until a sweep, or until its reserver clears it, which it does only if each of its requests was answered. No row
//! names a guard that is written after the sweep. It blocks nobody; `verify_guards` finds it.

mod contend;
mod guard;
mod hand_over;
mod holder;
mod missing_guards;
mod release;
mod reservation;
#[cfg(all(test, feature = "embedded"))]
mod tests;

pub(crate) use guard::{GUARD_ROW, Guard, Guards, Home, MAX_GUARD_READS, guard_row};
pub(crate) use hand_over::{TICKET, hand_over};
pub(crate) use reservation::Reservation;
