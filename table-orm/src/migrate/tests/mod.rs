//! Clients of all versions over a network that loses answers, delays writes and outlives its clients.

mod elements;
mod expiring;
mod followed;
mod guarded;
mod history;
mod landing;
mod listed;
mod listing;
mod named;
mod once;
mod overflowing;
mod pictured;
mod promises;
mod reported;
mod shared;
mod simulation;
mod subjects;
mod tampering;
mod totals;
mod transacting;
mod watch;
