//! Blobs of an Azure storage account, or of Azurite, through Microsoft's client.
//!
//! The client builds the requests. Connections, credentials and signatures are those of the
//! [Azure store](crate::azure).
//!
//! Invariants: no method retries by itself. Keys, signatures and tokens appear in no error, log or `Debug` output.

mod fault;

use super::auth::Credential;
use super::connect;
use super::connection_string::ConnectionString;
use super::endpoint::{AccountService, parse_endpoint};
use super::error::ConnectError;
use super::options::ConnectOptions;
use super::protocol::API_VERSION;
use crate::azure::client_fault::code;
use crate::blobs::{BlobError, BlobNames, Blobs, check_container, check_part};
use async_trait::async_trait;
use azure_storage_blob::models::{
    BlobClientDownloadOptions, BlobContainerClientListBlobsOptions,
    BlockBlobClientCommitBlockListOptions, BlockBlobClientUploadOptions, BlockLookupList,
};
use azure_storage_blob::{BlobClient, BlobContainerClient, BlobContainerClientOptions};
use bytes::Bytes;
use fault::{fault, unreadable};
use futures_util::StreamExt as _;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;

/// The most bytes of an answer: a part of a large value, and an error.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// The [`Blobs`] of a container of an Azure storage account. Clones share its connections.
///
/// Give it a container of its own. Each blob's name begins with that of the table whose entity refers to it.
///
/// ```no_run
/// use table_orm::Tables;
/// use table_orm::azure::{AzureBlobs, AzureStore};
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let account = "UseDevelopmentStorage=true";
/// let blobs = AzureBlobs::from_connection_string(account, "large-values")?;
/// blobs.create_container().await?;
/// let store = AzureStore::from_connection_string(account)?;
/// let tables = Tables::builder(store).blobs(blobs).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AzureBlobs {
    client: Arc<BlobContainerClient>,
    container: Arc<str>,
}

impl AzureBlobs {
    /// Opens a container at `endpoint`, such as `https://account.blob.core.windows.net`, with a key, a shared access
    /// signature, or a credential of Entra ID. Sends nothing yet.
    ///
    /// # Errors
    /// Returns [`ConnectError`] when the endpoint is not an `http` or `https` URL, when a token or
    /// a signature for https only would go over plain `http`, or when the HTTP client cannot start.
    pub fn new(
        endpoint: &str,
        container: &str,
        credential: impl Into<Credential>,
    ) -> Result<Self, ConnectError> {
        Self::with_options(endpoint, container, credential, ConnectOptions::default())
    }

    /// Opens a container of the account that a connection string names, or of Azurite:
    /// `UseDevelopmentStorage=true`. Sends nothing yet.
    ///
    /// # Errors
    /// Returns [`ConnectError`] when the connection string cannot be read, and as [`new`](Self::new).
    pub fn from_connection_string(text: &str, container: &str) -> Result<Self, ConnectError> {
        let ConnectionString { endpoint, credential, .. } = ConnectionString::blobs(text)?;
        Self::new(&endpoint, container, credential)
    }

    /// Opens a container at `endpoint`, with other timeouts or another HTTP client. Sends nothing yet.
    ///
    /// # Errors
    /// Returns [`ConnectError`] when no request could be sent with these options, and as [`new`](Self::new).
    pub fn with_options(
        endpoint: &str,
        container: &str,
        credential: impl Into<Credential>,
        options: ConnectOptions,
    ) -> Result<Self, ConnectError> {
        let mut url = parse_endpoint(endpoint)?;
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push(container);
        }
        let (service, credential) = (AccountService::Blobs, credential.into());
        let client_options =
            connect::authorized_options(&url, service, credential, MAX_ANSWER_BYTES, options)?;
        let version = API_VERSION.to_owned();
        let options = BlobContainerClientOptions { client_options, version };
        let client = BlobContainerClient::new(url, None, Some(options))
            .map_err(|_| ConnectError::Endpoint)?;
        Ok(Self { client: Arc::new(client), container: container.into() })
    }

    /// Creates the container. An existing one keeps its blobs.
    ///
    /// # Errors
    /// Fails with `Invalid` when no container can have the name, and with `Unavailable` when the service does not
    /// answer, or is deleting a container of the name.
    pub async fn create_container(&self) -> Result<(), BlobError> {
        check_container(&self.container)?;
        match self.client.create(None).await {
            Err(error) if code(&error) == Some("ContainerAlreadyExists") => Ok(()),
            created => created.map(drop).map_err(|error| fault("", error)),
        }
    }

    fn blob(&self, name: &str) -> Result<BlobClient, BlobError> {
        check_container(&self.container)?;
        Ok(self.client.blob_client(name))
    }
}

/// Shows the container's URL only, because a caller's credential or HTTP client may show secrets.
impl fmt::Debug for AzureBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureBlobs")
            .field("url", &self.client.url().as_str())
            .finish_non_exhaustive()
    }
}

/// The name of a part. All have one length, as the service demands.
fn block(part: u32) -> Vec<u8> {
    format!("{part:05}").into_bytes()
}

#[async_trait]
impl Blobs for AzureBlobs {
    async fn create(&self, name: &str) -> Result<String, BlobError> {
        let blob = self.blob(name)?;
        let options =
            BlockBlobClientUploadOptions { if_none_match: Some("*".into()), ..Default::default() };
        let etag = match blob.upload(Bytes::new().into(), Some(options)).await {
            Ok(created) => created.etag,
            Err(error) if code(&error) == Some("BlobAlreadyExists") => {
                // Azurite's answer to a request for one byte of an empty blob cannot be read.
                let options = BlobClientDownloadOptions {
                    range: Some((0..2u64).into()),
                    ..BlobClientDownloadOptions::default()
                };
                let there =
                    blob.download(Some(options)).await.map_err(|error| fault(name, error))?;
                if there.properties.content_length != Some(0) {
                    return Err(fault(name, error));
                }
                there.properties.etag
            }
            Err(error) => return Err(fault(name, error)),
        };
        Ok(etag.ok_or_else(|| unreadable(name))?.to_string())
    }

    async fn stage(&self, name: &str, part: u32, bytes: Bytes) -> Result<(), BlobError> {
        check_part(name, part, bytes.len())?;
        let (client, length) = (self.blob(name)?.block_blob_client(), bytes.len() as u64);
        let staged = client.stage_block(&block(part), length, bytes.into(), None).await;
        staged.map(drop).map_err(|error| fault(name, error))
    }

    async fn commit(&self, name: &str, version: &str, parts: u32) -> Result<(), BlobError> {
        let blocks = (0..parts).map(block).collect();
        let blocks = BlockLookupList { latest: Some(blocks), ..BlockLookupList::default() };
        let blocks = blocks.try_into().map_err(|error| fault(name, error))?;
        let options = BlockBlobClientCommitBlockListOptions {
            if_match: Some(version.to_owned().into()),
            ..Default::default()
        };
        let client = self.blob(name)?.block_blob_client();
        let committed = client.commit_block_list(blocks, Some(options)).await;
        committed.map(drop).map_err(|error| fault(name, error))
    }

    async fn read(&self, name: &str, from: u64, most: usize) -> Result<Option<Bytes>, BlobError> {
        let Some(most) = NonZero::new(most) else { return Ok(Some(Bytes::new())) };
        let options = BlobClientDownloadOptions {
            range: Some((from..from.saturating_add(most.get() as u64)).into()),
            partition_size: Some(most),
            ..BlobClientDownloadOptions::default()
        };
        let body = match self.blob(name)?.download(Some(options)).await {
            Ok(answer) => answer.body.collect().await,
            Err(error) if code(&error) == Some("BlobNotFound") => return Ok(None),
            // The blob ends before.
            Err(error) if code(&error) == Some("InvalidRange") => Ok(Bytes::new()),
            Err(error) => Err(error),
        };
        body.map(Some).map_err(|error| fault(name, error))
    }

    async fn delete(&self, name: &str) -> Result<(), BlobError> {
        match self.blob(name)?.delete(None).await {
            Err(error) if code(&error) == Some("BlobNotFound") => Ok(()),
            deleted => deleted.map(drop).map_err(|error| fault(name, error)),
        }
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<BlobNames, BlobError> {
        check_container(&self.container)?;
        let options = BlobContainerClientListBlobsOptions {
            prefix: Some(prefix.to_owned()),
            marker: after.map(str::to_owned),
            ..Default::default()
        };
        let pages = self.client.list_blobs(Some(options)).map_err(|error| fault(prefix, error))?;
        let Some(page) = pages.into_pages().next().await else { return Ok(BlobNames::default()) };
        let page = page.and_then(|page| page.into_model());
        let page = page.map_err(|error| fault(prefix, error))?;
        let names = page.blob_items.into_iter().filter_map(|blob| blob.name).collect();
        Ok(BlobNames { names, next: page.next_marker.filter(|next| !next.is_empty()) })
    }
}
