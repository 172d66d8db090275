//! A script that starts Azurite starts `table-orm serve` with the same flags.

use crate::served::Served;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use table_orm::{DynamicEntity, TableName, Tables};

fn start(folder: &Path) -> Served {
    let log = folder.join("debug.log");
    let mut arguments = vec![Path::new("-s"), Path::new("-l"), folder, Path::new("-d"), &log];
    let flags = [
        "-L",
        "--tableHost",
        "127.0.0.1",
        "--tablePort",
        "0",
        "--skipApiVersionCheck",
        "--disableProductStyleUrl",
        "--disableTelemetry",
        "--tableKeepAliveTimeout",
        "5",
    ];
    arguments.extend(flags.map(Path::new));
    Served::with_arguments(tempfile::tempdir().unwrap(), &arguments)
}

#[cfg(unix)]
#[tokio::test]
async fn the_flags_of_azurite_start_a_server_whose_rows_stay_in_its_location() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("new");
    let people = TableName::new("people").unwrap();
    let ann = DynamicEntity::new("2026", "ann").with("Age", 55);
    let mut server = start(&location);
    let tables = Tables::from_connection_string(&server.connection_string()).unwrap();
    tables.create(&people).await.unwrap();
    tables.table(people.clone()).insert(&ann).await.unwrap();
    server.terminate();

    let server = start(&location);
    let tables = Tables::from_connection_string(&server.connection_string()).unwrap();
    let stored = tables.table(people).get("2026", "ann").await.unwrap().unwrap();
    assert_eq!(stored.properties, ann.properties);
}

#[cfg(unix)]
#[test]
fn data_of_azurite_in_the_location_is_left_as_it_is_and_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("__azurite_db_table__.json");
    std::fs::write(&data, "{\"collections\":[]}").unwrap();
    let errors = || {
        let log = tempfile::NamedTempFile::new().unwrap();
        let location = [Path::new("--port"), Path::new("0"), Path::new("-l"), folder.path()];
        let file = log.reopen().unwrap().into();
        Served::with_errors(tempfile::tempdir().unwrap(), &location, file).terminate();
        std::fs::read_to_string(log.path()).unwrap()
    };
    let path = folder.path().display();
    let expected = format!(
        "the tables of Azurite in `{path}` are not read: the server starts without tables\n"
    );
    assert_eq!(errors(), expected);
    assert_eq!(errors(), "", "the server has a file of its own there");
    assert_eq!(std::fs::read_to_string(&data).unwrap(), "{\"collections\":[]}");
}

/// The status of a request of a version that nobody knows, without credentials.
fn status(server: &Served) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let request = "GET /devstoreaccount1/Tables HTTP/1.1\r\nHost: h\r\nx-ms-version: 2099-01-01\r\n\
                   Connection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn a_version_is_checked_unless_the_flag_says_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(status(&start(folder.path())), "403");
    assert_eq!(status(&Served::start()), "400");
}
