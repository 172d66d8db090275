//! Entity group transactions.

use crate::client::{Client, code, key, request, text};
use table_orm::TableName;
use table_orm::azure::{Permissions, TableSas};
use table_server::Response;

const TYPE: (&str, &str) = ("content-type", "multipart/mixed; boundary=b");

fn insert(partition: &str, row: &str) -> String {
    let body = format!(r#"{{"PartitionKey":"{partition}","RowKey":"{row}"}}"#);
    format!(
        "POST http://127.0.0.1/devstoreaccount1/People HTTP/1.1\r\nAccept: application/json\r\n\r\n{body}"
    )
}

fn body(operations: &[String]) -> String {
    let parts = operations
        .iter()
        .map(|operation| format!("--c\r\nContent-Type: application/http\r\n\r\n{operation}\r\n"));
    let parts = parts.collect::<String>();
    format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n")
}

async fn commit(client: &Client, operations: &[String]) -> Response {
    client.send("POST", "/$batch", &[TYPE], &body(operations)).await
}

async fn count(client: &Client) -> usize {
    text(&client.send("GET", "/People()", &[], "").await).matches("RowKey").count()
}

#[tokio::test]
async fn each_operation_is_answered_in_order() {
    let client = Client::with_people().await;
    let update =
        "PUT /devstoreaccount1/People(PartitionKey='p',RowKey='b') HTTP/1.1\r\n\r\n{\"A\":1}";
    let answer = commit(&client, &[insert("p", "a"), update.to_owned()]).await;
    assert_eq!(answer.status, 202);
    let statuses: Vec<_> = text(&answer).match_indices("HTTP/1.1 ").collect();
    assert_eq!(statuses.len(), 2);
    assert!(
        text(&answer).contains("HTTP/1.1 201 Created")
            && text(&answer).contains("HTTP/1.1 204 No Content")
    );
    assert!(text(&answer).contains("\"RowKey\":\"a\""), "an insert without a preference is echoed");
    assert_eq!(count(&client).await, 2);
}

#[tokio::test]
async fn a_refused_operation_is_named_and_nothing_is_written() {
    let client = Client::with_people().await;
    commit(&client, &[insert("p", "a")]).await;
    let many: Vec<_> = (0..101).map(|row| insert("p", &row.to_string())).collect();
    let bad_url = "POST http://127.0.0.1/otheraccount/People HTTP/1.1\r\n\r\n{}".to_owned();
    for (operations, expected) in [
        (vec![insert("p", "x"), insert("p", "a")], "1:The specified entity already exists."),
        (vec![insert("p", "x"), insert("q", "x")], "1:All commands in a batch must operate"),
        (vec![insert("p", "x"), insert("p", "x")], "1:The batch request contains multiple changes"),
        (many, "99:The batch request operation exceeds the maximum 100"),
        (vec![insert("p", "x"), bad_url], "1:The requested URI does not represent"),
    ] {
        let answer = commit(&client, &operations).await;
        assert_eq!((answer.status, text(&answer).matches("HTTP/1.1 ").count()), (202, 1));
        assert!(text(&answer).contains(expected), "{}", text(&answer));
    }
    assert_eq!(count(&client).await, 1);
}

#[tokio::test]
async fn one_query_may_be_alone_in_a_batch() {
    let client = Client::with_people().await;
    commit(&client, &[insert("p", "a")]).await;
    let get = "GET http://127.0.0.1/devstoreaccount1/People(PartitionKey='p',RowKey='a') HTTP/1.1\r\n\
               Accept: application/json;odata=nometadata\r\n\r\n";
    let alone = format!("--b\r\nContent-Type: application/http\r\n\r\n{get}\r\n--b--\r\n");
    let answer = client.send("POST", "/$batch", &[TYPE], &alone).await;
    assert!(
        text(&answer).contains("HTTP/1.1 200 OK") && text(&answer).contains("\"RowKey\":\"a\"")
    );
    let change_set = body(&[insert("p", "b")]);
    let mixed = change_set.replace("--b--", &format!("--b\r\n\r\n{get}\r\n--b--"));
    let two = alone.replace("--b--", &format!("--b\r\n\r\n{get}\r\n--b--"));
    for body in [mixed, two] {
        let answer = client.send("POST", "/$batch", &[TYPE], &body).await;
        assert_eq!((answer.status, count(&client).await), (400, 1));
    }
    for operations in [vec![get.to_owned()], vec![insert("p", "b"), get.to_owned()]] {
        let last = operations.len() - 1;
        let answer = commit(&client, &operations).await;
        let refused = format!("{last}:A query is no part of a change set.");
        assert!(text(&answer).contains(&refused), "{}", text(&answer));
        assert_eq!(count(&client).await, 1);
    }
}

#[tokio::test]
async fn only_the_first_change_set_is_carried_out() {
    let client = Client::with_people().await;
    let other = |row| body(&[insert("p", row)]).replace("--b--\r\n", "");
    let three = format!("{}{}{}", other("a"), other("b"), body(&[insert("p", "c")]));
    for (rows, status) in [(1, "201 Created"), (1, "409 Conflict")] {
        let answer = client.send("POST", "/$batch", &[TYPE], &three).await;
        assert_eq!(answer.status, 202);
        let statuses: Vec<_> = text(&answer)
            .split("HTTP/1.1 ")
            .skip(1)
            .map(|part| part.lines().next().unwrap())
            .collect();
        assert_eq!(statuses, [status, "400 Bad Request", "400 Bad Request"]);
        assert_eq!(count(&client).await, rows);
    }
}

/// As the Python client before `azure-data-tables` sends them.
#[tokio::test]
async fn a_request_of_a_batch_may_leave_out_the_account_and_have_spaces_in_its_keys() {
    let client = Client::with_people().await;
    let write = |start: &str| {
        format!("PUT {start}/People(PartitionKey='p q',RowKey='it''s') HTTP/1.1\n\n{{}}")
    };
    for start in ["", "/devstoreaccount1", "http://127.0.0.1/devstoreaccount1"] {
        let answer = commit(&client, &[write(start)]).await;
        assert!(text(&answer).contains("HTTP/1.1 204 No Content"), "{}", text(&answer));
    }
    let row = client.send("GET", "/People(PartitionKey='p%20q',RowKey='it''s')", &[], "").await;
    assert_eq!((row.status, count(&client).await), (200, 1));
    for start in ["/otheraccount", "http://127.0.0.1", "People"] {
        let answer = commit(&client, &[write(start)]).await;
        assert!(text(&answer).contains("HTTP/1.1 400"), "{}", text(&answer));
    }
}

#[tokio::test]
async fn a_write_outside_a_change_set_is_refused() {
    let client = Client::with_people().await;
    let alone =
        format!("--b\r\nContent-Type: application/http\r\n\r\n{}\r\n--b--", insert("p", "a"));
    let answer = client.send("POST", "/$batch", &[TYPE], &alone).await;
    assert_eq!((answer.status, code(&answer)), (400, "InvalidInput".into()));
    assert_eq!(count(&client).await, 0);
}

#[tokio::test]
async fn a_signature_is_checked_for_each_operation() {
    let client = Client::with_people().await;
    let until = time::OffsetDateTime::now_utc() + time::Duration::hours(1);
    let sas = TableSas::new(TableName::new("People").unwrap(), Permissions::ADD, until);
    let sas = sas.allow_http().partition("p").sign(&key()).unwrap();
    let send = |operations: Vec<String>| {
        client.answer(request("POST", &format!("/$batch?{sas}"), &[TYPE], &body(&operations)))
    };
    assert!(text(&send(vec![insert("p", "a")]).await).contains("201 Created"));
    let outside = send(vec![insert("q", "a")]).await;
    assert!(text(&outside).contains("AuthorizationFailure"), "{}", text(&outside));
    let delete = "DELETE http://127.0.0.1/devstoreaccount1/People(PartitionKey='p',RowKey='a') HTTP/1.1\r\n\
                  If-Match: *\r\n\r\n";
    let denied = send(vec![delete.to_owned()]).await;
    assert!(text(&denied).contains("AuthorizationPermissionMismatch"));
    let get = "GET http://127.0.0.1/devstoreaccount1/People() HTTP/1.1\r\nAccept: application/json\r\n\r\n"
        .to_owned();
    let alone = format!("--b\r\nContent-Type: application/http\r\n\r\n{get}\r\n--b--\r\n");
    let query = client.answer(request("POST", &format!("/$batch?{sas}"), &[TYPE], &alone)).await;
    assert_eq!(code(&query), "AuthorizationPermissionMismatch");
    assert_eq!(count(&client).await, 1);
}

#[tokio::test]
async fn malformed_batches_are_refused() {
    let client = Client::with_people().await;
    for body in
        ["", "--b", "--b\r\n\r\nPOST\r\n--b--", "--b\r\nContent-Type: multipart/mixed\r\n\r\n--b--"]
    {
        let answer = client.send("POST", "/$batch", &[TYPE], body).await;
        assert_eq!((answer.status, code(&answer)), (400, "InvalidInput".into()), "{body}");
    }
    let json = client.send("POST", "/$batch", &[("content-type", "application/json")], "{}").await;
    assert_eq!(json.status, 415);
}
