//! Bodies of requests, read into memory up to a limit.
//!
//! Invariant: of a body that is too large, or not wanted, nothing is kept.

use crate::error::ServiceError;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use std::time::Duration;
use table_orm::model::MAX_TRANSACTION_BYTES;
use tokio::time::timeout;

/// How long a body may take to arrive (the longest `timeout` of the service's operations).
const MAX_TIME: Duration = Duration::from_secs(30);
/// How much of a body that is too large is read and dropped, because a client reads the answer only
/// after it has sent its request.
const MAX_DROPPED: usize = 64 * 1024 * 1024;

/// Why a body could not be read.
#[derive(Debug)]
pub(super) enum BodyError {
    /// The request is answered with this error, and the connection is closed.
    Refused(ServiceError),
    /// The connection failed.
    Broken,
}

/// Reads a body of up to the bytes of a transaction.
pub(super) async fn read(body: Incoming) -> Result<Bytes, BodyError> {
    read_up_to(MAX_TRANSACTION_BYTES, body)
        .await?
        .ok_or(BodyError::Refused(ServiceError::TOO_LARGE))
}

/// Reads a body to its end, and drops it: what is returned is empty. One that does not end is refused.
pub(super) async fn drain(body: Incoming) -> Result<Bytes, BodyError> {
    Ok(read_up_to(0, body).await?.unwrap_or_default())
}

/// A body; `None` for one of more bytes.
async fn read_up_to(most: usize, mut body: Incoming) -> Result<Option<Bytes>, BodyError> {
    match timeout(MAX_TIME, collect(most, &mut body)).await {
        Ok(read) => read,
        Err(_) => {
            let slow = ServiceError {
                status: 408,
                ..ServiceError::invalid("The body did not arrive in time.")
            };
            Err(BodyError::Refused(ServiceError { code: "OperationTimedOut".into(), ..slow }))
        }
    }
}

async fn collect(most: usize, body: &mut Incoming) -> Result<Option<Bytes>, BodyError> {
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut collected = BytesMut::with_capacity(expected.min(most).min(64 * 1024));
    let mut size = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
        size = size.saturating_add(data.len());
        if size > MAX_DROPPED {
            return Err(BodyError::Refused(ServiceError::TOO_LARGE));
        }
        if size > most {
            collected = BytesMut::new();
        } else {
            collected.extend_from_slice(&data);
        }
    }
    Ok((size <= most).then(|| collected.freeze()))
}
