//! Queues of an Azure storage account, or of Azurite, through Microsoft's client.
//!
//! The client makes the requests; its connections, credentials and signatures are those of
//! [`store::azure`](crate::azure).
//!
//! Invariants: every method sends one request and never retries by itself; keys, signatures and
//! tokens are in no error, log or `Debug` output.

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

/// The header of a renewal's answer that holds the new receipt.
const POP_RECEIPT: HeaderName = HeaderName::from_static("x-ms-popreceipt");
/// The time to live of a message that does not expire (service documentation, "Put Message").
const FOREVER: i32 = -1;

/// The [`Queues`] of an Azure storage account. Clones share its connections.
///
/// Messages do not expire. Their text goes over the wire in base64, as queue triggers of Azure
/// Functions read it unless told otherwise, and as Microsoft's older clients write it; so any text
/// comes back as it was sent, and [`MAX_MESSAGE_BYTES`](crate::queue::MAX_MESSAGE_BYTES) is less than the
/// 64 KiB that the service holds. Other programs' messages are read the same way, and as they stand
/// where they are no base64 of UTF-8 text.
///
/// Times are whole seconds to the service: a fraction counts as a second. No request is sent twice,
/// whatever became of it; messages of a receive whose answer is lost stay hidden for its visibility
/// time-out. A queue that was deleted cannot be created again for 30 seconds or more: until then
/// that is `Unavailable` (service documentation, "Delete Queue").
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
    /// The queues at `endpoint`, such as `https://account.queue.core.windows.net`, with a key, a
    /// shared access signature, or a credential of Entra ID. Sends nothing yet.
    ///
    /// # Errors
    /// An endpoint that is no `http` or `https` URL, a token over plain `http`, or an HTTP client
    /// that cannot start.
    pub fn new(endpoint: &str, credential: impl Into<Credential>) -> Result<Self, ConnectError> {
        Self::with_options(endpoint, credential, ConnectOptions::default())
    }

    /// The queues of the account that a connection string names, or of Azurite:
    /// `UseDevelopmentStorage=true`. Sends nothing yet.
    ///
    /// # Errors
    /// As [`new`](Self::new), or a connection string that cannot be read.
    pub fn from_connection_string(text: &str) -> Result<Self, ConnectError> {
        let ConnectionString { endpoint, credential } = ConnectionString::queues(text)?;
        Self::new(&endpoint, credential)
    }

    /// The queues at `endpoint`, with other timeouts or another HTTP client.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options(
        endpoint: &str,
        credential: impl Into<Credential>,
        options: ConnectOptions,
    ) -> Result<Self, ConnectError> {
        let mut url = parse_endpoint(endpoint)?;
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty();
        }
        let authorization = connect::authorization(
            options.request_timeout,
            AccountService::Queues,
            &url,
            credential.into(),
        )?;
        let mut client_options = connect::client_options(&url, options)?;
        // Behind the app's own policies, whose headers are signed too.
        client_options.per_try_policies.push(authorization);
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

/// Shows the endpoint only: what a caller's credential or HTTP client shows of itself is not known.
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
            // There, with metadata, which another program gave it.
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

/// The id becomes part of a path, as it is.
fn check_id(queue: &str, id: &str) -> Result<(), QueueError> {
    if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Ok(());
    }
    Err(QueueError::new(QueueErrorKind::MessageLost, queue, "no message has such an id"))
}

/// Whole seconds, of a time that is not over a limit.
fn seconds(time: Duration) -> i32 {
    let whole = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    i32::try_from(whole).unwrap_or(i32::MAX)
}
