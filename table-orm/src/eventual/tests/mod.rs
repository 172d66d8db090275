//! The protocol over the embedded store, with a type made by hand: its canonical rows are told from a text.

mod bulk;
pub(crate) mod chaos;
mod costs;
mod left_out;
pub(in crate::eventual) mod mortal;
mod observer;
mod registered;
pub(crate) mod registering;
mod settling;
mod simulation;
pub(crate) mod stamped;
mod sums;
mod world;
