//! The pages over HTTP, to this machine's browsers only.
//!
//! Invariants: a request is answered only under the secret path, which the program prints, and for a
//! host name of the loopback address. So neither other users of the machine nor pages of other origins
//! read anything. Nothing is written.

use super::pages::{self, FIELDS, PageError, Parameters};
use crate::failure::Failure;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::response::Builder;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use table_orm::Tables;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use uuid::Uuid;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Pages load nothing but their own style and script, from here.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The most connections at once. More wait.
const CONNECTIONS: usize = 64;
/// How long the headers of a request may take.
const HEADERS_TIME: Duration = Duration::from_secs(30);
/// How long to wait after a connection could not be accepted.
const RETRY_TIME: Duration = Duration::from_millis(50);

/// The pages, at an address of this machine.
pub(crate) struct BrowseServer {
    listener: TcpListener,
    pages: Arc<Pages>,
}

/// The port is taken, or not allowed.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen for browsers at {address}; give another port, or 0 for a free one")]
pub(crate) struct ListenError {
    address: SocketAddr,
    source: io::Error,
}

/// What connections share.
struct Pages {
    tables: Tables,
    /// The path of all pages: a secret between slashes.
    root: String,
}

impl BrowseServer {
    /// Listens at the loopback address; port 0 is a free one.
    pub(crate) async fn bind(tables: Tables, port: u16) -> Result<Self, ListenError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|source| ListenError { address, source })?;
        let root = format!("/{}/", Uuid::new_v4().simple());
        Ok(Self { listener, pages: Arc::new(Pages { tables, root }) })
    }

    /// The address of the first page.
    pub(crate) fn url(&self) -> Result<String, Failure> {
        Ok(format!("http://{}{}", self.listener.local_addr()?, self.pages.root))
    }

    /// Serves until it is dropped.
    pub(crate) async fn serve(self) {
        let free = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
            let Ok((stream, _)) = self.listener.accept().await else {
                sleep(RETRY_TIME).await;
                continue;
            };
            let pages = Arc::clone(&self.pages);
            tokio::spawn(async move {
                let answer = service_fn(move |request| {
                    let pages = Arc::clone(&pages);
                    async move { Ok::<_, Infallible>(pages.answer(&request).await) }
                });
                let mut connection = http1::Builder::new();
                connection.timer(TokioTimer::new()).header_read_timeout(HEADERS_TIME);
                // What fails on a connection concerns its browser only.
                let _ = connection.serve_connection(TokioIo::new(stream), answer).await;
                drop(permit);
            });
        }
    }
}

impl Pages {
    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        let path = request.uri().path().strip_prefix(&self.root);
        let Some(path) = path.filter(|_| host.is_some_and(is_loopback)) else {
            return answer(StatusCode::NOT_FOUND, "text/plain", "There is no such page.\n".into());
        };
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let text = "Pages are read only.\n".into();
            let mut refused = answer(StatusCode::METHOD_NOT_ALLOWED, "text/plain", text);
            refused
                .headers_mut()
                .insert(ALLOW, hyper::header::HeaderValue::from_static("GET, HEAD"));
            return refused;
        }
        match path {
            "style.css" => return answer(StatusCode::OK, "text/css", STYLE.into()),
            "script.js" => return answer(StatusCode::OK, "text/javascript", SCRIPT.into()),
            _ => {}
        }
        let parameters = parameters(request.uri().query().unwrap_or_default());
        match pages::show(&self.tables, &self.root, path, &parameters).await {
            Ok(page) => answer(StatusCode::OK, "text/html", page.into()),
            Err(error) => {
                let status = match &error {
                    PageError::NoPage => StatusCode::NOT_FOUND,
                    PageError::Filter(_) | PageError::EmptyRows(_) => StatusCode::BAD_REQUEST,
                    PageError::Store(table_orm::Error::TableNotFound(_)) => StatusCode::NOT_FOUND,
                    PageError::Store(table_orm::Error::Scan(_)) => StatusCode::BAD_REQUEST,
                    PageError::Store(_) | PageError::Failure(_) => StatusCode::BAD_GATEWAY,
                };
                answer(status, "text/html", pages::error(&self.root, &error).into())
            }
        }
    }
}

/// The parameters of an address. An empty key is a key in a link. In a form it is a field that was left
/// empty; without its script, a form sends all of its fields.
fn parameters(query: &str) -> Parameters {
    let given: Parameters = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let is_form = FIELDS.iter().all(|field| given.contains_key(*field));
    let is_key = |name: &str| !is_form && name == "partition" || name.starts_with("after_");
    given.into_iter().filter(|(name, value)| !value.is_empty() || is_key(name)).collect()
}

/// Whether the host of a request is this machine by a name that no other server can have.
fn is_loopback(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    ["127.0.0.1", "localhost"].contains(&name)
}

fn answer(status: StatusCode, content: &str, body: Bytes) -> Response<Full<Bytes>> {
    let response = Builder::new()
        .status(status)
        .header(CONTENT_TYPE, format!("{content}; charset=utf-8"))
        .header(CONTENT_SECURITY_POLICY, POLICY)
        .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
        .header(REFERRER_POLICY, "no-referrer")
        .header(CACHE_CONTROL, "no-store")
        .body(Full::new(body));
    // The headers are fixed and valid.
    response.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_partition_is_not_a_field_left_empty() {
        let names = |query: &str| parameters(query).into_keys().collect::<Vec<_>>();
        assert_eq!(names("partition="), ["partition"]);
        assert_eq!(names("partition=&filter=a"), ["filter", "partition"]);
        assert_eq!(names("partition=&prefix=&from=&to=x&filter="), ["to"]);
        assert_eq!(names("after_partition=&after_row="), ["after_partition", "after_row"]);
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for host in ["127.0.0.1:8080", "localhost", "localhost:1"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["", "example.org", "127.0.0.1.example.org:80", "localhost.example.org"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
