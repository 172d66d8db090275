//! Policies that authorize each try of a request, as the last step before the transport.

use super::credential::SharedKey;
use crate::azure::endpoint::AccountService;
use crate::azure::protocol::{http_date, signature};
use async_trait::async_trait;
use azure_core::credentials::{Secret, TokenRequestOptions};
use azure_core::error::{Error, ErrorKind};
use azure_core::http::headers::{AUTHORIZATION, CONTENT_TYPE, HeaderName, MS_DATE};
use azure_core::http::policies::auth::{Authorizer, OnRequest};
use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{ClientMethodOptions, Context, Request};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::timeout;

/// Signs with the account's key: `SharedKeyLite` (service documentation, "Authorize with Shared
/// Key"). Each try has a new date, because the service refuses one that is 15 minutes old.
#[derive(Debug)]
pub(crate) struct SignSharedKey {
    pub(crate) key: SharedKey,
    pub(crate) service: AccountService,
}

#[async_trait]
impl Policy for SignSharedKey {
    async fn send(
        &self,
        context: &Context,
        request: &mut Request,
        next: &[Arc<dyn Policy>],
    ) -> PolicyResult {
        let account = self.key.account();
        request.insert_header(MS_DATE, http_date::format(SystemTime::now()));
        let signature = self.key.sign(&string_to_sign(self.service, account, request))?;
        request.insert_header(AUTHORIZATION, format!("SharedKeyLite {account}:{signature}"));
        next[0].send(context, request, &next[1..]).await
    }
}

/// Builds the text to sign of a dated request. The body and most of the query are not part of it.
fn string_to_sign(service: AccountService, account: &str, request: &Request) -> String {
    let value = |name: &HeaderName| request.headers().get_optional_str(name).unwrap_or_default();
    let url = request.url();
    let comp = url.query_pairs().find(|(name, _)| name == "comp").map(|(_, value)| value);
    let comp = comp.as_deref();
    match service {
        AccountService::Tables => {
            signature::shared_key_lite(value(&MS_DATE), account, url.path(), comp)
        }
        AccountService::Queues => {
            let (method, headers) = (request.method(), canonical_headers(request));
            // The MD5 is empty, and the date is among the headers.
            let mut text = format!("{method}\n\n{}\n\n{headers}", value(&CONTENT_TYPE));
            signature::push_resource(&mut text, account, url.path(), comp);
            text
        }
    }
}

/// Returns the headers `x-ms-*`, sorted, each with a line end.
fn canonical_headers(request: &Request) -> String {
    let headers: BTreeMap<_, _> = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| name.starts_with("x-ms-"))
        .collect();
    headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect()
}

/// Appends a shared access signature to the query.
#[derive(Debug)]
pub(crate) struct AppendSas(pub(crate) Secret);

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
        request.insert_header(MS_DATE, http_date::format(SystemTime::now()));
        next[0].send(context, request, &next[1..]).await.map_err(without_signature)
    }
}

/// Removes a cause that shows a signature from the error: the HTTP client of an app may put the URL
/// into its errors.
fn without_signature(error: Error) -> Error {
    if format!("{error} {error:?}").contains("sig=") {
        Error::with_message(error.kind().clone(), "the request failed")
    } else {
        error
    }
}

/// Adds a token of a scope to each request. Fails when the token does not arrive within the limit.
#[derive(Debug)]
pub(crate) struct TokenInTime {
    pub(crate) scope: &'static str,
    pub(crate) limit: Duration,
}

#[async_trait]
impl OnRequest for TokenInTime {
    async fn on_request(
        &self,
        context: &mut Context,
        request: &mut Request,
        authorizer: &dyn Authorizer,
    ) -> azure_core::Result<()> {
        let unavailable = |why: String| Error::with_message(ErrorKind::Credential, why);
        let method_options = ClientMethodOptions { context: context.clone() };
        let options = TokenRequestOptions { method_options };
        // The wait for a token that another request asked for counts too.
        timeout(self.limit, authorizer.authorize(request, &[self.scope], options)).await.map_err(
            |_| unavailable(format!("the credential returned none within {:?}", self.limit)),
        )??;
        let token = request.headers().get_str(&AUTHORIZATION)?.strip_prefix("Bearer ");
        if token
            .is_some_and(|token| !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic()))
        {
            Ok(())
        } else {
            let why = "the credential returned one that is empty or has spaces, line breaks or other \
                       characters that tokens cannot have";
            Err(unavailable(why.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use azure_core::http::{Method, Url};

    fn signed(service: AccountService, request: &Request) -> String {
        string_to_sign(service, "acc", request)
    }

    fn request(method: Method, url: &str, headers: &[(&'static str, &'static str)]) -> Request {
        let mut request = Request::new(Url::parse(url).unwrap(), method);
        for (name, value) in headers {
            request.insert_header(*name, *value);
        }
        request
    }

    #[test]
    fn the_path_is_signed_as_it_is_sent() {
        let signed = |url: &str| {
            signed(AccountService::Tables, &request(Method::Get, url, &[("x-ms-date", "D")]))
        };
        assert_eq!(
            signed("https://h/People(PartitionKey='a%20b',RowKey='%27%27')?$top=1"),
            "D\n/acc/People(PartitionKey='a%20b',RowKey='%27%27')"
        );
        assert_eq!(signed("http://h:1/acc/?comp=properties&x=1"), "D\n/acc/acc/?comp=properties");
    }

    /// The example of the service documentation, "Authorize with Shared Key", and one of a queue.
    #[test]
    fn the_service_headers_of_a_request_to_a_queue_are_signed() {
        let documented = request(
            Method::Put,
            "http://testaccount1.blob.core.windows.net/mycontainer/hello.txt",
            &[
                ("content-type", "text/plain; charset=UTF-8"),
                ("x-ms-meta-m2", "v2"),
                ("x-ms-date", "Sun, 20 Sep 2009 20:36:40 GMT"),
                ("x-ms-meta-m1", "v1"),
                ("content-length", "11"),
            ],
        );
        assert_eq!(
            string_to_sign(AccountService::Queues, "testaccount1", &documented),
            "PUT\n\ntext/plain; charset=UTF-8\n\nx-ms-date:Sun, 20 Sep 2009 20:36:40 GMT\n\
             x-ms-meta-m1:v1\nx-ms-meta-m2:v2\n/testaccount1/mycontainer/hello.txt"
        );
        let url = "http://h:1/acc/jobs/messages?popreceipt=a%2Bb&visibilitytimeout=0";
        let renewal = request(Method::Put, url, &[("x-ms-version", "V"), ("accept", "A")]);
        assert_eq!(
            signed(AccountService::Queues, &renewal),
            "PUT\n\n\n\nx-ms-version:V\n/acc/acc/jobs/messages"
        );
    }
}
