//! What the server prints about requests that fail.

use crate::served::Served;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use table_orm::azure::{AzureStore, Permissions, SharedKey, TableSas};
use table_orm::store::Store as _;
use table_orm::{TableName, Tables};
use table_server::{EMULATOR_ACCOUNT, EMULATOR_KEY};
use tempfile::NamedTempFile;
use time::{Duration, OffsetDateTime};

fn start(options: &[&str], errors: &NamedTempFile) -> Served {
    let options = ["--port", "0"].iter().chain(options).map(Path::new).collect::<Vec<_>>();
    let errors = errors.reopen().unwrap().into();
    Served::with_errors(tempfile::tempdir().unwrap(), &options, errors)
}

/// Sends a query that the service does not implement, and returns its status.
fn unimplemented(served: &Served, table: &TableName) -> String {
    let expiry = OffsetDateTime::now_utc() + Duration::hours(1);
    let signature = TableSas::new(table.clone(), Permissions::READ, expiry).allow_http();
    let key = SharedKey::new(EMULATOR_ACCOUNT, EMULATOR_KEY).unwrap();
    let query = signature.sign(&key).unwrap();
    let request = format!(
        "GET /{EMULATOR_ACCOUNT}/{table}()?$orderby=Name&{query} HTTP/1.1\r\nHost: localhost\r\n\
         Connection: close\r\n\r\n"
    );
    let mut stream = TcpStream::connect(served.address()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[cfg(unix)]
#[tokio::test]
async fn a_request_that_fails_is_a_line_without_its_query_and_a_loop_is_few() {
    let people = TableName::new("people").unwrap();
    for (silent, lines) in [(&[][..], 11), (&["--silent"], 0)] {
        let errors = NamedTempFile::new().unwrap();
        let mut served = start(silent, &errors);
        let tables = Tables::from_connection_string(&served.connection_string()).unwrap();
        tables.create(&people).await.unwrap();
        for _ in 0..30 {
            assert_eq!(unimplemented(&served, &people), "501");
        }
        served.terminate();
        let printed = std::fs::read_to_string(errors.path()).unwrap();
        assert_eq!(printed.lines().count(), lines, "{printed}");
        let expected = format!(
            "GET /{EMULATOR_ACCOUNT}/people(): 501 NotImplemented: The requested operation is not \
             implemented on the specified resource."
        );
        assert!(printed.lines().take(10).all(|line| line == expected), "{printed}");
        assert!(printed.lines().skip(10).all(|line| line == "20 more requests failed"));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn an_injected_fault_is_not_printed() {
    let errors = NamedTempFile::new().unwrap();
    let faults = ["--faults", "3", "--fault", "throttled=0.5", "--fault", "lost-replies=0.5"];
    let mut served = start(&faults, &errors);
    let client = AzureStore::from_connection_string(&served.connection_string()).unwrap();
    for _ in 0..10 {
        client.list_tables().await.unwrap_err();
    }
    served.terminate();
    assert_eq!(std::fs::read_to_string(errors.path()).unwrap(), "");

    let errors = NamedTempFile::new().unwrap();
    let mut served = start(&["--account-rate", "1"], &errors);
    let client = AzureStore::from_connection_string(&served.connection_string()).unwrap();
    let people = TableName::new("people").unwrap();
    client.create_table(&people).await.unwrap();
    let mut throttled = 0;
    for _ in 0..10 {
        let read = client.get(&people, "p", "r", None, table_orm::model::Metadata::None).await;
        throttled += usize::from(read.is_err_and(|error| error.status == 503));
    }
    assert!(throttled > 0);
    served.terminate();
    assert_eq!(std::fs::read_to_string(errors.path()).unwrap(), "");
}
