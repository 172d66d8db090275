//! How large the transactions of a bulk write are, as they are sent.

use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use support::dose;
use table_orm::azure::protocol::{Dialect, TableService};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Retry, RetryStrategy as Retries};
use table_orm::model::{MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS};
use table_orm::store::{Batch, Middleware, Operation, Store, StoreError};
use table_orm::{ETag, TableEntity, TableName, Tables};

#[derive(Debug, Clone, TableEntity)]
#[table(name = "notes", partition = "{owner}")]
#[row(by_title, key = "T|{title}")]
#[row(by_number, key = "N|{number:05}", allow_key_conflict)]
struct Note {
    owner: String,
    title: String,
    number: u32,
    text: String,
    more: Vec<u8>,
}

/// A store that sends each transaction to nobody, and keeps what it would have sent.
#[derive(Debug, Clone)]
struct Wire {
    inner: Arc<EmbeddedStore>,
    service: TableService,
    sent: Arc<Mutex<Vec<Batch>>>,
}

impl Wire {
    fn new() -> Self {
        let service = TableService::new("https://account.table.core.windows.net", Dialect::Storage);
        let inner = Arc::new(EmbeddedStore::in_memory().unwrap());
        Self { inner, service, sent: Arc::default() }
    }

    fn bytes(&self, table: &TableName, batch: &Batch) -> usize {
        self.service.commit_bytes(table, &batch.partition_key, &batch.operations).unwrap()
    }
}

impl Middleware for Wire {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn commit_bytes(
        &self,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
    ) -> usize {
        self.service.commit_bytes(table, partition_key, operations).unwrap()
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let request = self.service.commit(table, &batch)?;
        assert!(request.body.len() <= MAX_TRANSACTION_BYTES);
        let etags = vec![None; batch.operations.len()];
        self.sent.lock().unwrap().push(batch);
        Ok(etags)
    }
}

/// Notes of one owner: their key's letter and length, and the bytes of their texts.
fn notes() -> impl Strategy<Value = Vec<Note>> {
    let letter = prop_oneof![Just('x'), Just('é'), Just('好'), Just('\''), Just(' '), Just('🏃')];
    let note = (letter, 1..200_usize, 0..16_000_usize, 0..40_000_usize);
    let owner = "[a-zé好🏃]{1,60}";
    (owner, prop::collection::vec(note, 1..dose(150, 400))).prop_map(|(owner, notes)| {
        let note = |(number, (letter, length, text, more)): (u32, _)| Note {
            owner: owner.clone(),
            title: format!("{number}{}", char::to_string(&letter).repeat(length)),
            number,
            text: "é".repeat(text),
            more: vec![7; more],
        };
        (0..).zip(notes).map(note).collect()
    })
}

/// Writes notes of one owner, in their order, and checks the transactions that were sent.
async fn check(notes: Vec<Note>, write_id: bool) {
    let wire = Wire::new();
    let mut tables = Tables::new(wire.clone());
    if write_id {
        tables = tables.layer(Retry::new(Retries::None).write_id("WriteId")).unwrap();
    }
    let repo = tables.repo::<Note>();
    let count = notes.len() as u64;
    let written = repo.insert_many(notes).parallelism(1).await.all().unwrap();
    assert_eq!(written.entities, count);
    let table = TableName::new("notes").unwrap();
    let sent = wire.sent.lock().unwrap().clone();
    for pair in sent.windows(2) {
        let [full, next] = pair else { unreachable!() };
        // With the rows of the next note, it would have been over a limit.
        let mut larger = full.clone();
        larger.operations.extend_from_slice(&next.operations[..2]);
        let bytes = wire.bytes(&table, &larger);
        assert!(
            bytes > MAX_TRANSACTION_BYTES || larger.operations.len() > MAX_TRANSACTION_OPERATIONS,
            "{bytes} bytes, {} operations",
            larger.operations.len()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(12, 400)))]
    #[test]
    fn transactions_are_as_large_as_the_service_takes_and_no_larger(
        notes in notes(),
        write_id in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(check(notes, write_id));
    }
}
