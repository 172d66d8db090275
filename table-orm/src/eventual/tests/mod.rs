//! The protocol over the embedded store, with a type made by hand, whose canonical rows are recognised by a text, and
//! with derived types.

mod bulk;
pub(crate) mod chaos;
mod costs;
mod derived;
mod left_out;
pub(in crate::eventual) mod mortal;
mod observer;
mod posts;
pub(crate) mod process;
mod registered;
pub(crate) mod registering;
mod settling;
mod simulation;
pub(crate) mod stamped;
mod sums;
mod tampering;
mod world;
