//! Authorizes each try of a request: the last policies before the transport.

use super::SharedKey;
use crate::protocol::http_date;
use async_trait::async_trait;
use azure_core::credentials::Secret;
use azure_core::error::Error;
use azure_core::http::headers::{AUTHORIZATION, MS_DATE};
use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{Context, Request, Url};
use azure_core::time::OffsetDateTime;
use std::sync::Arc;

/// Signs with the account's key: `SharedKeyLite` of the Table service. The date is new with each
/// try, because the service refuses one that is 15 minutes old.
#[derive(Debug)]
pub(super) struct SignSharedKey(pub(super) SharedKey);

#[async_trait]
impl Policy for SignSharedKey {
    async fn send(
        &self,
        context: &Context,
        request: &mut Request,
        next: &[Arc<dyn Policy>],
    ) -> PolicyResult {
        let date = http_date::format(OffsetDateTime::now_utc());
        let signature = self.0.sign(&string_to_sign(&date, self.0.account(), request.url()))?;
        let authorization = format!("SharedKeyLite {}:{signature}", self.0.account());
        request.insert_header(MS_DATE, date);
        request.insert_header(AUTHORIZATION, authorization);
        next[0].send(context, request, &next[1..]).await
    }
}

/// The date and the path as it is sent; of the query, only `comp` counts.
fn string_to_sign(date: &str, account: &str, url: &Url) -> String {
    let mut text = format!("{date}\n/{account}{}", url.path());
    if let Some((_, value)) = url.query_pairs().find(|(name, _)| name == "comp") {
        text.push_str("?comp=");
        text.push_str(&value);
    }
    text
}

/// Appends a shared access signature to the query.
#[derive(Debug)]
pub(super) struct AppendSas(pub(super) Secret);

#[async_trait]
impl Policy for AppendSas {
    async fn send(
        &self,
        context: &Context,
        request: &mut Request,
        next: &[Arc<dyn Policy>],
    ) -> PolicyResult {
        let signature = self.0.secret();
        let query = match request.url().query() {
            Some(query) if query.ends_with(signature) => None,
            Some(query) if !query.is_empty() => Some(format!("{query}&{signature}")),
            _ => Some(signature.to_owned()),
        };
        if query.is_some() {
            request.url_mut().set_query(query.as_deref());
        }
        request.insert_header(MS_DATE, http_date::format(OffsetDateTime::now_utc()));
        next[0].send(context, request, &next[1..]).await.map_err(without_signature)
    }
}

/// The error, without its cause where that shows a signature: HTTP clients that an app brings along
/// may put the URL into their errors.
fn without_signature(error: Error) -> Error {
    if format!("{error} {error:?}").contains("sig=") {
        Error::with_message(error.kind().clone(), "the request failed")
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_signed_as_it_is_sent() {
        let signed = |url: &str| string_to_sign("D", "acc", &Url::parse(url).unwrap());
        assert_eq!(
            signed("https://h/People(PartitionKey='a%20b',RowKey='%27%27')?$top=1"),
            "D\n/acc/People(PartitionKey='a%20b',RowKey='%27%27')"
        );
        assert_eq!(signed("http://h:1/acc/?comp=properties&x=1"), "D\n/acc/acc/?comp=properties");
    }
}
