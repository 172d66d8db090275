//! The store through a client of the `azure_data_tables` crate, for apps that hold one.
//!
//! That crate is no longer maintained, and what it sends and reads has faults: a failed transaction
//! counts as success, quotes in keys break, plain 64-bit numbers lose digits, each request opens a
//! connection. So of the client only its endpoint, credential, policies and transport are used. What
//! travels is written and read by [`protocol`](crate::azure::protocol), as in the
//! [Azure store](crate::azure), whose invariants hold here too. New apps have no need of this store.
//!
//! ```no_run
//! use azure_data_tables::clients::TableServiceClientBuilder;
//! use table_orm::Tables;
//! use table_orm::data_tables::DataTablesStore;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = TableServiceClientBuilder::emulator()
//!     .client_options(DataTablesStore::options()?)
//!     .build();
//! let tables = Tables::new(DataTablesStore::new(client).await?);
//! # Ok(())
//! # }
//! ```

mod passage;

use crate::azure::connect::{ConnectError, ConnectOptions};
use crate::azure::endpoint::parse_endpoint;
use crate::azure::{AzureStore, ClientOptions, connect};
use crate::store::{Middleware, Store};
use azure_core::http::Transport;
use azure_data_tables::clients::TableServiceClient;
use passage::Passage;
use std::sync::Arc;
use std::time::Duration;

/// Azurite closes idle connections after 5 s; a request must not meet the closing.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// A [`Store`] through a [`TableServiceClient`]. Clones share it.
#[derive(Debug, Clone)]
pub struct DataTablesStore(AzureStore);

impl DataTablesStore {
    /// What the client must be built with: the policies that let requests of this store through,
    /// pooled connections, the timeouts of [`ConnectOptions`], and no retries, which
    /// [`Retry`](crate::layer::Retry) makes. More policies may be added, and the transport replaced.
    ///
    /// # Errors
    /// When the HTTP client cannot start.
    pub fn options() -> Result<azure_core_0_21::ClientOptions, ConnectError> {
        let limits = ConnectOptions::default();
        let client = reqwest_0_12::Client::builder()
            .tcp_nodelay(true)
            .connect_timeout(limits.connect_timeout)
            .timeout(limits.request_timeout)
            .pool_max_idle_per_host(limits.max_idle_connections)
            .pool_idle_timeout(IDLE_TIMEOUT)
            // A redirect would carry the authorization to another host.
            .redirect(reqwest_0_12::redirect::Policy::none())
            .build()
            .map_err(|error| ConnectError::Transport(error.into()))?;
        let transport = azure_core_0_21::TransportOptions::new(Arc::new(client));
        let mut options = azure_core_0_21::ClientOptions::new(transport)
            .retry(azure_core_0_21::RetryOptions::none());
        options.per_call_policies_mut().push(Arc::new(passage::Enter));
        options.per_retry_policies_mut().push(Arc::new(passage::Leave));
        Ok(options)
    }

    /// The store at the client's endpoint. Nothing is sent.
    ///
    /// # Errors
    /// [`ConnectError::ClientOptions`] for a client that was not built with
    /// [`options`](Self::options); a query of one row may have been sent then.
    pub async fn new(client: TableServiceClient) -> Result<Self, ConnectError> {
        let passage = Passage::new(client);
        let endpoint = passage.endpoint().await.ok_or(ConnectError::ClientOptions)?;
        let url = parse_endpoint(&endpoint)?;
        let transport = Some(Transport::new(Arc::new(passage)));
        let client = ClientOptions { transport, ..ClientOptions::default() };
        let options = ConnectOptions { client, ..ConnectOptions::default() };
        // The client authorizes the requests.
        Ok(Self(connect::start(&url, Vec::new(), options)?))
    }
}

impl Middleware for DataTablesStore {
    fn inner(&self) -> &dyn Store {
        &self.0
    }
}
