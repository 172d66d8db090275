//! Queues of an Azure storage account, or of Azurite, through Microsoft's client.
//!
//! The client builds the requests. Connections, credentials and signatures are those of the
//! [Azure store](crate::azure).
//!
//! Invariants: every method sends one request and never retries by itself. Keys, signatures and
//! tokens appear in no error, log or `Debug` output.

mod fault;
mod message;

use super::auth::Credential;
use super::connect;
use super::connection_string::ConnectionString;
use super::endpoint::{AccountService, parse_endpoint};
use super::error::ConnectError;
use super::options::ConnectOptions;
use super::protocol::API_VERSION;
use crate::queue::{
    Message, QueueError, QueueErrorKind, Queues, Receipt, check_most, check_name, check_text,
    check_time,
};
use async_trait::async_trait;
use azure_core::error::ErrorKind;
use azure_core::http::headers::HeaderName;
use azure_storage_queue::models::{
    QueueClientPeekMessagesOptions, QueueClientReceiveMessagesOptions,
    QueueClientSendMessageOptions, QueueMessage,
};
use azure_storage_queue::{QueueClient, QueueServiceClient, QueueServiceClientOptions};
use fault::{fault, unreadable};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The header of a renewal's answer with the new receipt.
const POP_RECEIPT: HeaderName = HeaderName::from_static("x-ms-popreceipt");
/// The time to live of a message that does not expire (service documentation, "Put Message").
const FOREVER: i32 = -1;

/// The most bytes of an answer: 32 messages of 64 KiB (service documentation, "Get Messages"), their
/// characters escaped in XML as 6 bytes each.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// The [`Queues`] of an Azure storage account. Clones share its connections.
///
/// Messages do not expire. Their text travels in base64, as queue triggers of Azure Functions
/// expect by default and as Microsoft's older clients write it. So every text comes back as it was
/// sent, and [`MAX_MESSAGE_BYTES`](crate::queue::MAX_MESSAGE_BYTES) is less than the 64 KiB that
/// the service holds. A message of another program whose text is not base64 of UTF-8 text is
/// returned as it is.
///
/// The service counts whole seconds, so a fraction of a second counts as one. No request is sent
/// twice, even when its answer is lost; the messages of a lost answer stay hidden for the
/// visibility time-out of the receive. For 30 seconds or more after a delete, creating the queue
/// again fails with `Unavailable` (service documentation, "Delete Queue").
///
/// ```no_run
/// use std::time::Duration;
/// use table_orm::azure::AzureQueues;
/// use table_orm::queue::Queues;
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let queues = AzureQueues::from_connection_string("UseDevelopmentStorage=true")?;
/// queues.create("jobs").await?;
/// queues.send("jobs", "paint the door", Duration::ZERO).await?;
/// for message in queues.receive("jobs", 1, Duration::from_secs(60)).await? {
///     println!("{}", message.text);
///     queues.remove("jobs", &message.receipt).await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AzureQueues(Arc<QueueServiceClient>);

impl AzureQueues {
    /// Opens the queues at `endpoint`, such as `https://account.queue.core.windows.net`, with a
    /// key, a shared access signature, or a credential of Entra ID. Sends nothing yet.
    ///
    /// # Errors
    /// Returns [`ConnectError`] when the endpoint is not an `http` or `https` URL, when a token or
    /// a signature for https only would go over plain `http`, or when the HTTP client cannot start.
    pub fn new(endpoint: &str, credential: impl Into<Credential>) -> Result<Self, ConnectError> {
        Self::with_options(endpoint, credential, ConnectOptions::default())
    }

    /// Opens the queues of the account that a connection string names, or of Azurite:
    /// `UseDevelopmentStorage=true`. Sends nothing yet.
    ///
    /// # Errors
    /// Returns [`ConnectError`] when the connection string cannot be read, and as
    /// [`new`](Self::new).
    pub fn from_connection_string(text: &str) -> Result<Self, ConnectError> {
        let ConnectionString { endpoint, credential, .. } = ConnectionString::queues(text)?;
        Self::new(&endpoint, credential)
    }

    /// Opens the queues at `endpoint`, with other timeouts or another HTTP client. Sends nothing
    /// yet.
    ///
    /// # Errors
    /// Returns [`ConnectError`] when no request could be sent with these options, and as
    /// [`new`](Self::new).
    pub fn with_options(
        endpoint: &str,
        credential: impl Into<Credential>,
        options: ConnectOptions,
    ) -> Result<Self, ConnectError> {
        let mut url = parse_endpoint(endpoint)?;
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty();
        }
        let (service, credential) = (AccountService::Queues, credential.into());
        let client_options =
            connect::authorized_options(&url, service, credential, MAX_ANSWER_BYTES, options)?;
        let version = API_VERSION.to_owned();
        let options = QueueServiceClientOptions { client_options, version };
        let client = QueueServiceClient::new(url, None, Some(options))
            .map_err(|_| ConnectError::Endpoint)?;
        Ok(Self(Arc::new(client)))
    }

    fn queue(&self, queue: &str) -> Result<QueueClient, QueueError> {
        check_name(queue)?;
        self.0.queue_client(queue).map_err(|error| fault(queue, error))
    }
}

/// Shows the endpoint only, because a caller's credential or HTTP client may show secrets.
impl fmt::Debug for AzureQueues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureQueues")
            .field("endpoint", &self.0.url().as_str())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Queues for AzureQueues {
    async fn create(&self, queue: &str) -> Result<(), QueueError> {
        let Err(error) = self.queue(queue)?.create(None).await else { return Ok(()) };
        match error.kind() {
            // It exists, with metadata of another program.
            ErrorKind::HttpResponse { error_code: Some(code), .. }
                if code == "QueueAlreadyExists" =>
            {
                Ok(())
            }
            _ => Err(fault(queue, error)),
        }
    }

    async fn delete(&self, queue: &str) -> Result<(), QueueError> {
        self.queue(queue)?.delete(None).await.map(drop).map_err(|error| fault(queue, error))
    }

    async fn send(&self, queue: &str, text: &str, delay: Duration) -> Result<(), QueueError> {
        let client = self.queue(queue)?;
        check_text(queue, text)?;
        check_time(queue, delay, Duration::ZERO)?;
        let message = QueueMessage { message_text: Some(message::encode(text)) };
        let message = message.try_into().map_err(|error| fault(queue, error))?;
        let options = QueueClientSendMessageOptions {
            message_time_to_live: Some(FOREVER),
            visibility_timeout: Some(seconds(delay)),
            ..QueueClientSendMessageOptions::default()
        };
        let sent = client.send_message(message, Some(options)).await;
        sent.map(drop).map_err(|error| fault(queue, error))
    }

    async fn receive(
        &self,
        queue: &str,
        most: usize,
        visibility: Duration,
    ) -> Result<Vec<Message>, QueueError> {
        let client = self.queue(queue)?;
        check_most(queue, most)?;
        check_time(queue, visibility, Duration::from_secs(1))?;
        let options = QueueClientReceiveMessagesOptions {
            number_of_messages: i32::try_from(most).ok(),
            visibility_timeout: Some(seconds(visibility)),
            ..QueueClientReceiveMessagesOptions::default()
        };
        let answer = client.receive_messages(Some(options)).await;
        let answer = answer.and_then(|answer| answer.into_model());
        let received = answer.map_err(|error| fault(queue, error))?.items.unwrap_or_default();
        let messages: Option<_> = received.into_iter().map(message::read).collect();
        messages.ok_or_else(|| unreadable(queue))
    }

    async fn peek(&self, queue: &str) -> Result<bool, QueueError> {
        let options = QueueClientPeekMessagesOptions {
            number_of_messages: Some(1),
            ..QueueClientPeekMessagesOptions::default()
        };
        let answer = self.queue(queue)?.peek_messages(Some(options)).await;
        let answer = answer.and_then(|answer| answer.into_model());
        let peeked = answer.map_err(|error| fault(queue, error))?.items;
        Ok(peeked.is_some_and(|messages| !messages.is_empty()))
    }

    async fn renew(
        &self,
        queue: &str,
        receipt: &Receipt,
        visibility: Duration,
    ) -> Result<Receipt, QueueError> {
        let client = self.queue(queue)?;
        check_time(queue, visibility, Duration::ZERO)?;
        let Receipt { id, pop } = receipt;
        check_id(queue, id)?;
        let answer = client.update_message(id, pop, seconds(visibility), None).await;
        let answer = answer.map_err(|error| fault(queue, error))?;
        let pop = answer.headers().get_optional_string(&POP_RECEIPT);
        Ok(Receipt::new(id, pop.ok_or_else(|| unreadable(queue))?))
    }

    async fn remove(&self, queue: &str, receipt: &Receipt) -> Result<(), QueueError> {
        let client = self.queue(queue)?;
        check_id(queue, &receipt.id)?;
        let removed = client.delete_message(&receipt.id, &receipt.pop, None).await;
        removed.map(drop).map_err(|error| fault(queue, error))
    }
}

/// Refuses an id that is not one segment of a path: the client does not escape it.
fn check_id(queue: &str, id: &str) -> Result<(), QueueError> {
    if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Ok(());
    }
    Err(QueueError::new(
        QueueErrorKind::MessageLost,
        queue,
        "no message can have this id; pass the receipt as it was received",
    ))
}

/// Rounds a time up to whole seconds. The time is within the service's limits.
fn seconds(time: Duration) -> i32 {
    let whole = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    i32::try_from(whole).unwrap_or(i32::MAX)
}
