//! Clients of all versions over a network that loses answers, delays writes and outlives its clients.

mod history;
mod landing;
mod once;
mod simulation;
mod subjects;
mod tampering;
