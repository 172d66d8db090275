//! A page of 1000 entities of ten properties, decoded, against `serde_json::from_slice` into a
//! plain struct of the same shape.

#![allow(missing_docs, clippy::unwrap_used)]

mod finisher;
mod ratio;

use async_trait::async_trait;
use bytes::Bytes;
use finisher::Finisher;
use serde::Deserialize;
use std::borrow::Cow;
use std::hint::black_box;
use table_orm::model::Metadata;
use table_orm::query::RowQuery;
use table_orm::store::{Batch, Operation, Page, Store, StoreError, StoredRow};
use table_orm::{ETag, Projection, TableName, Tables};
use time::OffsetDateTime;

/// The same in the service's form, for serde only: an `Edm.Int64` and an `Edm.DateTime` are text on
/// the wire.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[expect(dead_code, reason = "only read from JSON")]
struct Plain {
    partition_key: String,
    row_key: String,
    event: String,
    bib: String,
    name: String,
    city: Option<String>,
    age: u8,
    rank: i32,
    seconds: f64,
    official: bool,
    club: String,
    registered_at: String,
}

#[derive(Debug, Deserialize)]
struct PlainPage {
    value: Vec<Plain>,
}

/// All fields of the entity, with texts that are slices of the page.
#[derive(Projection)]
#[projection(of = Finisher, borrow)]
#[expect(dead_code, reason = "only read from JSON")]
struct Borrowed<'a> {
    event: Cow<'a, str>,
    bib: u32,
    name: Cow<'a, str>,
    city: Option<Cow<'a, str>>,
    age: u8,
    rank: i32,
    seconds: f64,
    official: bool,
    club: Cow<'a, str>,
    registered_at: OffsetDateTime,
}

/// A store whose every answer is one page.
#[derive(Debug)]
struct OnePage(Bytes);

#[async_trait]
impl Store for OnePage {
    fn hidden_property(&self) -> Option<&str> {
        None
    }

    async fn query(&self, _: &RowQuery) -> Result<Page, StoreError> {
        Ok(Page { body: self.0.clone(), continuation: None, scanned: None })
    }

    async fn create_table(&self, _: &TableName) -> Result<(), StoreError> {
        Ok(())
    }

    async fn delete_table(&self, _: &TableName) -> Result<(), StoreError> {
        Ok(())
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        Ok(Vec::new())
    }

    async fn get(
        &self,
        _: &TableName,
        _: &str,
        _: &str,
        _: Option<&[&str]>,
        _: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        Ok(None)
    }

    async fn write(
        &self,
        _: &TableName,
        _: &str,
        _: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        Ok(None)
    }

    async fn commit(&self, _: &TableName, _: Batch) -> Result<Vec<Option<ETag>>, StoreError> {
        Ok(Vec::new())
    }
}

/// The service's answer without metadata: no annotations, and a timestamp in each row.
fn page() -> Bytes {
    let rows: Vec<_> = (0..1000)
        .map(|bib| {
            format!(
                r#"{{"PartitionKey":"Marathon","RowKey":"{bib:08}","Timestamp":"2011-11-06T14:10:00.1234567Z","Event":"Marathon","Bib":"{bib}","Name":"Runner Number {bib}","City":"New York","Age":{},"Rank":{bib},"Seconds":{}.25,"Official":true,"Club":"Harriers of the Park","RegisteredAt":"2011-11-06T14:10:00.1234567Z"}}"#,
                20 + bib % 60,
                9000 + bib,
            )
        })
        .collect();
    format!(r#"{{"value":[{}]}}"#, rows.join(",")).into()
}

fn main() {
    let body = page();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let repo = Tables::new(OnePage(body.clone())).repo::<Finisher>();
    let mut criterion = ratio::criterion();
    let mut group = criterion.benchmark_group("page of 1000 ten-property entities");
    group.bench_function("serde_json", |bench| {
        bench.iter(|| serde_json::from_slice::<PlainPage>(black_box(&body)).unwrap().value.len());
    });
    group.bench_function("table-orm", |bench| {
        bench.iter(|| {
            let rows = repo.list(Finisher::partition("Marathon")).collect();
            runtime.block_on(rows).unwrap().len()
        });
    });
    group.bench_function("table-orm, borrowed", |bench| {
        bench.iter(|| {
            let rows = repo.list(Finisher::partition("Marathon"));
            let rows = rows.map::<Borrowed<'_>, _>(|row| drop(black_box(row))).collect();
            runtime.block_on(rows).unwrap().len()
        });
    });
    group.finish();
    criterion.final_summary();
    let (group, goal) = ("page of 1000 ten-property entities", Some(0.45));
    ratio::print(group, "serde_json", "table-orm", goal);
    ratio::print(group, "serde_json", "table-orm, borrowed", goal);
}
