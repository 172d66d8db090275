//! Requests of each kind, and what they answer.

use crate::client::{Client, code, request, signed, text};

const ANN: &str =
    r#"{"PartitionKey":"p","RowKey":"ann","Age":55,"Big":"5","Big@odata.type":"Edm.Int64"}"#;
const ROW: &str = "/People(PartitionKey='p',RowKey='ann')";

#[tokio::test]
async fn an_insert_answers_what_its_client_prefers() {
    let client = Client::with_people().await;
    let echo = client.send("POST", "/People", &[], ANN).await;
    assert_eq!((echo.status, echo.header("preference-applied")), (201, None));
    assert!(text(&echo).contains("\"Timestamp\":") && text(&echo).contains("\"Age\":55"));
    assert!(echo.header("etag").is_some() && echo.header("location").is_some());
    let again = client.send("POST", "/People", &[], ANN).await;
    assert_eq!((again.status, code(&again)), (409, "EntityAlreadyExists".into()));
    let quiet = [("prefer", "return-no-content")];
    let quiet = client.send("POST", "/People", &quiet, &ANN.replace("ann", "bob")).await;
    assert_eq!(
        (quiet.status, quiet.header("preference-applied")),
        (204, Some("return-no-content"))
    );
    assert!(quiet.body.is_empty());
}

#[tokio::test]
async fn a_point_query_returns_the_row_at_the_level_asked_for() {
    let client = Client::with_people().await;
    client.send("POST", "/People", &[], ANN).await;
    let none = client.send("GET", ROW, &[], "").await;
    assert!(!text(&none).contains("odata"), "{}", text(&none));
    let minimal = client.send("GET", ROW, &[("accept", "application/json")], "").await;
    assert!(text(&minimal).contains("\"Big@odata.type\":\"Edm.Int64\""));
    let selected = client.send("GET", &format!("{ROW}?$select=Age,City"), &[], "").await;
    assert_eq!(text(&selected), r#"{"Age":55,"City":null}"#);
    let head = client.send("HEAD", ROW, &[], "").await;
    assert_eq!((head.status, head.header("etag")), (200, none.header("etag")));
    let absent = client.send("GET", &ROW.replace("ann", "bob"), &[], "").await;
    assert_eq!((absent.status, code(&absent)), (404, "ResourceNotFound".into()));
}

#[tokio::test]
async fn conditions_are_those_of_the_header() {
    let client = Client::with_people().await;
    let body = r#"{"Age":56}"#;
    let absent = client.send("PUT", ROW, &[("if-match", "*")], body).await;
    assert_eq!(absent.status, 404);
    let upserted = client.send("PUT", ROW, &[], body).await;
    assert_eq!(upserted.status, 204);
    let etag = upserted.header("etag").unwrap().to_owned();
    let merged = client.send("MERGE", ROW, &[("if-match", &etag)], r#"{"City":"x"}"#).await;
    assert_eq!(merged.status, 204);
    let stale = client.send("PATCH", ROW, &[("if-match", &etag)], body).await;
    assert_eq!((stale.status, code(&stale)), (412, "UpdateConditionNotSatisfied".into()));
    let tunnelled = [("x-http-method", "MERGE"), ("if-match", "*")];
    assert_eq!(client.send("POST", ROW, &tunnelled, body).await.status, 204);
    for (headers, status) in
        [(&[][..], 400), (&[("if-match", "x")], 400), (&[("if-match", "*")], 204)]
    {
        assert_eq!(client.send("DELETE", ROW, headers, "").await.status, status, "{headers:?}");
    }
}

#[tokio::test]
async fn a_query_continues_over_pages_and_filters() {
    let client = Client::with_people().await;
    for n in 0..5 {
        let body = format!(r#"{{"PartitionKey":"p","RowKey":"{n}","Age":{n}}}"#);
        client.send("POST", "/People", &[], &body).await;
    }
    let base =
        "/People()?$filter=PartitionKey%20eq%20'p'%20and%20Age%20ge%201&$top=2&$select=RowKey";
    let (mut target, mut found) = (base.to_owned(), Vec::new());
    loop {
        let page = client.send("GET", &target, &[], "").await;
        found.push(text(&page).to_owned());
        let Some(next) = page.header("x-ms-continuation-nextpartitionkey") else { break };
        let row = page.header("x-ms-continuation-nextrowkey").unwrap();
        target = format!("{base}&NextPartitionKey={next}&NextRowKey={row}");
    }
    let page = |a, b| format!(r#"{{"value":[{{"RowKey":"{a}"}},{{"RowKey":"{b}"}}]}}"#);
    assert_eq!(found[..2], [page(1, 2), page(3, 4)]);
    for (query, status) in [
        ("$filter=Age%20xx%201", 400),
        ("$top=0", 400),
        ("$top=1001", 400),
        ("$orderby=Age", 501),
        ("$filter=startswith(RowKey,'1')", 501),
        ("NextPartitionKey=x", 400),
        ("$filter=Age%20eq%20%FF", 400),
    ] {
        let answer = client.send("GET", &format!("/People()?{query}"), &[], "").await;
        assert_eq!(answer.status, status, "{query}");
    }
}

#[tokio::test]
async fn more_comparisons_than_the_service_allows_are_refused() {
    let client = Client::with_people().await;
    let filter = |count| vec!["Age%20ne%201"; count].join("%20and%20");
    let status = async |count| {
        client.send("GET", &format!("/People()?$filter={}", filter(count)), &[], "").await.status
    };
    assert_eq!((status(15).await, status(16).await), (200, 400));
}

#[tokio::test]
async fn errors_come_in_the_form_that_the_client_reads() {
    let client = Client::new().await;
    let json = client.send("GET", "/Nowhere()", &[], "").await;
    assert_eq!((json.status, code(&json)), (404, "TableNotFound".into()));
    assert!(text(&json).contains("The table specified does not exist.\\nRequestId:"));
    let setting =
        client.send("GET", "/Nowhere?comp=acl", &[("accept", "application/xml")], "").await;
    assert!(text(&setting).contains("<Error><Code>TableNotFound</Code>"), "{}", text(&setting));
    let atom = client.send("GET", "/Nowhere()", &[("accept", "application/atom+xml")], "").await;
    assert_eq!(atom.status, 415);
    assert!(text(&atom).contains("<m:code>AtomFormatNotSupported</m:code>"));
}

#[tokio::test]
async fn a_response_has_the_headers_of_the_service() {
    let client = Client::new().await;
    let headers = [("x-ms-version", "2019-02-02"), ("x-ms-client-request-id", "mine")];
    let response = client.send("GET", "/Tables", &headers, "").await;
    for (name, value) in headers {
        assert_eq!(response.header(name), Some(value));
    }
    assert!(response.header("x-ms-request-id").is_some() && response.header("date").is_some());
    for version in ["2099-01-01", "2000-01-01", "latest", ""] {
        let response = client.send("GET", "/Tables", &[("x-ms-version", version)], "").await;
        assert_eq!(
            (response.status, code(&response)),
            (400, "InvalidHeaderValue".into()),
            "{version}"
        );
    }
}

#[tokio::test]
async fn what_the_server_stores_for_itself_is_not_a_table() {
    let client = Client::with_people().await;
    let policies =
        "<SignedIdentifiers><SignedIdentifier><Id>a</Id></SignedIdentifier></SignedIdentifiers>";
    assert_eq!(client.send("PUT", "/People?comp=acl", &[], policies).await.status, 204);
    let tables = client.send("GET", "/Tables", &[], "").await;
    assert_eq!(text(&tables), r#"{"value":[{"TableName":"People"}]}"#);
    for path in
        ["/TableServerSettings()", "/tableserversettings()", "/Tables('TableServerSettings')"]
    {
        assert_eq!(client.send("GET", path, &[], "").await.status, 400, "{path}");
    }
    // A table of the same name later has no policies.
    client.send("DELETE", "/Tables('People')", &[], "").await;
    client.send("POST", "/Tables", &[], r#"{"TableName":"people"}"#).await;
    let policies = client.send("GET", "/People?comp=acl", &[], "").await;
    assert!(!text(&policies).contains("<Id>"), "{}", text(&policies));
}

#[tokio::test]
async fn the_secondary_location_is_read_only_and_has_the_stats() {
    let client = Client::with_people().await;
    let at = |method: &str, path: &str, body: &str| {
        let mut request = request(method, path, &[], body);
        request.target =
            request.target.replacen("devstoreaccount1", "devstoreaccount1-secondary", 1);
        signed(request)
    };
    assert_eq!(client.answer(at("GET", "/People()", "")).await.status, 200);
    let refused = client.answer(at("POST", "/People", ANN)).await;
    assert_eq!((refused.status, code(&refused)), (403, "InsufficientAccountPermissions".into()));
    let stats = client.answer(at("GET", "/?restype=service&comp=stats", "")).await;
    assert!(text(&stats).contains("<Status>live</Status>"));
    assert_eq!(client.send("GET", "/?restype=service&comp=stats", &[], "").await.status, 400);
}
