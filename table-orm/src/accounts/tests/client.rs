//! A client of the simulation: it writes rows of its own, raises counters of all clients, and checks what it
//! reads.

use super::simulation::World;
use crate::accounts::Accounts;
use crate::entity::{DynamicEntity, RowHead, read_row, split_page};
use crate::model::{ETag, Edm, Metadata};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Action, Batch, ErrorCode, IfMatch, Operation, Store as _, StoreError};
use crate::sync::Random;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const PARTITIONS: u64 = 10;

/// What became of a request.
enum Outcome<T> {
    Done(T),
    Refused(StoreError),
    Unknown,
}

/// A row of one client.
#[derive(Debug, Clone)]
struct Own {
    partition_key: String,
    row_key: String,
    value: Option<i64>,
    etag: Option<ETag>,
}

pub(super) struct Client<'w> {
    world: &'w World,
    number: u64,
    random: Random,
    accounts: Accounts,
    count: usize,
    own: Vec<Own>,
    next: i64,
}

fn entity(partition_key: &str, row_key: &str, value: i64) -> DynamicEntity {
    DynamicEntity::new(partition_key, row_key).with("Value", value)
}

fn body(partition_key: &str, row_key: &str, value: i64) -> bytes::Bytes {
    entity(partition_key, row_key, value).body().unwrap()
}

pub(super) fn value(body: &[u8]) -> i64 {
    match read_row::<DynamicEntity>(0, body).unwrap().properties.get("Value") {
        Some(Edm::Int64(value)) => *value,
        other => panic!("the row has {other:?}"),
    }
}

impl<'w> Client<'w> {
    pub fn new(world: &'w World, number: u64) -> Self {
        let random = Random::seeded(world.seed.wrapping_mul(1000) + number);
        let accounts = world.accounts(1, random.next(), 0.02);
        Self { world, number, random, accounts, count: 1, own: Vec::new(), next: 0 }
    }

    fn happens(&self, probability: f64) -> bool {
        self.random.unit() < probability
    }

    /// Another process, perhaps with the longer list of accounts.
    fn starts_again(&mut self) {
        if self.count < self.world.stores.len() && self.happens(0.7) {
            self.count += 1;
        }
        self.accounts = self.world.accounts(self.count, self.random.next(), 0.02);
    }

    /// Sends a request from a process that may end before its answer.
    async fn call<T>(
        &mut self,
        call: impl AsyncFnOnce(&Accounts) -> Result<T, StoreError>,
    ) -> Outcome<T> {
        let accounts = self.accounts.clone();
        let answer = if self.happens(0.02) {
            let time = Duration::from_secs(3).mul_f64(self.random.unit());
            timeout(time, call(&accounts)).await.ok()
        } else {
            Some(call(&accounts).await)
        };
        match answer {
            None => {
                self.starts_again();
                Outcome::Unknown
            }
            Some(Ok(answer)) => Outcome::Done(answer),
            Some(Err(error)) if error.status == 0 || error.status == 500 => Outcome::Unknown,
            Some(Err(error)) => {
                if error.code == ErrorCode::INVALID_INPUT {
                    // The list is too short.
                    self.count += 1;
                    self.accounts = self.world.accounts(self.count, self.random.next(), 0.02);
                }
                Outcome::Refused(error)
            }
        }
    }

    pub async fn run(mut self) {
        while !self.world.has_ended() {
            sleep(Duration::from_secs(2).mul_f64(self.random.unit())).await;
            match self.random.below(12) {
                0..=2 => self.inserts().await,
                3..=5 => self.changes().await,
                6 => self.deletes().await,
                7 | 8 => self.raises().await,
                9 => self.gets().await,
                10 => self.lists().await,
                _ if self.happens(0.3) => self.scans().await,
                _ => self.gets().await,
            }
        }
        let mut rows = self.world.rows.lock().unwrap();
        rows.extend(
            self.own.into_iter().map(|own| (own.partition_key, own.row_key, vec![own.value])),
        );
    }

    fn partition(&self) -> String {
        format!("p{}", self.random.below(PARTITIONS))
    }

    fn counts(&self, outcome: &Outcome<impl Sized>) {
        let mut tally = self.world.tally.lock().unwrap();
        match outcome {
            Outcome::Done(_) => tally.acknowledged += 1,
            Outcome::Unknown => tally.unknown += 1,
            Outcome::Refused(_) => tally.refused += 1,
        }
    }

    /// A transaction of new rows.
    async fn inserts(&mut self) {
        let partition_key = self.partition();
        let rows: Vec<_> = (0..=self.random.below(3))
            .map(|_| {
                self.next += 1;
                (format!("c{}-{:05}", self.number, self.next), self.next)
            })
            .collect();
        let operations = rows.iter().map(|(row_key, value)| {
            let action = Action::Insert(body(&partition_key, row_key, *value));
            Operation { row_key: row_key.clone(), action }
        });
        let batch =
            Batch { partition_key: partition_key.clone(), operations: operations.collect() };
        let table = self.world.table.clone();
        let outcome = self.call(async |accounts| accounts.commit(&table, batch).await).await;
        self.counts(&outcome);
        match outcome {
            Outcome::Done(etags) => {
                for ((row_key, value), etag) in rows.into_iter().zip(etags) {
                    let partition_key = partition_key.clone();
                    self.own.push(Own { partition_key, row_key, value: Some(value), etag });
                }
            }
            Outcome::Unknown => self.unknown(&partition_key, rows, None),
            Outcome::Refused(error) if error.code == ErrorCode::ENTITY_ALREADY_EXISTS => {
                self.world.fail(format!("{rows:?} of {partition_key} were there before: {error}"));
            }
            Outcome::Refused(error) => self.check_refusal(&error),
        }
    }

    /// Gives up rows of which nobody knows whether they were written.
    fn unknown(&self, partition_key: &str, rows: Vec<(String, i64)>, before: Option<i64>) {
        let mut all = self.world.rows.lock().unwrap();
        for (row_key, value) in rows {
            all.push((partition_key.to_owned(), row_key, vec![before, Some(value)]));
        }
    }

    fn check_refusal(&self, error: &StoreError) {
        let codes = [ErrorCode::SERVER_BUSY, ErrorCode::INVALID_INPUT];
        if !codes.contains(&error.code) {
            self.world.fail(format!("client {} was refused: {error}", self.number));
        }
    }

    fn one(&self) -> Option<usize> {
        (!self.own.is_empty()).then(|| self.random.below(self.own.len() as u64) as usize)
    }

    /// Writes a row of its own, over whatever is there or over the version that it knows.
    async fn changes(&mut self) {
        let Some(at) = self.one() else { return };
        let own = self.own[at].clone();
        self.next += 1;
        let new = self.next;
        let body = body(&own.partition_key, &own.row_key, new);
        let action = match (&own.etag, self.random.below(3)) {
            (Some(etag), 0 | 1) => Action::Replace(body, IfMatch::ETag(etag.clone())),
            (Some(_), _) => Action::Merge(body, IfMatch::Any),
            (None, 0) => Action::Insert(body),
            (None, _) => Action::InsertOrReplace(body),
        };
        let operation = Operation { row_key: own.row_key.clone(), action };
        let table = self.world.table.clone();
        let partition_key = &own.partition_key;
        let write =
            async |accounts: &Accounts| accounts.write(&table, partition_key, operation).await;
        let outcome = self.call(write).await;
        self.counts(&outcome);
        match outcome {
            Outcome::Done(etag) => {
                self.own[at].value = Some(new);
                self.own[at].etag = etag;
            }
            Outcome::Unknown => {
                self.own.swap_remove(at);
                self.unknown(&own.partition_key, vec![(own.row_key, new)], own.value);
            }
            // It moved, and has another version.
            Outcome::Refused(error) if error.code == ErrorCode::UPDATE_CONDITION_NOT_SATISFIED => {
                self.looks(at).await;
            }
            Outcome::Refused(error) => self.check_refusal(&error),
        }
    }

    async fn deletes(&mut self) {
        let Some(at) = self.one() else { return };
        let own = self.own[at].clone();
        if own.value.is_none() {
            return;
        }
        let action = Action::Delete(IfMatch::Any);
        let operation = Operation { row_key: own.row_key.clone(), action };
        let table = self.world.table.clone();
        let partition_key = &own.partition_key;
        let write =
            async |accounts: &Accounts| accounts.write(&table, partition_key, operation).await;
        let outcome = self.call(write).await;
        self.counts(&outcome);
        match outcome {
            Outcome::Done(_) => (self.own[at].value, self.own[at].etag) = (None, None),
            Outcome::Unknown => {
                self.own.swap_remove(at);
                let mut all = self.world.rows.lock().unwrap();
                all.push((own.partition_key, own.row_key, vec![None, own.value]));
            }
            Outcome::Refused(error) => self.check_refusal(&error),
        }
    }

    async fn gets(&mut self) {
        if let Some(at) = self.one() {
            self.looks(at).await;
        }
    }

    /// Reads a row of its own, which nobody else writes.
    async fn looks(&mut self, at: usize) {
        let own = self.own[at].clone();
        let table = self.world.table.clone();
        let read = async |accounts: &Accounts| {
            let key = (&own.partition_key, &own.row_key);
            accounts.get(&table, key.0, key.1, None, Metadata::Minimal).await
        };
        if let Outcome::Done(row) = self.call(read).await {
            let found = row.as_ref().map(|row| value(&row.body));
            if found != own.value {
                self.world.fail(format!("client {} reads {found:?} of {own:?}", self.number));
            }
            self.own[at].etag = row.map(|row| row.etag().unwrap());
            self.world.tally.lock().unwrap().reads += 1;
        }
    }

    /// Adds one to a row of all clients.
    async fn raises(&mut self) {
        let partition_key = self.partition();
        let counter = || self.world.counters.lock().unwrap().get(&partition_key).copied();
        let before = counter().unwrap_or_default();
        let table = self.world.table.clone();
        let read = async |accounts: &Accounts| {
            accounts.get(&table, &partition_key, "counter", None, Metadata::Minimal).await
        };
        let Outcome::Done(row) = self.call(read).await else { return };
        let found = row.as_ref().map_or(0, |row| value(&row.body));
        if found < before.acknowledged {
            self.world.fail(format!("{partition_key} counts {found}, below {before:?}"));
        }
        let body = body(&partition_key, "counter", found + 1);
        let action = Action::over(body, row.map(|row| row.etag().unwrap()));
        let operation = Operation { row_key: "counter".into(), action };
        let write =
            async |accounts: &Accounts| accounts.write(&table, &partition_key, operation).await;
        let outcome = self.call(write).await;
        self.counts(&outcome);
        let mut counters = self.world.counters.lock().unwrap();
        let counter = counters.entry(partition_key).or_default();
        match outcome {
            Outcome::Done(_) => counter.acknowledged += 1,
            Outcome::Unknown => counter.unknown += 1,
            Outcome::Refused(_) => {}
        }
    }

    async fn lists(&mut self) {
        let partition_key = self.partition();
        let keys = KeyRange { partition: Span::Exact(partition_key.clone()), row: Span::All };
        self.reads(keys, |own| own.partition_key == partition_key).await;
    }

    async fn scans(&mut self) {
        self.reads(KeyRange::ALL, |_| true).await;
    }

    /// Reads page after page; a page that fails is asked for again.
    async fn reads(&mut self, keys: KeyRange, is_in: impl Fn(&Own) -> bool) {
        let mut query = RowQuery::new(self.world.table.clone(), keys);
        query.metadata = Metadata::Minimal;
        query.top = Some(3 + self.random.below(20) as u16);
        let mut found: Vec<(RowHead, i64)> = Vec::new();
        let mut failures = 0;
        loop {
            let page = async |accounts: &Accounts| accounts.query(&query).await;
            let page = match self.call(page).await {
                Outcome::Done(page) => page,
                _ if failures < 20 => {
                    failures += 1;
                    sleep(Duration::from_secs(1)).await;
                    continue;
                }
                _ => return,
            };
            for row in split_page(&page.body).unwrap() {
                let row = row.get().as_bytes();
                found.push((read_row::<RowHead>(0, row).unwrap(), value(row)));
            }
            if page.continuation.is_none() {
                break;
            }
            query.continuation = page.continuation;
        }
        if !found.is_sorted_by(|one, next| one.0 < next.0) {
            self.world.fail(format!("a query returns rows twice, or not in order: {found:?}"));
        }
        let found: BTreeMap<_, _> = found
            .into_iter()
            .map(|(row, value)| ((row.partition_key, row.row_key), value))
            .collect();
        for own in self.own.iter().filter(|own| is_in(own)) {
            let row = found.get(&(own.partition_key.clone(), own.row_key.clone())).copied();
            if row != own.value {
                self.world.fail(format!("client {} lists {row:?} of {own:?}", self.number));
            }
        }
        self.world.tally.lock().unwrap().reads += 1;
    }
}
