//! `table-orm delete` beside another writer.

use crate::tools::run;
use std::sync::atomic::{AtomicBool, Ordering};
use table_orm::embedded::EmbeddedStore;
use table_orm::query::RowQuery;
use table_orm::store::{Middleware, Page, Store, StoreError};
use table_orm::{DynamicEntity, TableName, Tables};
use table_server::Server;

/// A store in which somebody changes a row as soon as a page of its table was read.
#[derive(Debug)]
struct Changing {
    store: EmbeddedStore,
    changed: AtomicBool,
}

impl Middleware for Changing {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let page = self.store.query(query).await?;
        if query.table == table() && !self.changed.swap(true, Ordering::Relaxed) {
            let other = Tables::new(self.store.clone()).table(table());
            let row = DynamicEntity::new("Boston", "00003").with("Age", 90).with("By", "other");
            other.insert_or_replace(&row).await.unwrap();
        }
        Ok(page)
    }
}

fn table() -> TableName {
    TableName::new("results").unwrap()
}

/// Deletes what the options select of ten rows, while another writer changes the fourth. Returns the exit
/// code, what was printed, and the rows that are left.
async fn delete(options: &[&str]) -> (Option<i32>, String, Vec<DynamicEntity>) {
    let store = EmbeddedStore::in_memory().unwrap();
    let tables = Tables::new(store.clone());
    tables.create(&table()).await.unwrap();
    let rows =
        (0..10).map(|bib| DynamicEntity::new("Boston", format!("{bib:05}")).with("Age", 80 + bib));
    tables.table(table()).insert_many(rows).await.all().unwrap();
    let changing = Changing { store, changed: AtomicBool::new(false) };
    let server = Server::start(changing).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = server.connection_string();
    let delete = ["delete", &text, "results", "--yes", "--json"];
    let arguments: Vec<_> = delete.iter().chain(options).map(|text| (*text).to_owned()).collect();
    let output = tokio::task::spawn_blocking(move || {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        run(folder.path(), &arguments)
    });
    let output = output.await.unwrap();
    let left = tables.table(table()).list("Boston", ..).collect().await.unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), left)
}

#[tokio::test]
async fn a_row_that_changed_after_the_filter_found_it_stays() {
    let (code, printed, left) = delete(&["--filter", "Age ge 82"]).await;
    assert_eq!((code, &*printed), (Some(3), "{\"changed\":1,\"deleted\":7}\n"));
    let keys: Vec<_> = left.iter().map(|row| &*row.row_key).collect();
    assert_eq!(keys, ["00000", "00001", "00003"]);
    assert_eq!(left[2].properties.len(), 2, "as the other writer wrote it");
}

#[tokio::test]
async fn a_row_that_changed_in_a_named_range_is_deleted() {
    let (code, printed, left) = delete(&["--from-row", "00002"]).await;
    assert_eq!((code, &*printed), (Some(0), "{\"changed\":0,\"deleted\":8}\n"));
    assert_eq!(left.len(), 2);
}
