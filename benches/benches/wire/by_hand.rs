//! What a careful programmer writes for this one entity: reqwest, serde, pooled connections, no
//! metadata, no echo.

use super::client::{ACCOUNT, Client, KEY, Work};
use super::finisher::{BATCH, PAGE, PARTITION, Plain, PlainPage, TABLE, plain};
use super::server::Server;
use async_trait::async_trait;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, Mac as _};
use reqwest::header::ETAG;
use reqwest::{Method, RequestBuilder, Response};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use sha2::Sha256;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;

pub struct ByHand {
    http: reqwest::Client,
    endpoint: String,
    key: Hmac<Sha256>,
}

impl ByHand {
    pub fn new(endpoint: &str, server: &Server) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(server.authority.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .timeout(Duration::from_secs(60))
            .no_proxy()
            .build()
            .unwrap();
        let key = BASE64_STANDARD.decode(KEY).unwrap();
        let key = Hmac::new_from_slice(&key).unwrap();
        Self { http, endpoint: endpoint.to_owned(), key }
    }

    /// A signed request to a path that needs no more encoding.
    fn request(&self, method: Method, path: &str, query: &str) -> RequestBuilder {
        let date = date(OffsetDateTime::now_utc());
        let mut mac = self.key.clone();
        mac.update(format!("{date}\n/{ACCOUNT}{path}").as_bytes());
        let signature = BASE64_STANDARD.encode(mac.finalize().into_bytes());
        self.http
            .request(method, format!("{}{path}{query}", self.endpoint))
            .header("x-ms-date", date)
            .header("x-ms-version", "2020-12-06")
            .header("dataserviceversion", "3.0")
            .header("accept", "application/json;odata=nometadata")
            .header("authorization", format!("SharedKeyLite {ACCOUNT}:{signature}"))
    }

    async fn send(request: RequestBuilder) -> Response {
        request.send().await.unwrap().error_for_status().unwrap()
    }

    async fn get(&self, row_key: &str) -> (Plain, String) {
        let path = format!("/{TABLE}(PartitionKey='{PARTITION}',RowKey='{row_key}')");
        let answer = Self::send(self.request(Method::GET, &path, "")).await;
        let etag = etag(&answer);
        (serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap(), etag)
    }

    async fn insert(&self, row: &Plain) -> String {
        let request = self
            .request(Method::POST, &format!("/{TABLE}"), "")
            .header("prefer", "return-no-content")
            .header("content-type", "application/json")
            .body(serde_json::to_vec(row).unwrap());
        let answer = Self::send(request).await;
        let etag = etag(&answer);
        answer.bytes().await.unwrap();
        etag
    }

    async fn commit(&self, rows: &[Plain]) -> Vec<String> {
        let mut body =
            "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n".to_owned();
        for row in rows {
            write!(
                body,
                "--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: \
                 binary\r\n\r\nPOST {}/{TABLE} HTTP/1.1\r\nAccept: \
                 application/json;odata=nometadata\r\nPrefer: return-no-content\r\nContent-Type: \
                 application/json\r\n\r\n{}\r\n",
                self.endpoint,
                serde_json::to_string(row).unwrap()
            )
            .unwrap();
        }
        body.push_str("--changeset_1--\r\n--batch_1--\r\n");
        let request = self
            .request(Method::POST, "/$batch", "")
            .header("content-type", "multipart/mixed; boundary=batch_1")
            .body(body);
        let answer = Self::send(request).await.bytes().await.unwrap();
        let answer = std::str::from_utf8(&answer).unwrap();
        let parts = answer.lines().filter(|line| line.starts_with("HTTP/1.1 2")).count();
        assert_eq!(parts, rows.len());
        answer.lines().filter_map(|line| line.strip_prefix("ETag: ")).map(str::to_owned).collect()
    }

    async fn page(&self) -> Vec<Plain> {
        let query = format!("?$filter=PartitionKey%20eq%20'{PARTITION}'&$top={PAGE}");
        let answer = Self::send(self.request(Method::GET, &format!("/{TABLE}()"), &query)).await;
        let page: PlainPage = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        page.value
    }
}

#[async_trait]
impl Client for ByHand {
    async fn carry_out(&self, work: Work) {
        match work {
            Work::Get => assert_eq!(self.get("00007").await.0.row_key, "00007"),
            Work::Insert => drop(self.insert(&plain(7)).await),
            Work::Batch => {
                let rows: Vec<_> = (0..BATCH).map(plain).collect();
                assert_eq!(self.commit(&rows).await.len(), BATCH as usize);
            }
            Work::Page => assert_eq!(self.page().await.len(), PAGE as usize),
        }
    }
}

fn etag(answer: &Response) -> String {
    answer.headers()[ETAG].to_str().unwrap().to_owned()
}

/// A date as headers have them.
fn date(now: OffsetDateTime) -> String {
    let (weekday, month) = (now.weekday().to_string(), now.month().to_string());
    format!(
        "{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
        &weekday[..3],
        now.day(),
        &month[..3],
        now.year(),
        now.hour(),
        now.minute(),
        now.second()
    )
}
