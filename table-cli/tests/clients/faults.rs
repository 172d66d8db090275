//! Faults that a file names.

use crate::served::Served;
use table_orm::azure::AzureStore;
use table_orm::store::{ErrorCode, Store as _};

#[tokio::test]
async fn the_faults_of_a_file_reach_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("faults.txt");
    let error = async |text: &str| {
        std::fs::write(&file, text).unwrap();
        let served = Served::with_faults(&file);
        let client = AzureStore::from_connection_string(&served.connection_string()).unwrap();
        client.list_tables().await.unwrap_err()
    };
    let busy = error("seed = 3\nthrottled = 1 # every request\n").await;
    assert_eq!((busy.code, busy.status), (ErrorCode::SERVER_BUSY, 503));
    let cut = error("cut-replies = 1\n").await;
    assert_eq!((cut.code, cut.status), (ErrorCode::NO_ANSWER, 0));
}

#[test]
fn a_mistake_in_a_file_of_faults_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("faults.txt");
    std::fs::write(&file, "seed = 3\nthrotled = 1\n").unwrap();
    let error = Served::refused(&["--faults".as_ref(), &file]);
    assert!(error.contains("line 2: `throtled` is not one of throttled, "), "{error}");
    let error = Served::refused(&["--faults".as_ref(), folder.path().join("none").as_path()]);
    assert!(error.contains("cannot read"), "{error}");
}
