//! The Azure store and queues over HTTPS, on an Azurite whose certificate an authority made here has signed.

use crate::Run;
use crate::cases;
use crate::queues;
use crate::subject::Subject;
use azure_core::credentials::{AccessToken, TokenRequestOptions};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::sync::Arc;
use support::azurite::{ACCOUNT, Azurite, KEY};
use table_orm::azure::AzureQueues;
use table_orm::azure::{
    AzureStore, ConnectError, ConnectOptions, Credential, SharedKey, TokenCredential,
};
use table_orm::store::{ErrorCode, Store as _};
use time::{Duration, OffsetDateTime};

/// The behaviours that are checked over TLS too: one of each kind of request.
const CASES: [&str; 4] = [
    "tables::are_created_listed_and_deleted",
    "rows::are_merged_property_by_property",
    "pages::hold_every_row_once_in_order",
    "transactions::apply_every_kind_of_operation",
];

/// A server's certificate and key, and the authority that signed it, as PEM text.
struct Certified {
    certificate: String,
    key: String,
    authority: String,
}

fn certify() -> Certified {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = server.signed_by(&key, &authority).unwrap().pem();
    Certified { certificate, key: key.serialize_pem(), authority: authority.pem() }
}

/// A credential with tokens like those of Entra ID, except for the signature, which Azurite does not
/// check.
#[derive(Debug)]
struct Unsigned;

#[async_trait::async_trait]
impl TokenCredential for Unsigned {
    async fn get_token(
        &self,
        _: &[&str],
        _: Option<TokenRequestOptions<'_>>,
    ) -> azure_core::Result<AccessToken> {
        let now = OffsetDateTime::now_utc();
        let expires = now + Duration::hours(1);
        let claims = serde_json::json!({
            "aud": "https://storage.azure.com",
            "iss": "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
            "iat": now.unix_timestamp() - 60,
            "nbf": now.unix_timestamp() - 60,
            "exp": expires.unix_timestamp(),
        });
        let part = |text: String| BASE64_URL_SAFE_NO_PAD.encode(text);
        let header = part(r#"{"alg":"RS256","typ":"JWT"}"#.to_owned());
        let token = format!("{header}.{}.{}", part(claims.to_string()), part("none".to_owned()));
        Ok(AccessToken::new(token, expires))
    }
}

pub fn carries_keys_and_tokens(_: &Azurite) -> Run {
    Box::pin(async {
        let directory = tempfile::tempdir().unwrap();
        let Certified { certificate, key, authority } = certify();
        let paths = ["certificate.pem", "key.pem"].map(|name| directory.path().join(name));
        std::fs::write(&paths[0], certificate).unwrap();
        std::fs::write(&paths[1], key).unwrap();
        let azurite = Azurite::start_with_tls(&paths[0], &paths[1]).unwrap();
        let (endpoint, queue_endpoint) = (azurite.endpoint(), azurite.queue_endpoint());
        let shared_key = || Credential::from(SharedKey::new(ACCOUNT, KEY).unwrap());
        let credentials = [shared_key(), Arc::new(Unsigned).into()];
        let outcome = tokio::spawn(async move {
            let options = |root_certificates| ConnectOptions {
                root_certificates,
                ..ConnectOptions::default()
            };
            let trusting = |credential, root_certificates| {
                AzureStore::with_options(&endpoint, credential, options(root_certificates))
            };
            // The system does not know the authority.
            let error = AzureStore::new(&endpoint, shared_key()).unwrap().list_tables().await;
            assert_eq!(error.unwrap_err().code, ErrorCode::CERTIFICATE_REFUSED);
            let error = trusting(shared_key(), "no certificate".to_owned()).unwrap_err();
            assert!(matches!(error, ConnectError::RootCertificates), "{error}");
            for credential in credentials {
                for name in CASES {
                    let case = cases::all().into_iter().find(|case| case.name == name).unwrap();
                    let store = trusting(credential.clone(), authority.clone()).unwrap();
                    (case.run)(Subject::new(store).await).await;
                }
                let options = options(authority.clone());
                let queues = AzureQueues::with_options(&queue_endpoint, credential, options);
                let deliver = queues::case("queues::deliver_what_was_sent_until_it_is_removed");
                (deliver.run)(Arc::new(queues.unwrap())).await;
            }
        });
        let outcome = outcome.await;
        azurite.stop();
        outcome.unwrap();
    })
}
