//! Opening a store.

use super::{
    AccessToken, AzureStore, ConnectError, ConnectOptions, Credential, SharedKey, TokenCredential,
    TokenRequestOptions,
};
use crate::layer::{Layer as _, Retry};
use crate::model::TableName;
use crate::store::{Action, ErrorCode, Operation, Store as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn connected(options: ConnectOptions) -> Result<AzureStore, ConnectError> {
    let key = SharedKey::new("acc", "c2VjcmV0").unwrap();
    AzureStore::with_options("https://acc.table.core.windows.net", key, options)
}

#[test]
fn an_application_id_that_the_user_agent_header_cannot_hold_is_refused() {
    let connected = |id: &str| {
        let mut options = ConnectOptions::default();
        options.client.user_agent.application_id = Some(id.to_owned());
        connected(options)
    };
    for id in ["ops-1.0", "!#$%&'*+-.^_`|~", "exactly_24_characters!!!"] {
        assert!(connected(id).is_ok(), "{id}");
    }
    for id in
        ["", "ops/1.0", "ops 1", "zürich", "one more than 24 of them", "a_23456789_23456789_23456"]
    {
        assert!(matches!(connected(id), Err(ConnectError::ApplicationId)), "{id}");
    }
}

#[test]
fn zero_timeouts_are_refused() {
    let (zero, default) = (Duration::ZERO, ConnectOptions::default());
    let rejected = |options| connected(options).err();
    let request = ConnectOptions { request_timeout: zero, ..default.clone() };
    assert!(matches!(rejected(request), Some(ConnectError::Timeout("request_timeout"))));
    let connect = ConnectOptions { connect_timeout: zero, ..default };
    assert!(matches!(rejected(connect), Some(ConnectError::Timeout("connect_timeout"))));
}

#[test]
fn a_signature_for_https_only_is_not_sent_unencrypted_over_a_network() {
    let connected = |endpoint: &str, signature: &str| {
        let credential = Credential::sas(signature).unwrap();
        AzureStore::with_options(endpoint, credential, ConnectOptions::default())
    };
    for (endpoint, signature) in [
        ("https://acc.table.core.windows.net", "sv=1&spr=https&sig=x"),
        ("http://127.0.0.1:10002/acc", "sv=1&spr=https&sig=x"),
        ("http://127.3.2.1:10002/acc", "sv=1&sig=x"),
        ("http://[::1]:10002/acc", "sv=1&sig=x"),
        ("http://localhost:10002/acc", "sv=1&sig=x"),
        ("http://acc.table.localhost:10002", "sv=1&sig=x"),
        ("http://azurite:10002/acc", "sv=1&spr=https,http&sig=x"),
        ("http://azurite:10002/acc", "sv=1&spr=https%2Chttp&sig=x"),
    ] {
        assert!(connected(endpoint, signature).is_ok(), "{endpoint} {signature}");
    }
    for (endpoint, signature) in [
        ("http://acc.table.core.windows.net", "sv=1&spr=https&sig=x"),
        ("http://acc.table.core.windows.net", "sv=1&sig=x"),
        ("http://localhost.example", "sv=1&sig=x"),
        ("http://azurite:10002/acc", "sv=1&spr=https&sig=http"),
    ] {
        let rejected =
            matches!(connected(endpoint, signature), Err(ConnectError::SignatureOverHttp));
        assert!(rejected, "{endpoint} {signature}");
    }
}

/// A credential that returns a token, or never answers.
#[derive(Debug)]
struct FixedToken(Option<&'static str>);

#[async_trait::async_trait]
impl TokenCredential for FixedToken {
    async fn get_token(
        &self,
        _: &[&str],
        _: Option<TokenRequestOptions<'_>>,
    ) -> azure_core::Result<AccessToken> {
        let Some(token) = self.0 else { return std::future::pending().await };
        let expires = time::OffsetDateTime::now_utc() + time::Duration::hours(1);
        Ok(AccessToken::new(token, expires))
    }
}

/// The errors of two concurrent requests to a host that is never contacted.
async fn errors(credential: FixedToken) -> [String; 2] {
    let limit = Duration::from_secs(5);
    let options = ConnectOptions { request_timeout: limit, ..ConnectOptions::default() };
    let credential = Arc::new(credential);
    let endpoint = "https://acc.table.core.windows.net";
    let store = AzureStore::with_options(endpoint, credential, options).unwrap();
    let start = tokio::time::Instant::now();
    let (one, other) = tokio::join!(store.list_tables(), store.list_tables());
    assert!(start.elapsed() < limit * 2);
    [one, other].map(|answer| {
        let error = answer.unwrap_err();
        assert_eq!(error.code.as_str(), "CredentialUnavailable");
        format!("{error} {error:?}")
    })
}

#[tokio::test(start_paused = true)]
async fn no_request_waits_longer_for_a_token_than_for_an_answer() {
    for error in errors(FixedToken(None)).await {
        assert!(error.contains("the credential returned none within 5s"), "{error}");
    }
}

#[tokio::test]
async fn a_token_that_no_header_can_hold_is_reported_and_not_shown() {
    for token in ["SeCrEt\n", "Bearer SeCrEt", "SeCr\u{e9}t", ""] {
        for error in errors(FixedToken(Some(token))).await {
            assert!(error.contains("the credential returned one that is empty or has"), "{error}");
            assert!(!error.contains("SeCr"), "{error}");
        }
    }
}

/// Counts the tokens that it was asked for, and returns none: after that time, an error of a kind that also says that
/// no answer came.
#[derive(Debug, Default)]
struct NoToken(AtomicUsize, Duration);

#[async_trait::async_trait]
impl TokenCredential for NoToken {
    async fn get_token(
        &self,
        _: &[&str],
        _: Option<TokenRequestOptions<'_>>,
    ) -> azure_core::Result<AccessToken> {
        self.0.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(self.1).await;
        Err(std::io::Error::other("the sidecar is away").into())
    }
}

#[tokio::test(start_paused = true)]
async fn a_credential_without_a_token_is_asked_once_and_leaves_no_doubt_about_a_write() {
    for (seconds, reason) in [(1, "the sidecar is away"), (1000, "returned none within 60s")] {
        let credential = Arc::new(NoToken(AtomicUsize::new(0), Duration::from_secs(seconds)));
        let endpoint = "https://acc.table.core.windows.net";
        let store = AzureStore::new(endpoint, Arc::clone(&credential)).unwrap();
        let store = Retry::interactive().around(Arc::new(store)).unwrap();
        let insert = Action::Insert("{}".into());
        let operation = Operation { row_key: "r".to_owned(), action: insert };
        let error = store.write(&TableName::new("orders").unwrap(), "p", operation).await;
        let error = error.unwrap_err();
        assert_eq!(error.code.as_str(), "CredentialUnavailable", "{error}");
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(credential.0.load(Ordering::Relaxed), 1);
    }
}

/// An entity with a total.
#[derive(Debug, Clone, PartialEq, crate::TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "{number:05}", sums = Order::SUMS, crate = crate)]
struct Order {
    customer: String,
    number: u32,
    cents: i64,
}

impl Order {
    const CENTS: crate::Sum<Self> = crate::Sum::of("cents", |order| order.cents);
    const SUMS: &'static [crate::Sum<Self>] = &[Self::CENTS];
}

#[tokio::test]
async fn a_signature_for_some_row_keys_shows_no_total_and_no_damage() {
    // A request would end in another error.
    let repo = |signature: &str| {
        let credential = Credential::sas(signature).unwrap();
        let store = AzureStore::new("http://127.0.0.1:1/acc", credential).unwrap();
        crate::Tables::builder(store).retry(None).build().unwrap().repo::<Order>()
    };
    let acme = Order::partition("acme");
    for range in ["spk=acme&srk=0&", "epk=acme&erk=9&"] {
        let orders = repo(&format!("sv=1&tn=orders&{range}sig=x"));
        let codes = [
            orders.sum(&acme, &Order::CENTS).await.map(drop),
            orders.sum_by_group(&acme, &Order::CENTS).await.map(drop),
            orders.verify_sums(&acme).await.map(drop),
            orders.repair_sums(&acme).await.map(drop),
            orders.verify(&acme).await.map(drop),
            orders.verify(&acme).stream().next().await.map(drop),
        ];
        for refused in codes {
            let error = refused.unwrap_err();
            let crate::Error::Unauthorized(rejection) = &error else { panic!("{error}") };
            assert_eq!(rejection.cause.code, ErrorCode::ROWS_OUT_OF_REACH);
            assert!(error.to_string().contains("use a credential without such a range"), "{error}");
        }
    }
    // A range of partitions shows each of them whole.
    let whole = repo("sv=1&tn=orders&spk=a&epk=b&sig=x");
    let sent = whole.sum(&acme, &Order::CENTS).await.unwrap_err();
    assert!(matches!(sent, crate::Error::Unavailable(_)), "{sent}");
}
