//! The listener, and the connections that it has accepted.

use super::connection;
use super::cut::Cuts;
use super::same_task::SameTask;
use super::tls::TlsAcceptor;
use crate::message::Client;
use crate::service::TableService;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The most connections at once. More wait to be accepted.
const MAX_CONNECTIONS: usize = 1024;
/// How long a TLS handshake may take.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// How long a stopping server waits for requests that it has not answered yet.
const STOP_TIME: Duration = Duration::from_secs(10);
/// How long to wait after a connection could not be accepted, such as without free file descriptors.
const RETRY_TIME: Duration = Duration::from_millis(50);

/// Where to listen.
#[derive(Debug)]
pub(crate) struct ListenerOptions {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) cuts: Cuts,
}

/// A bound socket.
#[derive(Debug)]
pub(crate) struct Listener {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    cuts: Arc<Cuts>,
}

impl Listener {
    /// Binds the socket.
    pub(crate) async fn bind(options: ListenerOptions) -> io::Result<Self> {
        let listener = TcpListener::bind((options.host.as_str(), options.port)).await?;
        Ok(Self { listener, tls: options.tls, cuts: Arc::new(options.cuts) })
    }

    /// Returns the address that clients connect to.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Whether connections are encrypted.
    pub(crate) const fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Serves connections until the server stops.
    pub(crate) async fn serve(self, service: Arc<TableService>, mut stop: watch::Receiver<bool>) {
        let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let accepted = async {
                let permit = Arc::clone(&free).acquire_owned().await;
                (self.listener.accept().await, permit)
            };
            let (accepted, permit) = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => break,
                accepted = accepted => accepted,
            };
            while connections.try_join_next().is_some() {}
            let Ok((stream, address)) = accepted else {
                sleep(RETRY_TIME).await;
                continue;
            };
            let (service, stop, tls) = (Arc::clone(&service), stop.clone(), self.tls.clone());
            let cuts = Arc::clone(&self.cuts);
            connections.spawn(SameTask::new(async move {
                connect(stream, address, tls, cuts, service, stop).await;
                drop(permit);
            }));
        }
        drop(self.listener);
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = timeout(STOP_TIME, all).await;
    }
}

async fn connect(
    stream: TcpStream,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    cuts: Arc<Cuts>,
    service: Arc<TableService>,
    stop: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let client = Client { address: address.ip(), https: tls.is_some() };
    match tls {
        None => connection::serve(stream, client, cuts, service, stop).await,
        Some(TlsAcceptor(tls)) => {
            if let Ok(Ok(stream)) = timeout(HANDSHAKE_TIME, tls.accept(stream)).await {
                connection::serve(stream, client, cuts, service, stop).await;
            }
        }
    }
}
