//! A server that is running, and how it is started.

use crate::accounts::{Accounts, EMULATOR_ACCOUNT, EMULATOR_KEY, is_secondary};
use crate::failure::{FailedRequest, FailureHook};
use crate::net::{Cuts, Listener, ListenerOptions, TlsAcceptor, TlsError};
use crate::service::{ServiceOptions, TableService};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use table_orm::azure::{ConnectError, SharedKey};
use table_orm::store::{Store, StoreError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address is taken, not of this machine, or not allowed.
    #[error(
        "cannot listen at {address}: {}", match .source.kind() {
            io::ErrorKind::AddrInUse => "choose another port, or stop what listens there",
            io::ErrorKind::PermissionDenied => "choose a port that this user may use, such as one above 1023",
            _ => "choose an address and a port of this machine",
        }
    )]
    Listen {
        /// Where to listen.
        address: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The name or key of an account is invalid.
    #[error("an account is invalid")]
    Account(#[from] ConnectError),
    /// The name of an account addresses the read-only copy of another one.
    #[error(
        "the account name `{0}` ends with `-secondary`, which addresses the read-only copy of an account; name it otherwise"
    )]
    SecondaryName(String),
    /// The settings in the store cannot be read.
    #[error("cannot read the settings of the service")]
    Store(#[source] StoreError),
}

/// Settings of a server.
#[derive(Debug, Clone)]
#[must_use = "settings do nothing until `start`"]
pub struct ServerBuilder {
    host: String,
    port: u16,
    accounts: Vec<SharedKey>,
    certificate: Option<(Vec<u8>, Vec<u8>)>,
    oauth: bool,
    any_version: bool,
    cut_replies: (u64, f64),
    failures: FailureHook,
}

impl ServerBuilder {
    /// Listens at this address or name; `127.0.0.1` by default. Whoever can reach another address and
    /// knows a key can read and change everything.
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = host.into();
        self
    }

    /// Listens at this port; by default at a free one.
    pub const fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Adds an account. The first one replaces the emulator's. All accounts have the same tables. No name ends with
    /// `-secondary`.
    pub fn account(mut self, account: SharedKey) -> Self {
        self.accounts.push(account);
        self
    }

    /// Serves HTTPS, with this chain of certificates and this private key, as PEM.
    pub fn tls(mut self, certificates: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.certificate = Some((certificates.into(), key.into()));
        self
    }

    /// Accepts tokens of Entra ID over HTTPS, by their issuer, audience and times. Their signature is
    /// not verified, so anybody can make one.
    pub const fn oauth(mut self) -> Self {
        self.oauth = true;
        self
    }

    /// Accepts every `x-ms-version`, also one that is newer than those known.
    pub const fn any_version(mut self) -> Self {
        self.any_version = true;
        self
    }

    /// Cuts this share of the replies in mid-body, 0 to 1, and closes their connections. The requests
    /// have taken effect. The seed and the order of the replies determine which.
    ///
    /// Faults that a store can have are those of `table_orm::layer::Faults`.
    pub const fn cut_replies(mut self, seed: u64, share: f64) -> Self {
        self.cut_replies = (seed, share);
        self
    }

    /// Calls this for each request that is answered with a status of 500 or more, or that the store
    /// loses. The answer waits for it.
    ///
    /// ```
    /// use table_server::Server;
    /// let server = Server::builder().on_failure(|failed| {
    ///     if !failed.error.injected {
    ///         eprintln!("{} {}: {}", failed.method, failed.path, failed.error);
    ///     }
    /// });
    /// ```
    pub fn on_failure(mut self, hook: impl Fn(&FailedRequest<'_>) + Send + Sync + 'static) -> Self {
        self.failures = FailureHook::new(hook);
        self
    }

    /// Starts a server over a store, on the current tokio runtime.
    ///
    /// # Errors
    /// Returns [`StartError`] when a setting is invalid, the address is taken, or the store cannot be
    /// read.
    pub async fn start(self, store: impl Store + 'static) -> Result<Server, StartError> {
        let Self {
            host,
            port,
            mut accounts,
            certificate,
            oauth,
            any_version,
            cut_replies,
            failures,
        } = self;
        if accounts.is_empty() {
            accounts.push(SharedKey::new(EMULATOR_ACCOUNT, EMULATOR_KEY)?);
        }
        if let Some(name) = accounts.iter().map(SharedKey::account).find(|name| is_secondary(name))
        {
            return Err(StartError::SecondaryName(name.to_owned()));
        }
        let accounts = Accounts::new(accounts).ok_or(ConnectError::AccountName)?;
        let tls = certificate.map(|(certificates, key)| TlsAcceptor::new(&certificates, &key));
        let tls = tls.transpose()?;
        let options = ServiceOptions { accounts, oauth, any_version, failures };
        let service = TableService::with_options(Arc::new(store), options).await;
        let service = Arc::new(service.map_err(StartError::Store)?);
        let address = format!("{host}:{port}");
        let failed = |source| StartError::Listen { address: address.clone(), source };
        let cuts = Cuts::new(cut_replies.0, cut_replies.1);
        let options = ListenerOptions { host, port, tls, cuts };
        let listener = Listener::bind(options).await.map_err(failed)?;
        let bound = listener.address().map_err(failed)?;
        let connection_string = connection_string(&service, bound, listener.is_encrypted());
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(listener.serve(service, stopped));
        Ok(Server { address: bound, connection_string, stop, task: Some(task) })
    }
}

fn connection_string(service: &TableService, bound: SocketAddr, encrypted: bool) -> String {
    let account = service.accounts().first();
    let (name, key) = (account.account(), account.secret());
    let protocol = if encrypted { "https" } else { "http" };
    // A client cannot connect to the address that means all of a machine's.
    let host = match bound.ip() {
        ip if ip.is_unspecified() => "127.0.0.1".to_owned(),
        std::net::IpAddr::V6(ip) => format!("[{ip}]"),
        ip => ip.to_string(),
    };
    format!(
        "DefaultEndpointsProtocol={protocol};AccountName={name};AccountKey={key};\
         TableEndpoint={protocol}://{host}:{}/{name};",
        bound.port()
    )
}

/// A server of the Table service over a store.
///
/// It stops when it is dropped, and closes connections at once; [`stop`](Self::stop) answers first
/// what it has received.
///
/// ```
/// use table_orm::{DynamicEntity, TableName, Tables};
/// use table_orm::embedded::EmbeddedStore;
/// use table_server::Server;
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let server = Server::start(EmbeddedStore::in_memory()?).await?;
///     // Any client of the Table service, in any language, can use this.
///     let tables = Tables::from_connection_string(&server.connection_string())?;
///     let people = TableName::new("people")?;
///     tables.create(&people).await?;
///     let ann = DynamicEntity::new("2026", "ann").with("Age", 55);
///     tables.table(people.clone()).insert(&ann).await?;
///     assert!(tables.table(people).get("2026", "ann").await?.is_some());
///     server.stop().await;
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    connection_string: String,
    stop: watch::Sender<bool>,
    /// `None` once it has stopped.
    task: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server over a store, on a free port of the loopback address, with the emulator's
    /// account.
    ///
    /// # Errors
    /// Fails as [`ServerBuilder::start`].
    pub async fn start(store: impl Store + 'static) -> Result<Self, StartError> {
        Self::builder().start(store).await
    }

    /// Returns settings to change.
    pub fn builder() -> ServerBuilder {
        ServerBuilder {
            host: "127.0.0.1".to_owned(),
            port: 0,
            accounts: Vec::new(),
            certificate: None,
            oauth: false,
            any_version: false,
            cut_replies: (0, 0.0),
            failures: FailureHook::default(),
        }
    }

    /// Returns the address that the server listens at.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the connection string for clients, which holds the key of the first account.
    #[must_use]
    pub fn connection_string(&self) -> String {
        self.connection_string.clone()
    }

    /// Accepts no more requests, answers those it has received, for up to 10 s, and ends.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
