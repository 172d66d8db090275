//! Policies that authorize each try of a request, as the last step before the transport.

use super::credential::SharedKey;
use super::string_to_sign::string_to_sign;
use crate::azure::endpoint::AccountService;
use crate::azure::protocol::http_date;
use crate::sync::held;
use async_trait::async_trait;
use azure_core::credentials::{Secret, TokenRequestOptions};
use azure_core::error::{Error, ErrorKind};
use azure_core::http::headers::{AUTHORIZATION, MS_DATE};
use azure_core::http::policies::auth::{Authorizer, OnRequest};
use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{ClientMethodOptions, Context, Request};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::timeout;

/// Signs with the account's key: `SharedKeyLite`, or `SharedKey` for blobs (service documentation, "Authorize with
/// Shared Key"). Each try has a new date, because the service rejects one that is 15 minutes old.
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
        let date = http_date::format(SystemTime::now());
        request.insert_header(MS_DATE, date.clone());
        let text = string_to_sign(self.service, account, &date, request);
        let signature = self.key.sign(&text)?;
        let scheme = match self.service {
            AccountService::Blobs => "SharedKey",
            AccountService::Tables | AccountService::Queues => "SharedKeyLite",
        };
        request.insert_header(AUTHORIZATION, format!("{scheme} {account}:{signature}"));
        next[0].send(context, request, &next[1..]).await
    }
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
        // Whatever kind of error a credential returns, nothing was sent.
        let failed =
            |error| Error::with_error(ErrorKind::Credential, error, "the credential failed");
        let method_options = ClientMethodOptions { context: context.clone() };
        let options = TokenRequestOptions { method_options };
        // The wait for a token that another request asked for counts too.
        held(timeout(self.limit, authorizer.authorize(request, &[self.scope], options)))
            .await
            .map_err(|_| {
                unavailable(format!("the credential returned none within {:?}", self.limit))
            })?
            .map_err(failed)?;
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
