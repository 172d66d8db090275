//! Credentials: what is refused, and what a signature grants.

use crate::client::{Client, code, key, request, signed, text};
use http::HeaderValue;
use table_orm::TableName;
use table_orm::azure::protocol::{percent_encode, signature};
use table_orm::azure::{AccessPolicy, AzureStore, Permissions, TableSas};
use table_orm::embedded::EmbeddedStore;
use table_orm::model::Metadata;
use table_orm::query::KeyLimit;
use table_orm::store::{ErrorCode, Store as _};
use table_server::{EMULATOR_ACCOUNT, Request, Response, Server};
use time::{Duration, OffsetDateTime};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

fn soon() -> OffsetDateTime {
    OffsetDateTime::now_utc() + Duration::hours(1)
}

pub fn sas(permissions: Permissions) -> TableSas {
    TableSas::new(TableName::new("People").unwrap(), permissions, soon()).allow_http()
}

/// A request with a signature in its query.
fn with(
    signature: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Request {
    let separator = if path.contains('?') { '&' } else { '?' };
    request(method, &format!("{path}{separator}{signature}"), headers, body)
}

async fn people() -> Client {
    let client = Client::with_people().await;
    for partition in ["a", "b", "c"] {
        for row in ["1", "2"] {
            let body = format!(r#"{{"PartitionKey":"{partition}","RowKey":"{row}"}}"#);
            assert_eq!(client.send("POST", "/People", &[], &body).await.status, 201);
        }
    }
    client
}

fn rows(response: &Response) -> usize {
    assert_eq!(response.status, 200, "{}", text(response));
    text(response).matches("\"RowKey\"").count()
}

#[tokio::test]
async fn nothing_is_answered_without_a_valid_credential() {
    let client = Client::with_people().await;
    let good = signed(request("GET", "/Tables", &[], ""));
    assert_eq!(client.answer(good.clone()).await.status, 200);
    let changed = |name: &'static str, value: &str| {
        let mut request = good.clone();
        request.headers.insert(name, HeaderValue::from_str(value).unwrap());
        request
    };
    let mut elsewhere = good.clone();
    elsewhere.target = format!("/{EMULATOR_ACCOUNT}/People()");
    let mut other_account = good.clone();
    other_account.target = "/otheraccount/Tables".into();
    for request in [
        request("GET", "/Tables", &[], ""),
        changed("authorization", "SharedKeyLite devstoreaccount1:AAAA"),
        changed("authorization", "SharedKeyLite devstoreaccount1"),
        changed("authorization", "SharedKeyLite"),
        changed("authorization", "Basic eDp5"),
        changed("authorization", "Bearer x.y.z"),
        changed("x-ms-date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        elsewhere,
        other_account,
    ] {
        let response = client.answer(request).await;
        assert_eq!((response.status, code(&response)), (403, "AuthenticationFailed".into()));
    }
}

#[tokio::test]
async fn a_signed_request_is_refused_a_quarter_of_an_hour_later() {
    let client = Client::new().await;
    let at = |minutes: i64| {
        let moment = OffsetDateTime::now_utc() + Duration::minutes(minutes);
        let date = table_orm::azure::protocol::http_date::format(moment.into());
        let mut request = request("GET", "/Tables", &[("x-ms-date", &date)], "");
        let text = signature::shared_key_lite(&date, EMULATOR_ACCOUNT, request.path(), None);
        let value = format!("SharedKeyLite {EMULATOR_ACCOUNT}:{}", key().sign(&text).unwrap());
        request.headers.insert("authorization", value.parse().unwrap());
        request
    };
    for (minutes, status) in [(0, 200), (-14, 200), (14, 200), (-16, 403), (16, 403)] {
        assert_eq!(client.answer(at(minutes)).await.status, status, "{minutes}");
    }
}

#[tokio::test]
async fn a_table_signature_grants_its_permissions_on_its_table() {
    let client = people().await;
    client.send("POST", "/Tables", &[], r#"{"TableName":"Other"}"#).await;
    let read = sas(Permissions::READ).sign(&key()).unwrap();
    let add = sas(Permissions::ADD).sign(&key()).unwrap();
    let all = [("if-match", "*")];
    let row = "/People(PartitionKey='a',RowKey='1')";
    let insert = r#"{"PartitionKey":"a","RowKey":"9"}"#;
    for (signature, method, path, headers, body, status) in [
        (&read, "GET", "/People()", &[][..], "", 200),
        (&read, "GET", "/people()", &[], "", 200),
        (&read, "GET", "/Other()", &[], "", 403),
        (&read, "GET", "/Tables", &[], "", 403),
        (&read, "GET", "/People?comp=acl", &[], "", 403),
        (&read, "POST", "/People", &[], insert, 403),
        (&read, "DELETE", row, &all, "", 403),
        (&add, "POST", "/People", &[], insert, 201),
        (&add, "PUT", row, &[], "{}", 403),
        (&add, "PUT", row, &all, "{}", 403),
        (&add, "GET", row, &[], "", 403),
    ] {
        let response = client.answer(with(signature, method, path, headers, body)).await;
        assert_eq!(response.status, status, "{method} {path}");
    }
}

#[tokio::test]
async fn a_range_of_keys_bounds_reads_and_writes() {
    let client = people().await;
    let all = Permissions::READ | Permissions::ADD;
    let partition = sas(all).partition("b").sign(&key()).unwrap();
    let partitions = sas(all).partitions("b", "c").sign(&key()).unwrap();
    let one = sas(all).rows("b", "1", "1").sign(&key()).unwrap();
    for (signature, query, found) in [
        (&partition, "", 2),
        (&partitions, "", 4),
        (&one, "", 1),
        (&one, "?$select=RowKey", 1),
        (&partition, "?$filter=PartitionKey%20eq%20'a'", 0),
        (&partition, "?$filter=PartitionKey%20ge%20'a'", 2),
        (&partitions, "?$filter=PartitionKey%20ge%20'a'%20and%20PartitionKey%20lt%20'c'", 2),
    ] {
        let response =
            client.answer(with(signature, "GET", &format!("/People(){query}"), &[], "")).await;
        assert_eq!(rows(&response), found, "{query}");
    }
    for (partition_key, status) in [("a", 403), ("b", 201)] {
        let body = format!(r#"{{"PartitionKey":"{partition_key}","RowKey":"new"}}"#);
        let response = client.answer(with(&partition, "POST", "/People", &[], &body)).await;
        assert_eq!(response.status, status, "{partition_key}");
    }
    let outside =
        client.answer(with(&one, "GET", "/People(PartitionKey='b',RowKey='2')", &[], "")).await;
    assert_eq!(outside.status, 403);
}

#[tokio::test]
async fn nothing_outside_a_range_of_keys_decides_an_answer() {
    let client = people().await;
    let partition = sas(Permissions::READ).partition("b").sign(&key()).unwrap();
    let partitions = sas(Permissions::READ).partitions("b", "c").sign(&key()).unwrap();
    let one = sas(Permissions::READ).rows("b", "1", "1").sign(&key()).unwrap();
    let second = sas(Permissions::READ).rows("b", "2", "2").sign(&key()).unwrap();
    for (signature, query, found) in [
        // Rows of another partition, and of another part of the same one.
        (&partition, "?$top=1&$filter=PartitionKey%20eq%20'a'", 0),
        (&partition, "?$top=1&$filter=RowKey%20ge%20'1'", 1),
        (&partitions, "?$top=1&$filter=PartitionKey%20eq%20'a'", 0),
        (&one, "?$top=1", 1),
        (&one, "?$top=1&$filter=PartitionKey%20eq%20'b'", 1),
        (&one, "?$top=1&$filter=PartitionKey%20eq%20'b'%20and%20RowKey%20gt%20'1'", 0),
        (&second, "?$top=1&$filter=PartitionKey%20eq%20'b'%20and%20RowKey%20lt%20'2'", 0),
        (&second, "?$top=1", 1),
    ] {
        let mut path = format!("/People(){query}");
        let mut all = 0;
        // However many pages there are, none names a row outside.
        for _ in 0..10 {
            let response = client.answer(with(signature, "GET", &path, &[], "")).await;
            all += rows(&response);
            let token = |name: &str| {
                let named = response.headers.iter().find(|(header, _)| *header == name);
                named.map(|(_, token)| token.clone())
            };
            let Some(next) = token("x-ms-continuation-nextpartitionkey") else { break };
            assert!(found == 1 && query.contains("RowKey%20ge"), "{query}: {next}");
            let row = token("x-ms-continuation-nextrowkey").unwrap_or_default();
            path = format!("/People(){query}&NextPartitionKey={next}&NextRowKey={row}");
        }
        let expected = if query.contains("RowKey%20ge") { 2 } else { found };
        assert_eq!(all, expected, "{query}");
    }
}

#[tokio::test]
async fn the_ends_of_a_range_of_keys_are_no_comparisons_of_the_filter() {
    let client = people().await;
    let end = |partition: &str, row: Option<&str>| {
        let row_key = row.map(str::to_owned);
        Some(KeyLimit { partition_key: partition.to_owned(), row_key })
    };
    // The rows of a filter of so many comparisons: with keys that become a range, and without.
    let filters = |comparisons: usize| {
        let others = |count| vec!["Age%20eq%205"; count].join("%20or%20");
        let keys =
            "PartitionKey%20ge%20'a'%20and%20PartitionKey%20le%20'c'%20and%20RowKey%20ge%20'2'";
        [
            format!("RowKey%20ge%20'2'%20or%20{}", others(comparisons - 1)),
            format!("{keys}%20and%20not%20({})", others(comparisons - 3)),
        ]
    };
    for (first, last, found) in [
        (None, None, 3),
        (end("b", None), end("b", None), 1),
        (end("b", Some("1")), end("b", Some("1")), 0),
        (end("a", Some("2")), end("c", Some("1")), 2),
        (end("b", Some("2")), None, 2),
        (None, end("b", Some("1")), 1),
    ] {
        let mut parameters = vec![("sv", "2019-02-02"), ("tn", "People"), ("sp", "r")];
        parameters.push(("se", "2999-01-01"));
        let ends = [(&first, "spk", "srk"), (&last, "epk", "erk")];
        for (end, partition, row) in ends {
            let Some(end) = end else { continue };
            parameters.push((partition, &end.partition_key));
            parameters.extend(end.row_key.as_deref().map(|key| (row, key)));
        }
        let value = |name: &str| {
            parameters.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| *value)
        };
        let sig = key().sign(&signature::table_sas(EMULATOR_ACCOUNT, "People", value)).unwrap();
        let query = parameters.iter().map(|(name, value)| format!("{name}={value}"));
        let signature =
            format!("{}&sig={}", query.collect::<Vec<_>>().join("&"), percent_encode(&sig));
        let read = |filter: String| {
            let path = format!("/People()?$filter={filter}");
            client.answer(with(&signature, "GET", &path, &[], ""))
        };
        for filter in filters(15) {
            assert_eq!(rows(&read(filter.clone()).await), found, "{first:?} {last:?} {filter}");
        }
        for filter in filters(16) {
            let refused = read(filter.clone()).await;
            assert_eq!((refused.status, &*code(&refused)), (400, "InvalidInput"), "{filter}");
        }
    }
}

#[tokio::test]
async fn times_protocols_and_addresses_are_enforced() {
    let client = people().await;
    let now = OffsetDateTime::now_utc();
    let table = || TableName::new("People").unwrap();
    let hour = Duration::hours(1);
    let expired = TableSas::new(table(), Permissions::READ, now - hour).allow_http();
    let later = sas(Permissions::READ).starting(now + hour / 2);
    let https = TableSas::new(table(), Permissions::READ, soon());
    let elsewhere = sas(Permissions::READ).from_addresses("10.0.0.1-10.0.0.9");
    let here = sas(Permissions::READ).from_addresses("127.0.0.1");
    for (sas, expected) in [
        (expired, "AuthenticationFailed"),
        (later, "AuthenticationFailed"),
        (https, "AuthorizationProtocolMismatch"),
        (elsewhere, "AuthorizationSourceIPMismatch"),
        (here, ""),
    ] {
        let signature = sas.sign(&key()).unwrap();
        let response = client.answer(with(&signature, "GET", "/People()", &[], "")).await;
        assert_eq!(code(&response), expected);
    }
    let good = sas(Permissions::READ).sign(&key()).unwrap();
    let wider = good.replace("sp=r", "sp=raud");
    let response = client.answer(with(&wider, "GET", "/People()", &[], "")).await;
    assert_eq!(code(&response), "AuthenticationFailed");
}

/// A signature of the account with these parameters.
fn account_sas(scopes: &str, permissions: &str, services: &str) -> String {
    let expiry = format!("{}-01-01T00:00:00Z", soon().year() + 1);
    let parameters = [
        ("sv", "2019-02-02"),
        ("ss", services),
        ("srt", scopes),
        ("sp", permissions),
        ("se", &expiry),
    ];
    let value = |name: &str| {
        parameters.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| *value)
    };
    let signature = key().sign(&signature::account_sas(EMULATOR_ACCOUNT, value)).unwrap();
    let query = parameters.map(|(name, value)| format!("{name}={}", percent_encode(value)));
    format!("{}&sig={}", query.join("&"), percent_encode(&signature))
}

#[tokio::test]
async fn an_account_signature_grants_its_permissions_in_its_scopes() {
    let client = people().await;
    let properties = "/?restype=service&comp=properties";
    for (scopes, permissions, method, path, status) in [
        ("s", "r", "GET", properties, 200),
        ("o", "r", "GET", properties, 403),
        ("c", "l", "GET", "/Tables", 200),
        ("c", "r", "GET", "/Tables", 403),
        ("o", "r", "GET", "/People()", 200),
        ("sc", "rl", "GET", "/People()", 403),
        ("c", "d", "DELETE", "/Tables('People')", 204),
        ("sco", "rwdlacu", "GET", "/People?comp=acl", 403),
    ] {
        let signature = account_sas(scopes, permissions, "t");
        let response = client.answer(with(&signature, method, path, &[], "")).await;
        assert_eq!(response.status, status, "{scopes} {permissions} {method} {path}");
    }
    let blobs = account_sas("sco", "rwdlacu", "b");
    let response = client.answer(with(&blobs, "GET", "/Tables", &[], "")).await;
    assert_eq!(code(&response), "AuthorizationServiceMismatch");
}

#[tokio::test]
async fn a_client_revokes_signatures_by_their_policy() {
    let server = Server::start(EmbeddedStore::in_memory().unwrap()).await.unwrap();
    let owner = AzureStore::from_connection_string(&server.connection_string()).unwrap();
    let people = TableName::new("people").unwrap();
    assert_eq!(owner.access_policies(&people).await.unwrap_err().code, ErrorCode::TABLE_NOT_FOUND);
    owner.create_table(&people).await.unwrap();
    let expiry = soon().replace_nanosecond(0).unwrap();
    let policy = AccessPolicy::new("readers", Permissions::READ | Permissions::DELETE, expiry);
    let policies = [policy, AccessPolicy::new("b", Permissions::ADD, expiry)];
    owner.set_access_policies(&people, &policies).await.unwrap();
    assert_eq!(owner.access_policies(&people).await.unwrap(), policies);

    let signature = TableSas::of_policy(people.clone(), "readers").allow_http();
    let endpoint = format!("http://{}/{EMULATOR_ACCOUNT}", server.address());
    let reader = AzureStore::new(&endpoint, signature.credential(&key()).unwrap()).unwrap();
    let read = || reader.get(&people, "p", "r", None, Metadata::None);
    assert_eq!(read().await.unwrap(), None);
    assert_eq!(reader.access_policies(&people).await.unwrap_err().status, 403);
    owner.set_access_policies(&people, &policies[1..]).await.unwrap();
    assert_eq!(read().await.unwrap_err().status, 403);
}

#[tokio::test]
async fn a_signature_that_is_revoked_while_its_body_arrives_writes_nothing() {
    let server = Server::start(EmbeddedStore::in_memory().unwrap()).await.unwrap();
    let owner = AzureStore::from_connection_string(&server.connection_string()).unwrap();
    let people = TableName::new("people").unwrap();
    owner.create_table(&people).await.unwrap();
    let expiry = soon().replace_nanosecond(0).unwrap();
    let policy = AccessPolicy::new("writers", Permissions::ADD, expiry);
    for is_revoked in [false, true] {
        owner.set_access_policies(&people, std::slice::from_ref(&policy)).await.unwrap();
        let signature = TableSas::of_policy(people.clone(), "writers").allow_http();
        let signature = signature.sign(&key()).unwrap();
        let body = format!(r#"{{"PartitionKey":"p","RowKey":"{is_revoked}"}}"#);
        let head = format!(
            "POST /{EMULATOR_ACCOUNT}/people?{signature} HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nContent-Type: application/json\r\n\
             Expect: 100-continue\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        // The server asks for the body once it has decided about the head.
        let mut asked = [0; 25];
        stream.read_exact(&mut asked).await.unwrap();
        assert!(asked.starts_with(b"HTTP/1.1 100 "));
        if is_revoked {
            owner.set_access_policies(&people, &[]).await.unwrap();
        }
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let expected = if is_revoked { "HTTP/1.1 403" } else { "HTTP/1.1 201" };
        assert!(answer.starts_with(expected), "{answer}");
    }
}

#[tokio::test]
async fn a_stored_policy_grants_until_it_is_removed() {
    let client = people().await;
    let policies = format!(
        "<SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy>\
         <Expiry>{}-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>\
         </SignedIdentifiers>",
        soon().year() + 1
    );
    assert_eq!(client.send("PUT", "/People?comp=acl", &[], &policies).await.status, 204);
    let parameters = [("sv", "2019-02-02"), ("tn", "People"), ("si", "readers")];
    let value = |name: &str| {
        parameters.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| *value)
    };
    let text = signature::table_sas(EMULATOR_ACCOUNT, "People", value);
    let sig = percent_encode(&key().sign(&text).unwrap());
    let signature = format!("sv=2019-02-02&tn=People&si=readers&sig={sig}");
    let read = || client.answer(with(&signature, "GET", "/People()", &[], ""));
    assert_eq!(rows(&read().await), 6);
    let write = with(&signature, "POST", "/People", &[], r#"{"PartitionKey":"a","RowKey":"9"}"#);
    assert_eq!(client.answer(write).await.status, 403);
    let cut_off = "<SignedIdentifiers><SignedIdentifier><Id>a</Id></SignedIdentifiers>";
    assert_eq!(client.send("PUT", "/People?comp=acl", &[], cut_off).await.status, 400);
    assert_eq!(rows(&read().await), 6, "a policy that is written wrongly removes no other");
    client.send("PUT", "/People?comp=acl", &[], "<SignedIdentifiers/>").await;
    assert_eq!(code(&read().await), "AuthenticationFailed");
}
