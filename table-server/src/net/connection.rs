//! One connection: HTTP/1.1 requests, one after the other.

use super::body::{self, BodyError};
use super::cut::Cuts;
use super::head_time::{AnswerCount, HeadTimeStream};
use crate::error::ServiceError;
use crate::message::{Answer, Client, Request, Response};
use crate::service::{Admission, TableService};
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_io_timeout::TimeoutStream;

/// How long an idle connection stays open. Clients keep connections for less.
const IDLE_TIME: Duration = Duration::from_secs(120);
/// How long the line and the headers of a request may take from their first byte on.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long a client may read nothing of an answer that waits for it.
const READS_TIME: Duration = Duration::from_secs(60);
/// The most bytes of a request's line and headers. hyper may have read more when it looks, so they are counted again.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The connection is to be closed without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the answer is lost")]
struct Closed;

/// Serves a connection until it is closed, or until the server stops and the current request is
/// answered.
pub(super) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    client: Client,
    cuts: Arc<Cuts>,
    service: Arc<TableService>,
    mut stop: watch::Receiver<bool>,
) {
    let answers = AnswerCount::default();
    let stream = HeadTimeStream::new(stream, HEAD_TIME, answers.clone());
    let handler = service_fn(move |request| {
        let (cuts, answers) = (Arc::clone(&cuts), answers.clone());
        answers.advance();
        let answer = answer(Arc::clone(&service), client, request);
        async move {
            let answer = answer.await;
            answers.advance();
            answer.map(|answer| answer.map(|body| cuts.body(body)))
        }
    });
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(READS_TIME));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIME)
        .max_buf_size(MAX_HEAD_BYTES)
        .half_close(true)
        .serve_connection(TokioIo::new(Box::pin(stream)), handler);
    tokio::pin!(connection);
    let stopped = async { stop.wait_for(|stop| *stop).await.is_ok() };
    // What fails on a connection concerns its client only, and closes it.
    tokio::select! {
        _ = connection.as_mut() => {}
        _ = stopped => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

async fn answer(
    service: Arc<TableService>,
    client: Client,
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<Bytes>, Closed> {
    let (head, body) = request.into_parts();
    let target = head.uri.path_and_query().map_or_else(|| "*".to_owned(), ToString::to_string);
    let method = head.method;
    let mut request = Request { method, target, headers: head.headers, body: Bytes::new(), client };
    if let Some(authority) = head.uri.authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        request.headers.insert(HOST, host);
    }
    if is_ambiguous(&request) {
        return Ok(closing(TableService::refuse(&request, &ServiceError::INVALID_HEADER_VALUE)));
    }
    if head_bytes(&request) > MAX_HEAD_BYTES {
        return Ok(closing(TableService::refuse(&request, &ServiceError::HEAD_TOO_LARGE)));
    }
    // Who has no valid credentials cannot fill the memory.
    let admission = service.admit(&request).await;
    let read = match &admission {
        Ok(Admission::Granted(_)) => body::read(body).await,
        _ => body::drain(body).await,
    };
    request.body = match read {
        Ok(body) => body,
        Err(BodyError::Refused(error)) => {
            return Ok(closing(TableService::refuse(&request, &error)));
        }
        Err(BodyError::Broken) => return Err(Closed),
    };
    let admission = match admission {
        // A policy may have changed while the body arrived, and a token may have expired.
        Ok(admitted) if admitted.may_end() && !request.body.is_empty() => {
            service.admit(&request).await
        }
        decided => decided,
    };
    match service.answer(request, admission).await {
        Answer::Response(response) => Ok(written(response)),
        Answer::Close => Err(Closed),
    }
}

/// The length of the line and the headers of a request.
fn head_bytes(request: &Request) -> usize {
    let line = request.method.as_str().len() + request.target.len() + " HTTP/1.1\r\n ".len();
    let header = |(name, value): (&HeaderName, &HeaderValue)| {
        name.as_str().len() + value.len() + ": \r\n".len()
    };
    line + request.headers.iter().map(header).sum::<usize>()
}

/// Whether two readers could see different requests: one host, and one length of the body, are
/// required.
fn is_ambiguous(request: &Request) -> bool {
    let count = |name| request.headers.get_all(name).iter().count();
    let both = count(TRANSFER_ENCODING) > 0 && count(CONTENT_LENGTH) > 0;
    both || count(TRANSFER_ENCODING) > 1 || count(CONTENT_LENGTH) > 1 || count(HOST) != 1
}

fn written(response: Response) -> hyper::Response<Bytes> {
    let mut written = hyper::Response::new(response.body);
    *written.status_mut() = http::StatusCode::from_u16(response.status)
        .unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in response.headers {
        // A value that no header can hold, from a store of an app, is left out.
        if let Ok(value) = HeaderValue::try_from(value) {
            written.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    written
}

/// The last response of a connection.
fn closing(response: Response) -> hyper::Response<Bytes> {
    let mut response = written(response);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};
    use table_orm::azure::SharedKey;
    use table_orm::embedded::EmbeddedStore;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::time::Instant;

    /// A connection that has sent these bytes, and no more. Times are tokio's, which is paused.
    async fn connected(bytes: &[u8]) -> DuplexStream {
        let key = SharedKey::new("acc", "a2V5").unwrap();
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let service = Arc::new(TableService::new(store, key).await.unwrap());
        let (mut client, server) = tokio::io::duplex(64 * 1024);
        let who = Client { address: IpAddr::V4(Ipv4Addr::LOCALHOST), https: false };
        tokio::spawn(async move {
            let (_stop, stopped) = watch::channel(false);
            serve(server, who, Arc::new(Cuts::new(1, 0.0)), service, stopped).await;
        });
        client.write_all(bytes).await.unwrap();
        client
    }

    async fn rest(mut client: DuplexStream) -> (String, u64) {
        let start = Instant::now();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        (String::from_utf8(answer).unwrap(), start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_body_is_refused_after_half_a_minute() {
        let head = b"POST /acc/Tables HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nslow";
        let (answer, seconds) = rest(connected(head).await).await;
        assert!(
            answer.starts_with("HTTP/1.1 408 ") && answer.contains("OperationTimedOut"),
            "{answer}"
        );
        assert!((29..=31).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_says_nothing_is_closed() {
        for bytes in [&b""[..], b"GET /acc/Tables HTTP/1.1\r\nHost: h\r\n\r\n"] {
            let (answer, seconds) = rest(connected(bytes).await).await;
            assert!(answer.matches("HTTP/1.1").count() <= 1, "{answer}");
            assert!((119..=121).contains(&seconds), "{seconds}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn headers_that_do_not_end_hold_a_connection_for_half_a_minute() {
        let request = "GET /acc/Tables HTTP/1.1\r\nHost: h\r\n\r\n";
        let begun = "GET /acc/Tables HTTP/1.1\r\nHost: h\r\n";
        // Of a first request, in its headers and in its line. Below, of a request after an answer.
        for text in [begun.to_owned(), "GET /acc/Tab".to_owned()] {
            let (answer, seconds) = rest(connected(text.as_bytes()).await).await;
            assert_eq!(answer, "");
            assert!((29..=31).contains(&seconds), "{seconds}");
        }
        let mut client = connected(request.as_bytes()).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        client.write_all(begun.as_bytes()).await.unwrap();
        let (answer, seconds) = rest(client).await;
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
        assert!((29..=31).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn headers_that_come_a_byte_at_a_time_have_no_longer() {
        let mut client = connected(b"GET /acc/Tables HTTP/1.1\r\nHost: h\r\nA: ").await;
        let start = Instant::now();
        let bytes = async {
            while client.write_all(b"a").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(600), bytes).await.expect("it is cut off");
        let seconds = start.elapsed().as_secs();
        assert!((29..=32).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_body_does_not_count_for_headers() {
        let head = "POST /acc/Tables HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n";
        let mut client = connected(head.as_bytes()).await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        client.write_all(b"slow").await.unwrap();
        tokio::time::sleep(Duration::from_secs(20)).await;
        client.write_all(head.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(20)).await;
        client.write_all(b"slow").await.unwrap();
        let (answer, _) = rest(client).await;
        assert_eq!(answer.matches("HTTP/1.1 4").count(), 2, "{answer}");
    }

    #[tokio::test(start_paused = true)]
    async fn headers_have_as_many_bytes_as_the_documentation_says() {
        let answered = async |bytes: usize| {
            let start = "GET /acc/Tables HTTP/1.1\r\nHost: h\r\nConnection: close\r\n";
            let (mut text, mut number) = (start.to_owned(), 0);
            while text.len() + 2 < bytes {
                let name = format!("X-{number:02}: ");
                let value = (bytes - text.len() - 2).saturating_sub(name.len() + 2).clamp(1, 1000);
                text.push_str(&format!("{name}{}\r\n", "a".repeat(value)));
                number += 1;
            }
            let mut client = connected(b"").await;
            // What is refused need not be read to its end.
            let _ = client.write_all(format!("{text}\r\n").as_bytes()).await;
            rest(client).await.0
        };
        let within = answered(MAX_HEAD_BYTES - 100).await;
        assert!(
            within.starts_with("HTTP/1.1 401 ") || within.starts_with("HTTP/1.1 403 "),
            "{within}"
        );
        for bytes in [MAX_HEAD_BYTES + 100, 80 * 1024, 99 * 1000] {
            let over = answered(bytes).await;
            assert!(over.starts_with("HTTP/1.1 431 "), "{bytes}: {over:.100}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_has_at_most_a_hundred_headers() {
        let answered = async |headers: usize| {
            let more: String = (2..headers).map(|number| format!("X-{number}: a\r\n")).collect();
            let text =
                format!("GET /acc/Tables HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{more}\r\n");
            rest(connected(text.as_bytes()).await).await.0
        };
        assert!(!answered(100).await.starts_with("HTTP/1.1 431 "));
        assert!(answered(101).await.starts_with("HTTP/1.1 431 "));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_no_answer_is_cut_off() {
        let request = b"GET /acc/Tables HTTP/1.1\r\nHost: h\r\n\r\n";
        let mut client = connected(request).await;
        let start = Instant::now();
        // More answers than a pipe holds, none of which it reads.
        let writes = async { while client.write_all(request).await.is_ok() {} };
        tokio::time::timeout(Duration::from_secs(600), writes)
            .await
            .expect("the server cuts it off");
        let seconds = start.elapsed().as_secs();
        assert!((59..=61).contains(&seconds), "{seconds}");
    }
}
