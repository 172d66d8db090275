//! Values that are unique over all partitions: `unique(.., across)`.
//!
//! A value has a *guard*: the row `UNQ` in the partition `UNQ:<name>:<value>`. It holds the key of the entity
//! that it was reserved for, and the name of the ticket it was reserved with. **A value is taken if and only if
//! its guard names an entity whose canonical row has the value.** A guard alone says nothing, so one that an
//! ended process left keeps nobody away.
//!
//! To take a value:
//! 1. Insert a *ticket* with a new name beside the entity. It lists the values.
//! 2. Insert the guard. If there is one, contend for it: an entity that has the value keeps it. Of one that
//!    does not, the ticket is deleted first, then the entity is read again, then the guard is replaced in the
//!    version that was read.
//! 3. Write the entity in a transaction that deletes the ticket in its version. If that fails, delete the ticket
//!    and then release the values.
//!
//! Invariants:
//! - No two canonical rows have one value, at any instant; each has its guard.
//! - Once a ticket is deleted, its transaction cannot succeed any more, however late it takes effect. It needs
//!   the version that the answer to the ticket's insert stated, so an insert that is sent again, or that takes
//!   effect late, makes a ticket that no transaction deletes.
//! - Whatever a process leaves that ends in between, a ticket or an intent of the entity's partition says
//!   where to look, or the guard is one that keeps nobody away.

mod contend;
mod guard;
mod release;
mod reservation;
mod secure;
#[cfg(all(test, feature = "embedded"))]
mod tests;

pub(crate) use guard::{GUARD_ROW, Guard, Guards};
pub(crate) use reservation::{Reservation, TICKET};
