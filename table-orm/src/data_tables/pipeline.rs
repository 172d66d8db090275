//! Requests through the client's pipeline.
//!
//! The client has no call that sends an arbitrary request. So this transport asks it for a page of
//! rows, and [`InjectPolicy`] at the start of the pipeline replaces that request with ours.
//! [`CapturePolicy`] at its end keeps the answer. The client's own policies, its signature and its
//! transport are between them.
//!
//! Invariant: neither policy changes calls that the app makes on the same client.

use crate::azure::body::whole;
use crate::azure::options::MAX_ANSWER_BYTES;
use async_trait::async_trait;
use azure_core::error::{Error, ErrorKind};
use azure_core::http::headers::Headers;
use azure_core::http::{AsyncRawResponse, Body, HttpClient, Method, Request};
use azure_core_0_21 as old;
use azure_data_tables::clients::TableServiceClient;
use futures_util::{StreamExt as _, TryStreamExt as _};
use old::{Context, Policy, PolicyResult};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The table of the page. The request for it is never sent.
const NO_TABLE: &str = "none";

/// A transport that is a client's pipeline.
pub(crate) struct PipelineTransport(TableServiceClient);

/// One request in flight.
struct Exchange {
    /// `None` to find the endpoint only.
    request: Option<old::Request>,
    observed: Mutex<Option<Observed>>,
}

/// What a policy observed of an exchange.
enum Observed {
    /// The address of the replaced request.
    Address(String),
    Answer(AsyncRawResponse),
    Failed(Error),
}

impl Exchange {
    fn set(&self, observed: Observed) {
        *self.observed.lock().unwrap_or_else(PoisonError::into_inner) = Some(observed);
    }

    fn take(&self) -> Option<Observed> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl PipelineTransport {
    pub(crate) const fn new(client: TableServiceClient) -> Self {
        Self(client)
    }

    /// Returns the client's endpoint, if its pipeline has our policies.
    pub(crate) async fn endpoint(&self) -> Option<String> {
        let (observed, _) = self.exchange(None).await;
        let Some(Observed::Address(address)) = observed else { return None };
        let page = address.find(&format!("/{NO_TABLE}()"))?;
        Some(address[..page].to_owned())
    }

    async fn exchange(
        &self,
        request: Option<old::Request>,
    ) -> (Option<Observed>, Option<old::Error>) {
        let exchange = Arc::new(Exchange { request, observed: Mutex::new(None) });
        let mut context = Context::new();
        context.insert(Arc::clone(&exchange));
        let query = self.0.table_client(NO_TABLE).query().top(1).context(context);
        let page = query.into_stream::<serde_json::Value>().next().await;
        (exchange.take(), page.and_then(Result::err))
    }
}

#[async_trait]
impl HttpClient for PipelineTransport {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        match self.exchange(Some(old_request(request)?)).await {
            (Some(Observed::Answer(answer)), _) => Ok(answer),
            (Some(Observed::Failed(error)), _) => Err(error),
            (_, Some(error)) => Err(failed(&error)),
            _ => Err(Error::with_message(ErrorKind::Other, "the client sent nothing")),
        }
    }
}

fn old_request(request: &Request) -> azure_core::Result<old::Request> {
    let method = match request.method() {
        Method::Delete => old::Method::Delete,
        Method::Get => old::Method::Get,
        Method::Patch => old::Method::Patch,
        Method::Post => old::Method::Post,
        Method::Put => old::Method::Put,
        method => {
            let message = format!("the Table service does not support {method}");
            return Err(Error::with_message(ErrorKind::Other, message));
        }
    };
    let Body::Bytes(body) = request.body() else {
        return Err(Error::with_message(
            ErrorKind::Other,
            "the Table service does not take streams",
        ));
    };
    let mut sent = old::Request::new(request.url().clone(), method);
    for (name, value) in request.headers().iter() {
        sent.insert_header(name.as_str().to_owned(), value.as_str().to_owned());
    }
    sent.set_body(body.clone());
    Ok(sent)
}

/// Converts an error, without its causes: their texts may hold the address and so a signature.
fn failed(error: &old::Error) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let connects = loop {
        let Some(error) = cause else { break false };
        match error.downcast_ref::<reqwest_0_12::Error>() {
            Some(error) => break error.is_connect(),
            None => cause = error.source(),
        }
    };
    let (kind, message) = match error.kind() {
        old::error::ErrorKind::Credential => {
            (ErrorKind::Credential, "no token is available, or the endpoint is http")
        }
        _ if connects => (ErrorKind::Connection, "connecting failed"),
        _ => (ErrorKind::Io, "the connection failed, or the request timed out"),
    };
    Error::with_message(kind, message)
}

/// Replaces the client's request with ours, at the start of the pipeline.
#[derive(Debug)]
pub(crate) struct InjectPolicy;

#[async_trait]
impl Policy for InjectPolicy {
    async fn send(
        &self,
        context: &Context,
        request: &mut old::Request,
        next: &[Arc<dyn Policy>],
    ) -> PolicyResult {
        let Some(exchange) = context.get::<Arc<Exchange>>() else {
            return send_on(context, request, next).await;
        };
        let Some(ours) = &exchange.request else {
            exchange.set(Observed::Address(request.url().to_string()));
            return Ok(empty_answer());
        };
        let mut ours = ours.clone();
        // The date is part of what the client signs.
        if let Some(date) = request.headers().get_optional_str(&old::headers::MS_DATE) {
            ours.insert_header(old::headers::MS_DATE, date.to_owned());
        }
        send_on(context, &mut ours, next).await
    }
}

/// Keeps the answer, whatever its status, at the end of the pipeline, before the client judges it.
#[derive(Debug)]
pub(crate) struct CapturePolicy;

#[async_trait]
impl Policy for CapturePolicy {
    async fn send(
        &self,
        context: &Context,
        request: &mut old::Request,
        next: &[Arc<dyn Policy>],
    ) -> PolicyResult {
        let Some(exchange) = context.get::<Arc<Exchange>>() else {
            return send_on(context, request, next).await;
        };
        if request.url().scheme() != "https" && has_token(request) {
            let message = "the endpoint is http, and tokens are sent over https only";
            return Err(old::Error::message(old::error::ErrorKind::Credential, message));
        }
        let answer = send_on(context, request, next).await?;
        let (status, old_headers, body) = answer.deconstruct();
        let mut headers = Headers::new();
        for (name, value) in old_headers.iter() {
            headers.insert(name.as_str().to_owned(), value.as_str().to_owned());
        }
        let body = match whole(body.map_err(|error| failed(&error)), MAX_ANSWER_BYTES).await {
            Ok(body) => body,
            Err(error) => {
                exchange.set(Observed::Failed(error));
                return Ok(empty_answer());
            }
        };
        let answer = AsyncRawResponse::from_bytes(u16::from(status).into(), headers, body);
        exchange.set(Observed::Answer(answer));
        Ok(empty_answer())
    }
}

/// Returns whether the request carries a token, which whoever sees it could use.
fn has_token(request: &old::Request) -> bool {
    let authorization = request.headers().get_optional_str(&old::headers::AUTHORIZATION);
    authorization.is_some_and(|value| value.starts_with("Bearer "))
}

async fn send_on(
    context: &Context,
    request: &mut old::Request,
    next: &[Arc<dyn Policy>],
) -> PolicyResult {
    match next {
        [policy, rest @ ..] => policy.send(context, request, rest).await,
        [] => {
            Err(old::Error::message(old::error::ErrorKind::Other, "the pipeline has no transport"))
        }
    }
}

/// Builds an empty answer for the client, which nobody reads.
fn empty_answer() -> old::Response {
    let body = Box::pin(old::BytesStream::new_empty());
    old::Response::new(old::StatusCode::Ok, old::headers::Headers::new(), body)
}

/// Shows nothing, because the client may show its credential.
impl fmt::Debug for PipelineTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PipelineTransport")
    }
}
