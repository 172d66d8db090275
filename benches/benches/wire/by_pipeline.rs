//! The client written by hand, with its requests sent through `azure_core`'s pipeline: what that
//! costs at the least, whatever is built on it. Of an answer's headers its transport hands back the
//! ETag alone, which no client for others can.

use super::by_hand::{Service, etags, http, page_query, row_path};
use super::client::{Client, Work};
use super::finisher::{BATCH, PAGE, Plain, PlainPage, TABLE, plain};
use super::server::Server;
use async_trait::async_trait;
use azure_core::http::headers::{HeaderName, HeaderValue, Headers};
use azure_core::http::{
    AsyncRawResponse, Body, ClientOptions, Context, HttpClient, Method, Pipeline,
    PipelineStreamOptions, Request, RetryOptions, Transport,
};
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use std::borrow::Cow;
use std::sync::Arc;

const ETAG: HeaderName = HeaderName::from_static("etag");

pub struct ByPipeline {
    pipeline: Pipeline,
    service: Service,
}

#[derive(Debug)]
struct Reqwest(reqwest::Client);

#[async_trait]
impl HttpClient for Reqwest {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let method = match request.method() {
            Method::Get => reqwest::Method::GET,
            _ => reqwest::Method::POST,
        };
        let mut outgoing = reqwest::Request::new(method, request.url().clone());
        let headers = outgoing.headers_mut();
        headers.reserve(16);
        for (name, value) in request.headers().iter() {
            let name: reqwest::header::HeaderName = name.as_str().parse().unwrap();
            headers.insert(name, value.as_str().parse().unwrap());
        }
        if let Body::Bytes(bytes) = request.body()
            && !bytes.is_empty()
        {
            *outgoing.body_mut() = Some(bytes.clone().into());
        }
        let answer = self.0.execute(outgoing).await.unwrap();
        let mut headers = Headers::new();
        if let Some(etag) = answer.headers().get(reqwest::header::ETAG) {
            headers.insert(ETAG, HeaderValue::from(etag.to_str().unwrap().to_owned()));
        }
        let status = answer.status().as_u16();
        let body = answer.bytes().await.unwrap();
        Ok(AsyncRawResponse::from_bytes(status.into(), headers, body))
    }
}

impl ByPipeline {
    pub fn new(endpoint: &str, server: &Server) -> Self {
        let transport = Some(Transport::new(Arc::new(Reqwest(http(server)))));
        let retry = RetryOptions::none();
        let options = ClientOptions { transport, retry, ..ClientOptions::default() };
        let pipeline = Pipeline::new(None, None, options, Vec::new(), Vec::new(), None);
        Self { pipeline, service: Service::new(endpoint) }
    }

    /// Sends a signed request; returns the ETag and the body of its answer.
    async fn send(
        &self,
        (method, path, query): (Method, &str, &str),
        headers: &[(&'static str, &'static str)],
        body: Vec<u8>,
    ) -> (String, Bytes) {
        let url = format!("{}{path}{query}", self.service.endpoint).parse().unwrap();
        let mut request = Request::new(url, method);
        let more = headers.iter().map(|(name, value)| (*name, Cow::Borrowed(*value)));
        for (name, value) in self.service.headers(path).into_iter().chain(more) {
            let value = match value {
                Cow::Borrowed(value) => HeaderValue::from_static(value),
                Cow::Owned(value) => HeaderValue::from(value),
            };
            request.insert_header(HeaderName::from_static(name), value);
        }
        request.set_body(body);
        let options = PipelineStreamOptions { skip_checks: true, ..Default::default() };
        let answer = self.pipeline.stream(&Context::new(), &mut request, Some(options)).await;
        let (status, headers, mut body) = answer.unwrap().deconstruct();
        assert!(status.is_success());
        let etag = headers.get_optional_string(&ETAG);
        (etag.unwrap_or_default(), body.try_next().await.unwrap().unwrap_or_default())
    }
}

#[async_trait]
impl Client for ByPipeline {
    async fn carry_out(&self, work: Work) {
        let rows = format!("/{TABLE}");
        match work {
            Work::Get => {
                let at = (Method::Get, &*row_path("00007"), "");
                let (_, body) = self.send(at, &[], Vec::new()).await;
                let row: Plain = serde_json::from_slice(&body).unwrap();
                assert_eq!(row.row_key, "00007");
            }
            Work::Insert => {
                let headers =
                    [("prefer", "return-no-content"), ("content-type", "application/json")];
                let body = serde_json::to_vec(&plain(7)).unwrap();
                assert!(!self.send((Method::Post, &rows, ""), &headers, body).await.0.is_empty());
            }
            Work::Batch => {
                let inserted: Vec<_> = (0..BATCH).map(plain).collect();
                let headers = [("content-type", "multipart/mixed; boundary=batch_1")];
                let body = self.service.transaction(&inserted).into_bytes();
                let (_, answer) = self.send((Method::Post, "/$batch", ""), &headers, body).await;
                assert_eq!(etags(&answer, inserted.len()).len(), inserted.len());
            }
            Work::Page => {
                let at = (Method::Get, &*format!("/{TABLE}()"), &*page_query());
                let (_, body) = self.send(at, &[], Vec::new()).await;
                let page: PlainPage = serde_json::from_slice(&body).unwrap();
                assert_eq!(page.value.len(), PAGE as usize);
            }
        }
    }
}
