//! The request of each operation.

use super::API_VERSION;
use super::batch::{BatchWriter, CONTENT_TYPE};
use super::dialect::Dialect;
use super::encode::percent_encode;
use super::message::{MAX_ROW_ANSWER, Method, WireRequest};
use super::parameters::{Parameters, check_names};
use super::sink::{BodySink, ByteCount};
use super::write::{JSON, PREFER_NO_CONTENT, Write, push_row_target, row_target_len};
use crate::model::{
    MAX_PAGE_ROWS, MAX_TRANSACTION_BYTES, Metadata, PARTITION_KEY, ROW_KEY, TableName,
};
use crate::query::RowQuery;
use crate::store::{Batch, ErrorCode, Operation, StoreError, limits};
use bytes::Bytes;
use std::borrow::Cow;

/// The most bytes of the answer to a transaction: its rows, their characters escaped as 6 bytes each,
/// and as much again for the headers of the parts.
const MAX_COMMIT_ANSWER: usize = 8 * MAX_TRANSACTION_BYTES;

/// About the bytes of an operation in a transaction, beside the endpoint and its body.
const PART: usize = 360;

/// The Table service at an endpoint. Builds the requests to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableService {
    endpoint: String,
    dialect: Dialect,
}

impl TableService {
    /// Takes the service's endpoint, a URL without query, such as
    /// `https://account.table.core.windows.net` or `http://127.0.0.1:10002/devstoreaccount1`.
    #[must_use]
    pub fn new(endpoint: &str, dialect: Dialect) -> Self {
        Self { endpoint: endpoint.trim_end_matches('/').to_owned(), dialect }
    }

    /// Returns the endpoint, without a slash at its end.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Builds the request to create a table.
    #[must_use]
    pub fn create_table(&self, table: &TableName) -> WireRequest {
        let body = format!(r#"{{"TableName":"{table}"}}"#);
        let mut request = self.request(Method::Post, "/Tables".to_owned(), Metadata::None);
        request.headers.push(PREFER_NO_CONTENT);
        with_body(request, body.into())
    }

    /// Builds the request to delete a table.
    #[must_use]
    pub fn delete_table(&self, table: &TableName) -> WireRequest {
        self.request(Method::Delete, format!("/Tables('{table}')"), Metadata::None)
    }

    /// Builds the request for one page of table names, from `next` on, the token of the page
    /// before.
    #[must_use]
    pub fn list_tables(&self, next: Option<&str>) -> WireRequest {
        let target = match next {
            Some(next) => format!("/Tables?NextTableName={}", percent_encode(next)),
            None => "/Tables".to_owned(),
        };
        self.request(Method::Get, target, Metadata::None)
    }

    /// Builds a point query.
    ///
    /// # Errors
    /// Fails when the service would reject a key or name.
    pub fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<WireRequest, StoreError> {
        limits::check_key(PARTITION_KEY, partition_key)?;
        limits::check_key(ROW_KEY, row_key)?;
        let mut target = String::with_capacity(row_target_len(table, partition_key, row_key));
        push_row_target(&mut target, table, partition_key, row_key);
        if let Some(select) = select {
            Parameters::of(&mut target).names("$select", select.iter().copied())?;
        }
        Ok(self.request(Method::Get, target, metadata))
    }

    /// Builds the request for one page of a query.
    ///
    /// # Errors
    /// Fails when the service would reject a property name or the page size, or when the
    /// continuation is not from this service.
    pub fn query(&self, query: &RowQuery) -> Result<WireRequest, StoreError> {
        let mut target = format!("/{}()", query.table);
        let mut parameters = Parameters::of(&mut target);
        if let Some(filter) = &query.filter {
            check_names(filter)?;
            limits::check_finite(filter)?;
        }
        if let Some(filter) = query.filter_text() {
            parameters.text("$filter", &filter);
        }
        if let Some(select) = &query.select {
            parameters.names("$select", select.iter().map(|name| &**name))?;
        }
        if let Some(top) = query.top {
            if !(1..=MAX_PAGE_ROWS).contains(&top) {
                let message = format!(
                    "A page of {top} rows was requested; the limit is 1 to {MAX_PAGE_ROWS}."
                );
                return Err(StoreError::new(ErrorCode::INVALID_INPUT, message));
            }
            parameters.text("$top", &top.to_string());
        }
        if let Some(continuation) = &query.continuation {
            let Some(partition_key) = &continuation.next_partition_key else {
                let message =
                    "The continuation is not from this store; start the query again without it.";
                return Err(StoreError::new(ErrorCode::INVALID_INPUT, message));
            };
            parameters.text("NextPartitionKey", partition_key);
            if let Some(row_key) = &continuation.next_row_key {
                parameters.text("NextRowKey", row_key);
            }
        }
        let mut request = self.request(Method::Get, target, query.metadata);
        request.answer_bytes *= usize::from(query.top.unwrap_or(MAX_PAGE_ROWS));
        Ok(request)
    }

    /// Builds the write of one row.
    ///
    /// # Errors
    /// Fails when the service would reject the key, ETag or body.
    pub fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: &Operation,
    ) -> Result<WireRequest, StoreError> {
        limits::check_key(PARTITION_KEY, partition_key)?;
        let write = Write::new(self.dialect, table, partition_key, operation)?;
        let row_key = &operation.row_key;
        let mut target = String::with_capacity(row_target_len(table, partition_key, row_key));
        write.push_target(&mut target);
        let mut request = self.request(write.method, target, Metadata::None);
        request.headers.extend(write.headers.into_iter().flatten());
        request.body = write.body.into_owned();
        Ok(request)
    }

    /// Builds an entity group transaction.
    ///
    /// # Errors
    /// Fails as [`write`](Self::write), with the operation's index; and when there is no operation
    /// or more than 100, when a row occurs twice, or when the body exceeds 4 MiB.
    pub fn commit(
        &self,
        table: &TableName,
        transaction: &Batch,
    ) -> Result<WireRequest, StoreError> {
        let Batch { partition_key, operations } = transaction;
        limits::check_count(operations)?;
        limits::check_distinct(operations)?;
        limits::check_key(PARTITION_KEY, partition_key).map_err(|error| error.at(0))?;
        let bytes = operations.iter().filter_map(|operation| operation.action.body());
        let bytes: usize = bytes.map(Bytes::len).sum();
        let room = bytes + (operations.len() + 1) * (PART + self.endpoint.len());
        let body = self.batch(table, partition_key, operations, Vec::with_capacity(room))?;
        let body: Bytes = body.finish().into();
        limits::check_bytes(body.len())?;
        let mut request = self.request(Method::Post, "/$batch".to_owned(), Metadata::None);
        request.headers.push(("content-type", Cow::Borrowed(CONTENT_TYPE)));
        // Each part may repeat the row that was written.
        request.answer_bytes = MAX_COMMIT_ANSWER;
        request.body = body;
        Ok(request)
    }

    /// Returns the bytes of the body that [`commit`](Self::commit) builds of these operations. An
    /// operation adds as many beside others as alone.
    ///
    /// # Errors
    /// Fails when the service would reject a RowKey, ETag or body.
    pub fn commit_bytes(
        &self,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
    ) -> Result<usize, StoreError> {
        let count = ByteCount::default();
        let body = self.batch(table, partition_key, operations, count)?;
        Ok(body.finish().0)
    }

    /// Puts a change set into a body.
    fn batch<S: BodySink>(
        &self,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
        body: S,
    ) -> Result<BatchWriter<'_, S>, StoreError> {
        let accept = self.accept(Metadata::None);
        let mut body = BatchWriter::new(&self.endpoint, accept, body);
        for (index, operation) in operations.iter().enumerate() {
            let write = Write::new(self.dialect, table, partition_key, operation);
            body.push(&write.map_err(|error| error.at(index))?);
        }
        Ok(body)
    }

    fn request(&self, method: Method, target: String, metadata: Metadata) -> WireRequest {
        let headers = vec![
            ("accept", Cow::Borrowed(self.accept(metadata))),
            ("dataserviceversion", Cow::Borrowed("3.0")),
            ("x-ms-version", Cow::Borrowed(API_VERSION)),
        ];
        let answer_bytes = MAX_ROW_ANSWER;
        WireRequest { method, target, headers, body: Bytes::new(), answer_bytes }
    }

    const fn accept(&self, metadata: Metadata) -> &'static str {
        match (metadata, self.dialect) {
            (Metadata::None, Dialect::Storage) => "application/json;odata=nometadata",
            _ => "application/json;odata=minimalmetadata",
        }
    }
}

fn with_body(mut request: WireRequest, body: Bytes) -> WireRequest {
    request.headers.push(JSON);
    request.body = body;
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::is_property_name;
    use crate::model::{Continuation, ETag};
    use crate::query::{Comparison, Filter, KeyRange, Span};
    use crate::store::{Action, IfMatch};
    use proptest::prelude::*;

    fn service() -> TableService {
        TableService::new("https://acc.table.core.windows.net/", Dialect::Storage)
    }

    fn people() -> TableName {
        TableName::new("People").unwrap()
    }

    fn header<'r>(request: &'r WireRequest, name: &str) -> Option<&'r str> {
        request.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }

    fn operation(row_key: &str, action: Action) -> Operation {
        Operation { row_key: row_key.to_owned(), action }
    }

    #[test]
    fn every_operation_has_its_method_path_and_condition() {
        let body = || Bytes::from_static(br#"{"PartitionKey":"p","RowKey":"it's","A":1}"#);
        let etag = || IfMatch::ETag(ETag::new("W/\"x\""));
        let row = "/People(PartitionKey='p',RowKey='it%27%27s')";
        for (action, method, target, if_match) in [
            (Action::Insert(body()), Method::Post, "/People", None),
            (Action::InsertOrReplace(body()), Method::Put, row, None),
            (Action::InsertOrMerge(body()), Method::Patch, row, None),
            (Action::Replace(body(), IfMatch::Any), Method::Put, row, Some("*")),
            (Action::Merge(body(), etag()), Method::Patch, row, Some("W/\"x\"")),
            (Action::Delete(IfMatch::Any), Method::Delete, row, Some("*")),
        ] {
            let is_insert = matches!(action, Action::Insert(_));
            let sent = action.body().cloned().unwrap_or_default();
            let request = service().write(&people(), "p", &operation("it's", action)).unwrap();
            assert_eq!((request.method, &*request.target), (method, target));
            assert_eq!(header(&request, "if-match"), if_match);
            assert_eq!(header(&request, "prefer").is_some(), is_insert);
            assert_eq!(header(&request, "content-type").is_some(), !sent.is_empty());
            assert_eq!(header(&request, "x-ms-version"), Some(API_VERSION));
            assert_eq!(request.body, sent);
        }
    }

    #[test]
    fn cosmos_takes_a_merge_as_a_post_and_returns_metadata() {
        let cosmos = TableService::new("https://acc.table.cosmos.azure.com", Dialect::Cosmos);
        let merge = operation("r", Action::InsertOrMerge(Bytes::from_static(b"{}")));
        let request = cosmos.write(&people(), "p", &merge).unwrap();
        assert_eq!(request.method, Method::Post);
        assert_eq!(header(&request, "x-http-method"), Some("MERGE"));
        let get = cosmos.get(&people(), "p", "r", None, Metadata::None).unwrap();
        assert_eq!(header(&get, "accept"), Some("application/json;odata=minimalmetadata"));
    }

    #[test]
    fn a_query_carries_every_parameter_encoded() {
        let keys = KeyRange { partition: Span::Exact("O'B & Co".into()), row: Span::All };
        let query = RowQuery {
            filter: Some(Filter::compare("City", Comparison::Equal, "a#b+c")),
            select: Some(vec!["RowKey".into(), "City".into()]),
            top: Some(10),
            continuation: Some(Continuation {
                next_partition_key: Some("1!8!cA==".into()),
                next_row_key: Some("1!4!cg--".into()),
            }),
            metadata: Metadata::Minimal,
            ..RowQuery::new(people(), keys)
        };
        let request = service().query(&query).unwrap();
        assert_eq!(
            request.target,
            "/People()?$filter=PartitionKey%20eq%20%27O%27%27B%20%26%20Co%27%20and%20City%20eq\
             %20%27a%23b%2Bc%27&$select=RowKey,City&$top=10&NextPartitionKey=1%218%21cA%3D%3D\
             &NextRowKey=1%214%21cg--"
        );
        assert_eq!(header(&request, "accept"), Some("application/json;odata=minimalmetadata"));
        let all = service().query(&RowQuery::new(people(), KeyRange::ALL)).unwrap();
        assert_eq!(all.target, "/People()");
        assert_eq!(header(&all, "accept"), Some("application/json;odata=nometadata"));
    }

    #[test]
    fn text_that_would_change_a_request_is_refused() {
        let all = || RowQuery::new(people(), KeyRange::ALL);
        let name = || {
            Some(Filter::compare("A eq 1 or B", Comparison::Equal, 1).and(Filter::compare(
                "C",
                Comparison::Equal,
                1,
            )))
        };
        let code = |query: RowQuery| service().query(&query).unwrap_err().code;
        assert_eq!(code(RowQuery { filter: name(), ..all() }), ErrorCode::PROPERTY_NAME_INVALID);
        let select = Some(vec!["A&$top=1".into()]);
        assert_eq!(code(RowQuery { select, ..all() }), ErrorCode::PROPERTY_NAME_INVALID);
        assert_eq!(code(RowQuery { top: Some(1001), ..all() }), ErrorCode::INVALID_INPUT);
        let continuation = Some(Continuation::default());
        assert_eq!(code(RowQuery { continuation, ..all() }), ErrorCode::INVALID_INPUT);
        let etag = IfMatch::ETag(ETag::new("x\r\nx-ms-version: 1"));
        let delete = operation("r", Action::Delete(etag));
        let error = service().write(&people(), "p", &delete).unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_INPUT);
        let any = operation("r", Action::Delete(IfMatch::ETag(ETag::new("*"))));
        let error = service().write(&people(), "p", &any).unwrap_err();
        assert_eq!(error.code, ErrorCode::UPDATE_CONDITION_NOT_SATISFIED);
        let error = service().get(&people(), "a/b", "r", None, Metadata::None).unwrap_err();
        assert_eq!(error.code, ErrorCode::OUT_OF_RANGE_INPUT);
    }

    #[test]
    fn a_transaction_is_one_multipart_body() {
        let transaction = Batch {
            partition_key: "p".into(),
            operations: vec![
                operation("a", Action::Insert(Bytes::from_static(br#"{"A":1}"#))),
                operation("b", Action::Delete(IfMatch::Any)),
            ],
        };
        let request = service().commit(&people(), &transaction).unwrap();
        assert_eq!(request.target, "/$batch");
        assert_eq!(header(&request, "content-type"), Some("multipart/mixed; boundary=batch_1"));
        let part = "--changeset_1\r\nContent-Type: application/http\r\n\
                    Content-Transfer-Encoding: binary\r\n\r\n";
        let common = "HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\n\
                      DataServiceVersion: 3.0\r\n";
        let expected = format!(
            "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n\
             {part}POST https://acc.table.core.windows.net/People {common}\
             Prefer: return-no-content\r\nContent-Type: application/json\r\n\r\n\
             {{\"PartitionKey\":\"p\",\"RowKey\":\"a\",\"A\":1}}\r\n\
             {part}DELETE https://acc.table.core.windows.net/People(PartitionKey='p',RowKey='b') \
             {common}If-Match: *\r\n\r\n\r\n\
             --changeset_1--\r\n--batch_1--\r\n"
        );
        assert_eq!(std::str::from_utf8(&request.body).unwrap(), expected);
    }

    #[test]
    fn a_transaction_over_a_limit_is_refused() {
        let insert =
            |row: usize, body: Vec<u8>| operation(&row.to_string(), Action::Insert(body.into()));
        let rejected = |operations: Vec<Operation>| {
            let transaction = Batch { partition_key: "p".into(), operations };
            service().commit(&people(), &transaction).unwrap_err()
        };
        let error = rejected((0..101).map(|row| insert(row, b"{}".to_vec())).collect());
        assert_eq!((error.code, error.operation), (ErrorCode::INVALID_INPUT, Some(99)));
        assert_eq!(rejected(Vec::new()).code, ErrorCode::INVALID_INPUT);
        let error = rejected(vec![insert(1, b"{}".to_vec()), insert(1, b"{}".to_vec())]);
        assert_eq!((error.code, error.operation), (ErrorCode::INVALID_DUPLICATE_ROW, Some(1)));
        let large = format!(r#"{{"A":"{}"}}"#, "x".repeat(1_048_500)).into_bytes();
        let error = rejected((0..4).map(|row| insert(row, large.clone())).collect());
        assert_eq!(error.code, ErrorCode::REQUEST_BODY_TOO_LARGE);
        assert!(large.len() * 4 < MAX_TRANSACTION_BYTES, "framing counts");
    }

    /// One write of any kind, of a row with that key.
    fn any_operation() -> impl Strategy<Value = Operation> {
        let body = prop::collection::btree_map("[A-Z][a-z]{0,4}", any::<String>(), 0..4);
        let etag = prop_oneof![
            Just(IfMatch::Any),
            "[!-~]{2,40}".prop_map(|etag| { IfMatch::ETag(ETag::new(etag)) })
        ];
        ("[^/\\\\#?\\pC]{0,40}", 0..6, body, etag).prop_map(|(row_key, kind, body, etag)| {
            let body = Bytes::from(serde_json::to_vec(&body).unwrap());
            operation(
                &row_key,
                match kind {
                    0 => Action::Insert(body),
                    1 => Action::InsertOrReplace(body),
                    2 => Action::InsertOrMerge(body),
                    3 => Action::Replace(body, etag),
                    4 => Action::Merge(body, etag),
                    _ => Action::Delete(etag),
                },
            )
        })
    }

    proptest! {
        #[test]
        fn a_transaction_takes_as_many_bytes_as_were_counted(
            operations in prop::collection::vec(any_operation(), 1..8),
            partition_key in "[^/\\\\#?\\pC]{0,40}",
            is_cosmos in any::<bool>(),
        ) {
            let mut operations = operations;
            let mut seen = std::collections::HashSet::new();
            operations.retain(|operation| seen.insert(operation.row_key.clone()));
            let dialect = if is_cosmos { Dialect::Cosmos } else { Dialect::Storage };
            let service = TableService::new("http://127.0.0.1:10002/devstoreaccount1", dialect);
            let count = |operations: &[Operation]| {
                service.commit_bytes(&people(), &partition_key, operations).unwrap()
            };
            let all = count(&operations);
            let frame = count(&[]);
            let each = operations.iter().map(|one| count(std::slice::from_ref(one)) - frame);
            prop_assert_eq!(frame + each.sum::<usize>(), all, "they add up");
            prop_assert!(all <= crate::store::estimated_bytes(&partition_key, &operations));
            let batch = Batch { partition_key: partition_key.clone(), operations };
            let request = service.commit(&people(), &batch).unwrap();
            prop_assert_eq!(request.body.len(), all);
        }

        #[test]
        fn no_value_reaches_past_its_place(
            text in any::<String>(),
            name in any::<String>(),
            token in any::<String>(),
        ) {
            let keys = KeyRange { partition: Span::Exact(text.clone()), row: Span::All };
            let query = RowQuery {
                filter: Some(Filter::compare(name.clone(), Comparison::Equal, text.clone())),
                continuation: Some(Continuation {
                    next_partition_key: Some(token.clone()),
                    next_row_key: None,
                }),
                ..RowQuery::new(people(), keys)
            };
            let built = service().query(&query);
            prop_assert_eq!(built.is_ok(), is_property_name(&name));
            if let Ok(request) = built {
                let query = request.target.strip_prefix("/People()?").unwrap();
                prop_assert!(query.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'));
                let parameters: Vec<_> = query.split('&').collect();
                prop_assert_eq!(parameters.len(), 2);
                prop_assert!(parameters.iter().all(|parameter| parameter.matches('=').count() == 1));
            }
            if let Ok(request) = service().get(&people(), &text, "r", None, Metadata::None) {
                let key = request.target.strip_prefix("/People(PartitionKey='").unwrap();
                let key = key.strip_suffix("',RowKey='r')").unwrap();
                prop_assert!(key.bytes().all(
                    |byte| byte.is_ascii_alphanumeric() || b"%-_.~".contains(&byte)
                ));
            }
        }
    }
}
