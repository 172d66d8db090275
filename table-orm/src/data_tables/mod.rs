//! A store that sends through a client of the `azure_data_tables` crate, for apps that have one.
//!
//! That crate is no longer maintained and has faults: it reports a failed transaction as success,
//! breaks on quotes in keys, loses digits of plain 64-bit numbers, and opens a connection for each
//! request. So this store uses the client's endpoint, credential, policies and transport only, and
//! writes and reads bodies with [`protocol`](crate::azure::protocol), as the [Azure
//! store](crate::azure) does. New apps should use that one.
//!
//! Invariants: those of the [Azure store](crate::azure).
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

mod pipeline;

use crate::azure::endpoint::parse_endpoint;
use crate::azure::{AzureStore, ClientOptions, ConnectError, ConnectOptions, connect};
use crate::store::{Middleware, Store};
use azure_core::http::Transport;
use azure_data_tables::clients::TableServiceClient;
use pipeline::PipelineTransport;
use std::sync::Arc;
use std::time::Duration;

/// How long a connection stays idle: Azurite closes idle connections after 5 s, and no request
/// should meet a closed one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// A [`Store`] through a [`TableServiceClient`]. Clones share it.
#[derive(Debug, Clone)]
pub struct DataTablesStore(AzureStore);

impl DataTablesStore {
    /// Returns the options to build the client with: the policies of this store, pooled
    /// connections, the timeouts of [`ConnectOptions`], and no retries, which are the task of
    /// [`Retry`](crate::layer::Retry). An app may add policies and replace the transport.
    ///
    /// # Errors
    /// Returns [`ConnectError::Transport`] when the HTTP client cannot start.
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
        options.per_call_policies_mut().push(Arc::new(pipeline::InjectPolicy));
        options.per_retry_policies_mut().push(Arc::new(pipeline::CapturePolicy));
        Ok(options)
    }

    /// Opens the store at the client's endpoint. Sends nothing.
    ///
    /// # Errors
    /// Returns [`ConnectError::ClientOptions`] when the client was not built with
    /// [`options`](Self::options). The client may then have sent a query for one row.
    pub async fn new(client: TableServiceClient) -> Result<Self, ConnectError> {
        let transport = PipelineTransport::new(client);
        let endpoint = transport.endpoint().await.ok_or(ConnectError::ClientOptions)?;
        let url = parse_endpoint(&endpoint)?;
        let transport = Some(Transport::new(Arc::new(transport)));
        let client = ClientOptions { transport, ..ClientOptions::default() };
        let options = ConnectOptions { client, ..ConnectOptions::default() };
        // The client authorizes the requests.
        let pipeline = connect::pipeline(&url, Vec::new(), options)?;
        Ok(Self(AzureStore::through(url, pipeline, "")))
    }
}

impl Middleware for DataTablesStore {
    fn inner(&self) -> &dyn Store {
        &self.0
    }
}
