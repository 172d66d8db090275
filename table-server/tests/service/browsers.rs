//! Requests of scripts in browsers.

use crate::client::{Client, request, signed};
use table_server::Response;

const RULES: &str = "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>https://race.example</AllowedOrigins>\
    <AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>accept,x-ms-*</AllowedHeaders>\
    <ExposedHeaders>x-ms-*</ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds></CorsRule></Cors>\
    </StorageServiceProperties>";

async fn with_rules() -> Client {
    let client = Client::with_people().await;
    let set = client.send("PUT", "/?restype=service&comp=properties", &[], RULES).await;
    assert_eq!(set.status, 202);
    client
}

async fn preflight(client: &Client, headers: &[(&str, &str)]) -> Response {
    client.answer(request("OPTIONS", "/People()", headers, "")).await
}

#[tokio::test]
async fn a_preflight_is_answered_by_the_rules_without_a_credential() {
    let client = with_rules().await;
    let origin = ("origin", "https://race.example");
    let get = ("access-control-request-method", "GET");
    let asked = ("access-control-request-headers", "Accept, X-MS-Date");
    let allowed = preflight(&client, &[origin, get, asked]).await;
    assert_eq!(allowed.status, 200);
    assert_eq!(allowed.header("access-control-allow-origin"), Some(origin.1));
    assert_eq!(allowed.header("access-control-max-age"), Some("60"));
    assert_eq!(allowed.header("access-control-allow-headers"), Some(asked.1));
    for headers in [
        &[("origin", "https://other.example"), get][..],
        &[origin, ("access-control-request-method", "DELETE")],
        &[origin, get, ("access-control-request-headers", "authorization")],
    ] {
        assert_eq!(preflight(&client, headers).await.status, 403, "{headers:?}");
    }
    assert_eq!(preflight(&client, &[get]).await.status, 400);
}

#[tokio::test]
async fn an_answer_names_the_origin_that_may_read_it() {
    let client = with_rules().await;
    let read = async |origin: &str| {
        client.answer(signed(request("GET", "/People()", &[("origin", origin)], ""))).await
    };
    let allowed = read("https://race.example").await;
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://race.example"));
    assert!(allowed.header("access-control-expose-headers").unwrap().contains("x-ms-request-id"));
    let other = read("https://other.example").await;
    assert_eq!((other.status, other.header("access-control-allow-origin")), (200, None));
    let unsigned = request("GET", "/People()", &[("origin", "https://race.example")], "");
    assert_eq!(client.answer(unsigned).await.status, 403);
}

#[tokio::test]
async fn a_script_changes_nothing_without_a_rule_for_its_origin() {
    let client = with_rules().await;
    let body = r#"{"PartitionKey":"p","RowKey":"new"}"#;
    let json = ("content-type", "application/json");
    let send = async |method: &str, path: &str, origin: &str, body: &str| {
        let request = request(method, path, &[("origin", origin), json], body);
        client.answer(signed(request)).await.status
    };
    // A browser sends this without asking: a signature may be in the address, and a blob has no type.
    for (path, body) in [("/People", body), ("/Tables", r#"{"TableName":"Mine"}"#)] {
        for origin in ["https://other.example", "https://race.example", "null"] {
            assert_eq!(send("POST", path, origin, body).await, 403, "{path} {origin}");
        }
    }
    // A page would give itself a rule so.
    let rule = "/?restype=service&comp=properties";
    assert_eq!(send("PUT", rule, "https://other.example", RULES).await, 403);
    assert_eq!(send("DELETE", "/Tables('People')", "https://other.example", "").await, 403);
    // The rule is for GET and PUT.
    let put = "/People(PartitionKey='p',RowKey='new')";
    assert_eq!(send("PUT", put, "https://other.example", "{}").await, 403);
    assert_eq!(send("PUT", put, "https://race.example", "{}").await, 204);
    let text =
        request("POST", "/Tables", &[("content-type", "text/plain")], r#"{"TableName":"Mine"}"#);
    assert_eq!(client.answer(signed(text)).await.status, 415);
}

#[tokio::test]
async fn a_page_that_takes_the_name_of_the_host_gets_nothing_by_the_public_key() {
    let client = Client::with_people().await;
    for (host, status) in [("127.0.0.1:10002", 200), ("tables", 200), ("evil.example:10002", 403)] {
        let request = request("GET", "/People()", &[("host", host)], "");
        assert_eq!(client.answer(signed(request)).await.status, status, "{host}");
    }
}
