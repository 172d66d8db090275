//! Rows exchanged with the Python client `azure-data-tables`, an independent implementation.

use crate::Run;
use crate::cases::types::extremes;
use crate::subject::Subject;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::azurite::Azurite;
use support::python;
use table_orm::DynamicEntity;
use table_orm::azure::AzureStore;
use table_orm::model::Edm;

/// The stored keys of the reference example.
const KEYS: [(&str, &str); 2] = [
    ("2011 New York City Marathon__Full", "BIB:01234__John__M__55"),
    ("2011 New York City Marathon__Full", "AGE:055__1234__John__M"),
];

pub fn both_ways(azurite: &Azurite) -> Run {
    let azurite = azurite.clone();
    Box::pin(async move {
        let python = tokio::task::spawn_blocking(environment).await.unwrap();
        let store = AzureStore::from_connection_string(&azurite.connection_string()).unwrap();
        let subject = Subject::new(store).await;
        let table = subject.dynamic();

        for (partition_key, row_key) in KEYS {
            table.insert(&row("rust ", partition_key, row_key)).await.unwrap();
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/interop/exchange.py");
        let (text, name) = (azurite.connection_string(), subject.table.to_string());
        let run = move || Command::new(python).arg(script).args([text, name]).output().unwrap();
        let output = tokio::task::spawn_blocking(run).await.unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");

        for (partition_key, row_key) in KEYS {
            let written = row("python ", partition_key, row_key);
            let partition_key = &written.partition_key;
            let read = table.get(partition_key, row_key).await.unwrap().unwrap();
            assert_eq!(read.properties, written.properties);
        }
    })
}

/// A row of every type. Values that Python has no type for are left out: 100 ns, and dates that its
/// own parser rejects.
fn row(origin: &str, partition_key: &str, row_key: &str) -> DynamicEntity {
    let mut row = DynamicEntity::new(format!("{origin}{partition_key}"), row_key);
    row.properties = extremes().properties;
    row.properties.retain(|name, _| !matches!(&**name, "DateTimeTick" | "DateTimeMax"));
    let microsecond: table_orm::model::DateTime = "2011-11-06T09:10:00.000001Z".parse().unwrap();
    row.with("DateTimeMicrosecond", microsecond).with("DoubleWhole", Edm::Double(3.0))
}

/// The interpreter of an environment with the client.
fn environment() -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop-python");
    python::environment(&directory, &fixtures.join("interop/requirements.txt")).unwrap()
}
