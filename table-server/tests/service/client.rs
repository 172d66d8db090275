//! A client without sockets, which signs what it sends.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::SystemTime;
use table_orm::azure::SharedKey;
use table_orm::azure::protocol::{http_date, signature};
use table_orm::embedded::EmbeddedStore;
use table_server::{Answer, EMULATOR_ACCOUNT, EMULATOR_KEY, Request, Response, TableService};

pub const LOCALHOST: table_server::Client =
    table_server::Client { address: IpAddr::V4(Ipv4Addr::LOCALHOST), https: false };

pub fn key() -> SharedKey {
    SharedKey::new(EMULATOR_ACCOUNT, EMULATOR_KEY).unwrap()
}

/// A service over memory, and the account's key.
pub struct Client {
    pub service: TableService,
}

impl Client {
    pub async fn new() -> Self {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        Self { service: TableService::new(store, key()).await.unwrap() }
    }

    /// A client of a service that has the table `People`.
    pub async fn with_people() -> Self {
        let client = Self::new().await;
        let created = client.send("POST", "/Tables", &[], r#"{"TableName":"People"}"#).await;
        assert_eq!(created.status, 201);
        client
    }

    /// Sends a signed request to a path after the account's.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        self.answer(signed(request(method, path, headers, body))).await
    }

    /// Sends a request as it is.
    pub async fn answer(&self, request: Request) -> Response {
        match self.service.handle(request).await {
            Answer::Response(response) => response,
            Answer::Close => panic!("no answer"),
        }
    }
}

/// A request without credentials, which accepts JSON.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request {
    let mut map = HeaderMap::new();
    for (name, value) in [("host", "127.0.0.1"), ("accept", "application/json;odata=nometadata")]
        .iter()
        .chain(headers)
    {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        map.insert(name, HeaderValue::from_str(value).unwrap());
    }
    Request {
        method: Method::from_bytes(method.as_bytes()).unwrap(),
        target: format!("/{EMULATOR_ACCOUNT}{path}"),
        headers: map,
        body: Bytes::copy_from_slice(body.as_bytes()),
        client: LOCALHOST,
    }
}

/// The request with a date and `SharedKeyLite`.
pub fn signed(mut request: Request) -> Request {
    let date = http_date::format(SystemTime::now());
    let comp = request.query().split('&').find_map(|part| part.strip_prefix("comp="));
    let text = signature::shared_key_lite(&date, EMULATOR_ACCOUNT, request.path(), comp);
    let signature = key().sign(&text).unwrap();
    let authorization = format!("SharedKeyLite {EMULATOR_ACCOUNT}:{signature}");
    request.headers.insert("x-ms-date", date.parse().unwrap());
    request.headers.insert("authorization", authorization.parse().unwrap());
    request
}

/// The bytes of a request, as HTTP/1.1.
pub fn wire(request: &Request) -> Vec<u8> {
    let Request { method, target, headers, body, .. } = request;
    let mut text = format!("{method} {target} HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
    }
    [text.as_bytes(), b"\r\n", body].concat()
}

/// The code of an error.
pub fn code(response: &Response) -> String {
    let body: serde_json::Value = serde_json::from_slice(&response.body).unwrap_or_default();
    body["odata.error"]["code"].as_str().unwrap_or_default().to_owned()
}

pub fn text(response: &Response) -> &str {
    std::str::from_utf8(&response.body).unwrap()
}
