//! Rules for browsers, set here and enforced by Azurite.

use crate::Run;
use azure_core::credentials::Secret;
use azure_core::hmac::hmac_sha256;
use std::time::Duration;
use support::azurite::{ACCOUNT, Azurite, KEY};
use table_orm::azure::{AzureStore, CorsMethod, CorsRule};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const ORIGIN: &str = "https://race.example";

/// One case, because the rules are the whole account's.
pub fn rules_open_the_service_to_their_origins(azurite: &Azurite) -> Run {
    let azurite = azurite.clone();
    Box::pin(async move {
        let store = AzureStore::from_connection_string(&azurite.connection_string()).unwrap();
        let metrics = "<MinuteMetrics><Version>1.0</Version><Enabled>true</Enabled>\
            <IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>3</Days>\
            </RetentionPolicy></MinuteMetrics>";
        let properties = format!("<StorageServiceProperties>{metrics}</StorageServiceProperties>");
        let set = own(&azurite, "PUT", &properties).await;
        assert!(set.starts_with("HTTP/1.1 202 "), "{set}");
        assert_eq!(store.cors_rules().await.unwrap(), []);

        let rules = [
            CorsRule::new([ORIGIN, "http://b.example"], [CorsMethod::Get, CorsMethod::Put])
                .allowing(["x-ms-*", "accept"])
                .exposing(["etag"])
                .remembered_for(Duration::from_secs(200)),
            // Azurite refuses a rule without headers.
            CorsRule::new(["*"], [CorsMethod::Head]).allowing(["*"]).exposing(["*"]),
        ];
        store.set_cors_rules(&rules).await.unwrap();
        assert_eq!(store.cors_rules().await.unwrap(), rules);
        let kept = own(&azurite, "GET", "").await;
        assert!(kept.contains("<Days>3</Days>"), "{kept}");

        let allowed = preflight(&azurite, ORIGIN, "GET").await;
        assert!(allowed.starts_with("HTTP/1.1 200 "), "{allowed}");
        let header = format!("access-control-allow-origin: {ORIGIN}\r\n");
        assert!(allowed.to_ascii_lowercase().contains(&header), "{allowed}");
        for (origin, method) in [(ORIGIN, "DELETE"), ("https://other.example", "GET")] {
            let rejected = preflight(&azurite, origin, method).await;
            assert!(rejected.starts_with("HTTP/1.1 403 "), "{rejected}");
        }

        store.set_cors_rules(&[]).await.unwrap();
        assert_eq!(store.cors_rules().await.unwrap(), []);
        let rejected = preflight(&azurite, ORIGIN, "GET").await;
        assert!(rejected.starts_with("HTTP/1.1 403 "), "{rejected}");
    })
}

/// What a browser asks before a script's request.
async fn preflight(azurite: &Azurite, origin: &str, method: &str) -> String {
    let asked = format!("Origin: {origin}\r\nAccess-Control-Request-Method: {method}\r\n");
    exchange(azurite, "OPTIONS", "/People", &asked, "").await
}

/// A request for the service's properties, made without table-orm.
async fn own(azurite: &Azurite, method: &str, body: &str) -> String {
    let until = "2099-01-01T00:00:00Z";
    let signed = format!("{ACCOUNT}\nrw\nt\ns\n\n{until}\n\nhttps,http\n2019-02-02\n");
    let signature = hmac_sha256(&signed, &Secret::new(KEY)).unwrap();
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let target = format!(
        "/?restype=service&comp=properties&sv=2019-02-02&ss=t&srt=s&sp=rw&se={until}\
         &spr=https,http&sig={signature}"
    );
    let headers = "Accept: application/xml\r\nContent-Type: application/xml\r\n";
    exchange(azurite, method, &target, headers, body).await
}

async fn exchange(
    azurite: &Azurite,
    method: &str,
    target: &str,
    headers: &str,
    body: &str,
) -> String {
    let endpoint = azurite.endpoint();
    let address = endpoint.strip_prefix("http://").unwrap();
    let (host, path) = address.split_once('/').unwrap();
    let mut connection = TcpStream::connect(host).await.unwrap();
    let request = format!(
        "{method} /{path}{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         x-ms-version: 2020-12-06\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}
