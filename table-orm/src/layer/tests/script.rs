//! A store with scripted answers.

use crate::model::{DateTime, ETag, Metadata, TableName};
use crate::query::RowQuery;
use crate::store::{Batch, ErrorCode, Operation, Page, Store, StoreError, StoredRow};
use async_trait::async_trait;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// One answer.
#[derive(Debug)]
pub(super) enum Answer {
    Done,
    Row(Option<StoredRow>),
    /// The nth row that the first request wrote, with the ETag "ours".
    Written(usize),
    Failed(StoreError),
    After(Duration, Box<Self>),
}

/// The requests, and when they came.
pub(super) type Asked = Vec<(String, Duration)>;

#[derive(Debug)]
pub(super) struct Script {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Asked>,
    start: Instant,
    service_time: Option<DateTime>,
}

impl Script {
    pub(super) fn new(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.into_iter().collect()),
            asked: Mutex::default(),
            start: Instant::now(),
            service_time: None,
        })
    }

    /// A script of a service that has shown this time in an answer before.
    pub(super) fn at(time: &str, answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        let script = Arc::into_inner(Self::new(answers)).unwrap();
        Arc::new(Self { service_time: Some(time.parse().unwrap()), ..script })
    }

    pub(super) fn asked(&self) -> Asked {
        self.asked.lock().unwrap().clone()
    }

    /// When each request came, in milliseconds from the start.
    pub(super) fn times(&self) -> Vec<u128> {
        self.asked().iter().map(|(_, time)| time.as_millis()).collect()
    }

    fn written(&self, nth: usize) -> StoredRow {
        let (request, _) = self.asked()[0].clone();
        let body = format!("{}}}", request.split_inclusive('{').nth(nth + 1).unwrap());
        let body = body.split('}').next().unwrap();
        StoredRow { body: format!("{{{body}}}").into(), header: Some(ETag::new("ours")) }
    }

    async fn answer(&self, request: String) -> Result<Option<StoredRow>, StoreError> {
        self.asked.lock().unwrap().push((request, self.start.elapsed()));
        let mut answer = self.answers.lock().unwrap().pop_front().unwrap_or(Answer::Done);
        while let Answer::After(time, then) = answer {
            sleep(time).await;
            answer = *then;
        }
        match answer {
            Answer::Row(row) => Ok(row),
            Answer::Written(nth) => Ok(Some(self.written(nth))),
            Answer::Failed(error) => Err(error),
            _ => Ok(None),
        }
    }
}

pub(super) fn failed(code: ErrorCode) -> Answer {
    Answer::Failed(StoreError::new(code, ""))
}

pub(super) fn status(status: u16) -> Answer {
    Answer::Failed(StoreError { status, ..StoreError::new(ErrorCode::new("Code"), "") })
}

pub(super) fn lost() -> Answer {
    Answer::Failed(StoreError::no_answer(""))
}

pub(super) fn row(body: &str, etag: &str) -> Answer {
    Answer::Row(Some(StoredRow { body: body.to_owned().into(), header: Some(ETag::new(etag)) }))
}

#[async_trait]
impl Store for Script {
    fn hidden_property(&self) -> Option<&str> {
        None
    }

    fn service_time(&self) -> Option<DateTime> {
        self.service_time
    }

    async fn create_table(&self, _: &TableName) -> Result<(), StoreError> {
        self.answer("create".into()).await.map(drop)
    }

    async fn delete_table(&self, _: &TableName) -> Result<(), StoreError> {
        self.answer("delete".into()).await.map(drop)
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        self.answer("list".into()).await.map(|_| Vec::new())
    }

    async fn get(
        &self,
        _: &TableName,
        _: &str,
        row_key: &str,
        _: Option<&[&str]>,
        _: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        self.answer(format!("get {row_key}")).await
    }

    async fn query(&self, _: &RowQuery) -> Result<Page, StoreError> {
        self.answer("query".into()).await?;
        Ok(Page { body: r#"{"value":[]}"#.into(), continuation: None, scanned: None })
    }

    async fn write(
        &self,
        _: &TableName,
        _: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let body = operation.action.body().map_or("", |body| std::str::from_utf8(body).unwrap());
        self.answer(format!("{} {body}", operation.action.name())).await?;
        Ok(Some(ETag::new("written")))
    }

    async fn commit(
        &self,
        _: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let body = |operation: &Operation| operation.action.body().cloned();
        let bodies: Vec<_> = transaction.operations.iter().filter_map(body).collect();
        let bodies = String::from_utf8(bodies.concat()).unwrap();
        self.answer(format!("commit {bodies}")).await?;
        Ok(vec![Some(ETag::new("written")); transaction.operations.len()])
    }
}
