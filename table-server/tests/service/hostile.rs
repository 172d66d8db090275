//! Requests that no client sends: each gets a clear error or is cut off, and the server goes on.

use crate::access::sas;
use crate::client::{Client, code, key, request, signed, text};
use bytes::Bytes;
use std::net::SocketAddr;
use table_orm::azure::Permissions;
use table_orm::embedded::EmbeddedStore;
use table_server::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

async fn start() -> Server {
    Server::start(EmbeddedStore::in_memory().unwrap()).await.unwrap()
}

/// Sends bytes, and returns what comes back until the server closes or has answered once.
pub async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
}

const PATH: &str = "/devstoreaccount1/Tables";

#[tokio::test]
async fn requests_that_two_readers_would_split_differently_are_refused() {
    let server = start().await;
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: x\r\n");
    let smuggled = format!("GET {PATH} HTTP/1.1\r\nHost: x\r\n\r\n");
    for headers in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "Content-Length: 5, 6\r\n\r\nhello",
        "Content-Length: +5\r\n\r\nhello",
        "Content-Length: 0x5\r\n\r\nhello",
        "Content-Length: -1\r\n\r\n",
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "Host: y\r\n\r\n",
        "A: b\r\n folded\r\n\r\n",
        "A\0: b\r\n\r\n",
        "A: b\rC: d\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\nx",
        "Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
        "Transfer-Encoding: identity, chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n",
    ] {
        let answer =
            exchange(server.address(), format!("{head}{headers}{smuggled}").as_bytes()).await;
        let answers = answer.matches("HTTP/1.1 ").count();
        assert!(answers <= 1, "{headers:?} is read as {answers} requests");
        assert!(
            answer.is_empty() || (400..500).contains(&status(&answer)),
            "{headers:?}: {answer}"
        );
    }
}

#[tokio::test]
async fn what_is_not_http_is_refused() {
    let server = start().await;
    let long = "x".repeat(200_000);
    for bytes in [
        "\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
        format!("GET {PATH}\r\n\r\n"),
        format!("GET {PATH} HTTP/9.9\r\nHost: x\r\n\r\n"),
        format!("GET {PATH} HTTP/1.1\r\n\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}\0\u{5}hello".to_owned(),
        format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n"),
        format!("GET {PATH} HTTP/1.1\r\nHost: x\r\nA: {long}\r\n\r\n"),
        format!("GET {PATH} HTTP/1.1\r\nHost: x\r\n{}\r\n", "A: b\r\n".repeat(5_000)),
        "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
    ] {
        let answer = exchange(server.address(), bytes.as_bytes()).await;
        let shown = &bytes[..bytes.len().min(60)];
        assert!(answer.is_empty() || (400..500).contains(&status(&answer)), "{shown:?}: {answer}");
    }
}

#[tokio::test]
async fn a_body_over_4_mib_is_refused_however_it_is_sent() {
    let server = start().await;
    let signature = sas(Permissions::ADD).sign(&key()).unwrap();
    let head = format!("POST /devstoreaccount1/People?{signature} HTTP/1.1\r\nHost: x\r\n");
    let large = vec![b'x'; 5 << 20];
    let sized =
        [format!("{head}Content-Length: {}\r\n\r\n", large.len()).as_bytes(), &large].concat();
    let chunk = format!("{:x}\r\n", large.len());
    let chunked = [
        format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}").as_bytes(),
        &large,
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    for bytes in [&sized, &chunked] {
        let answer = exchange(server.address(), bytes).await;
        assert_eq!(status(&answer), 413, "{answer}");
        assert!(answer.contains("RequestBodyTooLarge") && answer.contains("connection: close"));
    }
    // Without credentials it is dropped, whatever its size.
    for bytes in [sized, chunked] {
        let unsigned = String::from_utf8(bytes).unwrap().replace(&signature, "");
        let answer = exchange(server.address(), unsigned.as_bytes()).await;
        assert_eq!(status(&answer), 403, "{answer}");
    }
    // A body that claims to be endless is cut off.
    let endless = format!("{head}Content-Length: 99999999999999\r\n\r\nx");
    assert!(exchange(server.address(), endless.as_bytes()).await.is_empty());
}

#[tokio::test]
async fn chunks_with_endless_remarks_and_trailers_are_refused() {
    let server = start().await;
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    let long = "x".repeat(1 << 20);
    for body in [
        format!("5;{long}\r\nhello\r\n0\r\n\r\n"),
        format!("{}5\r\nhello\r\n0\r\n\r\n", "0".repeat(1 << 20)),
        format!("5\r\nhello\r\n0\r\nA: {long}\r\n\r\n"),
        format!("5\r\nhello\r\n0\r\n{}\r\n", "A: b\r\n".repeat(100_000)),
        "1;x\r\nx\r\n".repeat(100_000),
    ] {
        let answer = exchange(server.address(), format!("{head}{body}").as_bytes()).await;
        assert!(answer.is_empty() || (400..500).contains(&status(&answer)), "{body:.20}: {answer}");
    }
    let good = format!("GET {PATH} HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(status(&exchange(server.address(), good.as_bytes()).await), 403);
}

#[tokio::test]
async fn a_connection_that_breaks_off_harms_nobody() {
    let server = start().await;
    for _ in 0..50 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let half = format!("POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf");
        stream.write_all(half.as_bytes()).await.unwrap();
    }
    let good = format!("GET {PATH} HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(status(&exchange(server.address(), good.as_bytes()).await), 403);
}

#[tokio::test]
async fn paths_and_parameters_name_what_they_say_or_nothing() {
    let client = Client::with_people().await;
    for path in [
        "/..",
        "/../devstoreaccount1/Tables",
        "/%2e%2e/Tables",
        "//Tables",
        "/People%00",
        "/%FF",
        "/%",
        "/People/..",
        "/People(PartitionKey='%FF',RowKey='r')",
        "/People(PartitionKey='p'",
        "/Tables('",
        "/People()?%FF=1",
        "/People()?$top=1&$top=2",
        "/?comp=list",
        "/People()?restype=container",
        "/$metadata",
        "/People()?$filter=%00",
    ] {
        let response = client.send("GET", path, &[], "").await;
        assert!(
            (400..600).contains(&response.status) && response.status != 500,
            "{path}: {}",
            response.status
        );
        assert!(!code(&response).is_empty() || response.body.starts_with(b"<?xml"), "{path}");
    }
}

#[tokio::test]
async fn a_host_that_no_address_has_is_refused() {
    let server = start().await;
    for host in ["x\"y", "x/y", "x y", "x\\", "exämple"] {
        let get = format!("GET {PATH} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(status(&exchange(server.address(), get.as_bytes()).await), 400, "{host}");
    }
}

#[tokio::test]
async fn bodies_of_any_bytes_are_refused() {
    let client = Client::with_people().await;
    let deep = "[".repeat(100_000);
    for body in [
        "",
        "{",
        "null",
        "[]",
        "{}x",
        &deep,
        &format!("{{\"A\":{deep}}}"),
        "{\"PartitionKey\":\"p\",\"RowKey\":\"\\ud800\"}",
    ] {
        let response = client.send("POST", "/People", &[], body).await;
        assert_eq!(response.status, 400, "{}", &body[..body.len().min(40)]);
        let response = client.send("POST", "/Tables", &[], body).await;
        assert_eq!(response.status, 400);
    }
    let filter = format!("/People()?$filter={}", "(".repeat(50_000));
    assert_eq!(client.send("GET", &filter, &[], "").await.status, 400);
    for document in ["", "<", "<StorageServiceProperties>", &"<a>".repeat(100_000)] {
        let target = "/?restype=service&comp=properties";
        assert_eq!(client.send("PUT", target, &[], document).await.status, 400, "{document:.20}");
    }
}

#[tokio::test]
async fn text_that_is_not_utf_8_is_refused() {
    let client = Client::with_people().await;
    for (method, path, body) in [
        ("POST", "/People", &b"{\"PartitionKey\":\"\xff\",\"RowKey\":\"r\"}"[..]),
        ("POST", "/People", b"{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"\xc3\":1}"),
        ("PUT", "/People(PartitionKey='p',RowKey='r')", b"{\"A\":\"\xed\xa0\x80\"}"),
        ("POST", "/Tables", b"{\"TableName\":\"abc\xff\"}"),
        ("PUT", "/?restype=service&comp=properties", b"<StorageServiceProperties>\xff"),
        ("PUT", "/People?comp=acl", b"<SignedIdentifiers>\xff</SignedIdentifiers>"),
    ] {
        let mut sent = request(method, path, &[], "");
        sent.body = Bytes::from_static(body);
        assert_eq!(client.answer(signed(sent)).await.status, 400, "{method} {path}");
    }
    let rows = client.send("GET", "/People()", &[], "").await;
    assert_eq!(text(&rows), r#"{"value":[]}"#);
}

#[tokio::test]
async fn headers_that_are_not_ascii_are_refused_or_left_out() {
    let server = start().await;
    for header in ["Authorization", "x-ms-date", "x-ms-version", "Accept", "x-ms-client-request-id"]
    {
        let head = format!("GET {PATH} HTTP/1.1\r\nHost: x\r\n{header}: ");
        let bytes = [head.as_bytes(), b"SharedKey \xff\xfe:\x80\r\n\r\n"].concat();
        let answer = exchange(server.address(), &bytes).await;
        assert!((400..500).contains(&status(&answer)), "{header}: {answer}");
    }
}

#[tokio::test]
async fn a_malformed_transaction_is_refused_and_writes_nothing() {
    const MIXED: (&str, &str) = ("content-type", "multipart/mixed; boundary=b");
    let client = Client::with_people().await;
    let insert = "POST /devstoreaccount1/People HTTP/1.1\r\nAccept: application/json\r\n\r\n\
                  {\"PartitionKey\":\"p\",\"RowKey\":\"r\"}";
    let changes = |parts: &str| {
        format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n")
    };
    let good = format!("--c\r\nContent-Type: application/http\r\n\r\n{insert}\r\n");
    let whole = changes(&good);
    let nested = "--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n";
    for body in [
        String::new(),
        whole[..whole.len() - 30].to_owned(),
        whole.replace("--c--", ""),
        whole.replace("boundary=c", "boundary=\"\""),
        whole.replace("HTTP/1.1\r\n", "HTTP/1.1\r\nHost\r\n"),
        whole.replace("HTTP/1.1\r\n", "HTTP/1.1 x\r\n"),
        whole.replace("POST /", "PO ST /"),
        nested.repeat(1000),
        nested.repeat(1000) + &whole,
        changes(&"--c\r\n\r\nPOST / HTTP/1.1\r\n\r\n\r\n".repeat(100_000)),
        changes(&format!("{good}--c\r\n\r\n{}\r\n", "A: b\r\n".repeat(100_000))),
        changes(&format!("{good}{}", good.replace("{\"", "{{\""))),
        changes(&format!("{good}{}", good.replace("/People", "/../People"))),
        changes(&format!("{good}{}", good.replace("POST", "TRACE"))),
    ] {
        let answer = client.send("POST", "/$batch", &[MIXED], &body).await;
        let refused = answer.status == 400
            || answer.status == 202 && text(&answer).matches("HTTP/1.1 4").count() == 1;
        assert!(refused, "{} {}: {body:.90}", answer.status, text(&answer));
    }
    let rows = client.send("GET", "/People()", &[], "").await;
    assert_eq!(text(&rows), r#"{"value":[]}"#);
    let answer = client.send("POST", "/$batch", &[MIXED], &whole).await;
    assert!(text(&answer).contains("HTTP/1.1 201 Created"), "{}", text(&answer));
}

#[tokio::test]
async fn deep_and_long_filters_are_refused() {
    let client = Client::with_people().await;
    let deep = format!("{}Age%20eq%201{}", "(".repeat(10_000), ")".repeat(10_000));
    for filter in [
        deep,
        format!("{}Age%20eq%201", "not%20".repeat(10_000)),
        format!("{}Age", "not(".repeat(10_000)),
        vec!["A%20eq%201"; 10_000].join("%20or%20"),
        format!("A%20eq%20'{}", "''".repeat(20_000)),
        format!("A%20eq%20{}", "9".repeat(20_000)),
        format!("A%20eq%20X'{}'", "f".repeat(20_001)),
        format!("{}%20eq%201", "A".repeat(20_000)),
    ] {
        let response = client.send("GET", &format!("/People()?$filter={filter}"), &[], "").await;
        assert_eq!((response.status, code(&response).is_empty()), (400, false), "{filter:.60}");
    }
}
