//! Sockets: the listener, connections, TLS, and bodies read within limits.

mod body;
mod connection;
mod cut;
mod head_time;
mod listener;
mod same_task;
mod tls;

pub(crate) use cut::Cuts;
pub(crate) use listener::{Listener, ListenerOptions};
pub(crate) use tls::TlsAcceptor;
pub use tls::TlsError;
