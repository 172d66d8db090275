//! Pools of connections, one for each runtime that sends requests.
//!
//! A task of the runtime that opened a connection drives it. Invariant: no request of another
//! runtime uses the connection. It would wait while the first runtime is idle, and fail when that
//! one ends.

use super::connector::Connector;
use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::{Builder, Client};
use std::sync::{Mutex, PoisonError};
use tokio::runtime::{Handle, Id};
use tokio::sync::oneshot::{Sender, channel};

pub(crate) type Connections = Client<Connector, Full<Bytes>>;

/// The pools of the running runtimes.
pub(crate) struct Runtimes {
    builder: Builder,
    connector: Connector,
    known: Mutex<Vec<Known>>,
}

struct Known {
    runtime: Id,
    connections: Connections,
    /// Sends to a task of the runtime, so it closes when the runtime ends.
    runs: Sender<()>,
}

impl Runtimes {
    pub(crate) const fn new(builder: Builder, connector: Connector) -> Self {
        Self { builder, connector, known: Mutex::new(Vec::new()) }
    }

    /// Returns the connections of the calling runtime.
    pub(crate) fn connections(&self) -> Connections {
        let runtime = Handle::current();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // A new runtime may have the id of one that has ended.
        known.retain(|known| !known.runs.is_closed());
        if let Some(known) = known.iter().find(|known| known.runtime == runtime.id()) {
            return known.connections.clone();
        }
        let connections = self.builder.build(self.connector.clone());
        let (runs, dropped) = channel();
        runtime.spawn(dropped);
        known.push(Known { runtime: runtime.id(), connections: connections.clone(), runs });
        connections
    }
}

#[cfg(test)]
mod tests {
    use crate::azure::options::ConnectOptions;
    use crate::azure::transport::Http;
    use azure_core::http::{HttpClient as _, Method, Request, Url};
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;
    use std::time::Instant;
    use tokio::runtime::{Builder, Runtime};

    fn runtime() -> Runtime {
        Builder::new_current_thread().enable_all().build().unwrap()
    }

    /// The URL of a server that answers every request.
    fn server() -> Url {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", server.local_addr().unwrap());
        thread::spawn(move || {
            for connection in server.incoming() {
                let mut connection = connection.unwrap();
                thread::spawn(move || {
                    while connection.read(&mut [0; 1024]).is_ok_and(|read| read > 0) {
                        connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
                    }
                });
            }
        });
        url.parse().unwrap()
    }

    #[test]
    fn no_request_depends_on_another_runtime() {
        let url = server();
        let http = Http::new(&url, &ConnectOptions::default()).unwrap();
        let runtimes = || http.runtimes.known.lock().unwrap().len();
        let request = Request::new(url, Method::Get);
        let asked = |runtime: &Runtime| {
            let start = Instant::now();
            runtime.block_on(http.execute_request(&request)).unwrap();
            assert!(start.elapsed() < http.timeout / 2);
        };
        let (first, second) = (runtime(), runtime());
        asked(&first);
        // The first runtime is idle now.
        asked(&second);
        asked(&first);
        assert_eq!(runtimes(), 2);
        drop(first);
        asked(&second);
        assert_eq!(runtimes(), 1);
        asked(&runtime());
        asked(&runtime());
        assert_eq!(runtimes(), 2);
    }
}
