//! A store, and blobs, that fail or throttle on purpose, for tests of how an app copes.
//!
//! A seed and the order of the requests determine everything it does, so a failing test replays. A test
//! can also say which request fails, and how: [`Faults::on`].
//! Times are tokio's: under a paused clock nothing takes time. Next to the store, below
//! [`Retry`](super::Retry), it plays the network and the service.

mod blobs;
mod fault;
mod injector;
mod pages;
mod script;
mod settings;
mod store;
mod throttle;

pub use blobs::FaultBlobs;
pub use script::Fault;
pub use settings::Faults;
pub use store::FaultStore;
pub use throttle::Throttle;
