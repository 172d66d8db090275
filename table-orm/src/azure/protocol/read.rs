//! The result of each operation, read from its response.
//!
//! Invariant: an operation succeeded only if the response has one of the statuses that the protocol
//! defines for it. A proxy that answers every request with 200 and a page of its own is not taken
//! for the service.

use super::batch;
use super::message::WireResponse;
use crate::model::{Continuation, ETag, TableName};
use crate::store::{Action, ErrorCode, Operation, Page, StoreError, StoredRow};
use memchr::memmem;
use serde_json::Value;

impl WireResponse {
    /// Reads the response to the creation or deletion of a table, or to new CORS rules.
    ///
    /// # Errors
    /// Returns the service's error.
    pub fn done(self) -> Result<(), StoreError> {
        self.succeeded(&[201, 202, 204]).map(drop)
    }

    /// Reads a page of table names: the names, and the token of the next page.
    ///
    /// # Errors
    /// Returns the service's error, or one for a body that is not a page of table names.
    pub fn table_names(self) -> Result<(Vec<TableName>, Option<String>), StoreError> {
        let response = self.succeeded(&[200])?;
        let unrecognized = || response.unrecognized("a body that is not a page of table names");
        let page: Value = serde_json::from_slice(&response.body)
            .map_err(|error| unrecognized().caused_by(error))?;
        let tables = page.get("value").and_then(Value::as_array).ok_or_else(unrecognized)?;
        if !tables.iter().all(Value::is_object) {
            return Err(unrecognized());
        }
        // The service's own tables start with `$`, which a `TableName` cannot.
        let name = |table: &Value| TableName::new(table.get("TableName")?.as_str()?).ok();
        Ok((tables.iter().filter_map(name).collect(), response.next_table_name))
    }

    /// Reads the response to a point query; `None` when the row does not exist.
    ///
    /// # Errors
    /// Returns the service's error, or one for a body that is not a row.
    pub fn row(self) -> Result<Option<StoredRow>, StoreError> {
        if self.status == 404 {
            let fault = self.fault();
            let absent = matches!(fault.code.as_str(), "ResourceNotFound" | "EntityNotFound");
            return if absent { Ok(None) } else { Err(fault) };
        }
        let mut response = self.succeeded(&[200])?;
        match response.etag.take() {
            Some(etag) if response.holds_object() => {
                Ok(Some(StoredRow { body: response.body, header: Some(ETag::new(etag)) }))
            }
            _ => Err(response.unrecognized("a body that is not a row, or without an ETag")),
        }
    }

    /// Reads the response to a query.
    ///
    /// # Errors
    /// Returns the service's error, or one for a body that is not a page of rows.
    pub fn page(self) -> Result<Page, StoreError> {
        let response = self.succeeded(&[200])?;
        if !is_page(&response.body) {
            return Err(response.unrecognized("a body that is not a page of rows"));
        }
        let Self { body, next_partition_key, next_row_key, .. } = response;
        let continuation = (next_partition_key.is_some() || next_row_key.is_some())
            .then_some(Continuation { next_partition_key, next_row_key });
        Ok(Page { body, continuation, scanned: None })
    }

    /// Reads the response to a write: the row's new ETag.
    ///
    /// # Errors
    /// Returns the service's error.
    pub fn written(self, action: &Action) -> Result<Option<ETag>, StoreError> {
        let response = self.succeeded(&[201, 204])?;
        new_etag(action, response.etag.as_deref()).ok_or_else(|| response.lacks_etag())
    }

    /// Reads the response to an entity group transaction: the new ETag of each operation's row.
    ///
    /// # Errors
    /// Returns the service's error with the index of the failed operation. When the answer does not
    /// cover every operation, the error leaves open whether the transaction took effect.
    pub fn committed(self, operations: &[Operation]) -> Result<Vec<Option<ETag>>, StoreError> {
        let response = self.succeeded(&[202])?;
        let parts: Vec<_> = batch::parts(&response.body).collect();
        if let Some(failed) = parts.iter().find(|part| !part.is_success()) {
            let mut error = failed.response().operation_fault();
            if let [_] = operations {
                error.operation.get_or_insert(0);
            }
            error.request_id = error.request_id.or(response.request_id.map(Into::into));
            error.retry_after = error.retry_after.or(response.retry_after);
            return Err(error);
        }
        if parts.len() != operations.len() {
            let (parts, operations) = (parts.len(), operations.len());
            let message = format!(
                "the answer to a transaction of {operations} operations has {parts} parts; read the \
                 rows to see whether it took effect"
            );
            return Err(response.unreadable(message));
        }
        let etags = parts.into_iter().zip(operations);
        let etags = etags.map(|(part, operation)| new_etag(&operation.action, part.etag()));
        etags.collect::<Option<_>>().ok_or_else(|| response.lacks_etag())
    }

    /// Returns the response if it has one of the statuses of success.
    pub(crate) fn succeeded(self, statuses: &[u16]) -> Result<Self, StoreError> {
        if statuses.contains(&self.status) {
            Ok(self)
        } else if self.is_success() {
            Err(self.unrecognized("an answer to another request"))
        } else {
            Err(self.fault())
        }
    }

    /// The error of a write without the version of its row: what is stored has to be read.
    fn lacks_etag(&self) -> StoreError {
        let message = "the answer to a write states no ETag; something between may have removed it";
        StoreError { code: ErrorCode::NO_ETAG, ..self.unreadable(message) }
    }

    fn holds_object(&self) -> bool {
        self.body.trim_ascii_start().starts_with(b"{")
    }
}

/// Whether a body is an object whose `value` is a list of objects, as far as its start and its end show.
fn is_page(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    let Some(mut value) = memmem::find(body, b"\"value\"").map(|at| &body[at + 7..]) else {
        return false;
    };
    let starts = [&b":"[..], b"[", b"{]"].into_iter().all(|expected| {
        let found = value.trim_ascii_start().split_first();
        found.is_some_and(|(mark, rest)| {
            value = rest;
            expected.contains(mark)
        })
    });
    starts && body.starts_with(b"{") && body.ends_with(b"}")
}

/// Returns the row's new version; a deleted row has none. `None` where a version is missing.
fn new_etag(action: &Action, stated: Option<&str>) -> Option<Option<ETag>> {
    match action {
        Action::Delete(_) => Some(None),
        _ => stated.filter(|etag| !etag.is_empty()).map(|etag| Some(ETag::new(etag))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::IfMatch;
    use bytes::Bytes;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> WireResponse {
        WireResponse::new(status, headers.iter().copied(), Bytes::copy_from_slice(body.as_bytes()))
    }

    fn error(code: &str, message: &str) -> String {
        format!(r#"{{"odata.error":{{"code":"{code}","message":{{"value":"{message}"}}}}}}"#)
    }

    fn two() -> Vec<Operation> {
        let insert = Action::Insert(Bytes::from_static(b"{}"));
        vec![
            Operation { row_key: "a".into(), action: insert },
            Operation { row_key: "b".into(), action: Action::Delete(IfMatch::Any) },
        ]
    }

    #[test]
    fn an_absent_row_is_none_and_an_absent_table_an_error() {
        let absent = answer(404, &[], &error("ResourceNotFound", "m"));
        assert_eq!(absent.row().unwrap(), None);
        let absent = answer(404, &[], &error("TableNotFound", "m"));
        assert_eq!(absent.row().unwrap_err().code, ErrorCode::TABLE_NOT_FOUND);
        // A proxy's 404 says nothing about the row.
        assert!(answer(404, &[], "<html>not found</html>").row().is_err());
        let row = answer(200, &[("ETag", "W/\"x\"")], "{}").row().unwrap().unwrap();
        assert_eq!(row.etag().unwrap(), ETag::new("W/\"x\""));
    }

    #[test]
    fn a_page_of_another_server_is_not_a_success() {
        let page = |status| answer(status, &[("ETag", "x")], "<html>Please log in</html>");
        let errors = [
            page(200).done().unwrap_err(),
            page(200).written(&Action::Delete(IfMatch::Any)).unwrap_err(),
            page(200).written(&Action::Insert(Bytes::new())).unwrap_err(),
            page(200).committed(&two()).unwrap_err(),
            page(200).row().unwrap_err(),
            page(204).row().unwrap_err(),
            page(200).page().unwrap_err(),
            page(202).page().unwrap_err(),
            page(200).table_names().unwrap_err(),
        ];
        for error in errors {
            assert_eq!((error.code.as_str(), error.status), ("UnreadableAnswer", 0), "{error}");
            assert!(error.message.ends_with("at this endpoint?"), "{error}");
        }
        for status in [201, 202, 204] {
            answer(status, &[], "").done().unwrap();
        }
        for status in [201, 204] {
            let insert = Action::Insert(Bytes::new());
            let written = answer(status, &[("ETag", "x")], "").written(&insert).unwrap();
            assert_eq!(written, Some(ETag::new("x")));
            // What is stored then has to be read.
            for headers in [&[][..], &[("ETag", "")]] {
                let error = answer(status, headers, "").written(&insert).unwrap_err();
                assert_eq!((error.code, error.status), (ErrorCode::NO_ETAG, 0));
            }
            let delete = Action::Delete(IfMatch::Any);
            assert_eq!(answer(status, &[], "").written(&delete).unwrap(), None);
        }
    }

    #[test]
    fn continuation_headers_are_independent() {
        let page =
            answer(200, &[("x-ms-continuation-NextPartitionKey", "p")], r#"{"value":[]}"#).page();
        let expected = Continuation { next_partition_key: Some("p".into()), next_row_key: None };
        assert_eq!(page.unwrap().continuation.as_ref(), Some(&expected));
        assert_eq!(answer(200, &[], r#"{"value":[]}"#).page().unwrap().continuation, None);
        let [partition, row] =
            ["x-ms-continuation-NextPartitionKey", "x-ms-continuation-NextRowKey"];
        let page = answer(200, &[(partition, "p"), (row, "")], r#"{"value":[]}"#).page();
        assert_eq!(page.unwrap().continuation, Some(expected));
        let page = answer(200, &[(partition, ""), (row, "")], r#"{"value":[]}"#).page();
        assert_eq!(page.unwrap().continuation, None);
    }

    #[test]
    fn a_page_of_another_program_is_no_page_of_rows() {
        for page in [
            r#"{"value":[]}"#,
            " {\n\"odata.metadata\":\"http://a/$metadata#t\", \"value\" : [ {\"A\":1}]}\n",
            r#"{"value":[{}],"odata.metadata":"value"}"#,
        ] {
            assert!(answer(200, &[], page).page().is_ok(), "{page}");
        }
        for other in [
            "",
            "{}",
            "[]",
            "<html>",
            r#"{"value":"x"}"#,
            r#"{"value":[1,2]}"#,
            r#"{"value":{}}"#,
            r#"{"value":["#,
            r#"{"value":[{"A":1"#,
            r#"{"values":[]}"#,
            r#""value":[]}"#,
        ] {
            assert_eq!(answer(200, &[], other).page().unwrap_err().status, 0, "{other}");
        }
    }

    #[test]
    fn table_names_come_with_their_token() {
        let body = r#"{"value":[{"TableName":"abc"},{"TableName":"$MetricsHour"}]}"#;
        let headers = [("x-ms-continuation-NextTableName", "n")];
        let (names, next) = answer(200, &headers, body).table_names().unwrap();
        assert_eq!(names, [TableName::new("abc").unwrap()]);
        assert_eq!(next.as_deref(), Some("n"));
        assert!(answer(200, &[], "{}").table_names().is_err());
        assert!(answer(200, &[], r#"{"value":[{"TableName":"abc"},1]}"#).table_names().is_err());
        assert!(answer(200, &[], "").table_names().is_err());
    }

    #[test]
    fn a_transaction_is_answered_operation_by_operation() {
        let part = "--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 204 No Content\r\n\
                    ETag: W/\"1\"\r\n\r\n\r\n";
        let etags = answer(202, &[], &format!("{part}{part}--c--")).committed(&two()).unwrap();
        assert_eq!(etags, [Some(ETag::new("W/\"1\"")), None]);
        for body in [String::new(), part.to_owned(), part.repeat(3)] {
            let error = answer(202, &[], &body).committed(&two()).unwrap_err();
            assert_eq!((error.code.as_str(), error.status), ("UnreadableAnswer", 0));
        }
    }

    #[test]
    fn a_failed_transaction_names_the_operation() {
        let failed = |message: &str, operations: &[Operation]| {
            let body = error("EntityAlreadyExists", message);
            let part = format!("--c\r\n\r\nHTTP/1.1 409 Conflict\r\n\r\n{body}\r\n--c--");
            let headers = [("x-ms-request-id", "outer")];
            answer(202, &headers, &part).committed(operations).unwrap_err()
        };
        let error = failed("1:It exists.", &two());
        assert_eq!(error.code, ErrorCode::ENTITY_ALREADY_EXISTS);
        assert_eq!((error.operation, error.status), (Some(1), 409));
        assert_eq!(error.request_id.as_deref(), Some("outer"));
        assert_eq!(failed("It exists.", &two()).operation, None);
        assert_eq!(failed("It exists.", &two()[..1]).operation, Some(0));
    }

    #[test]
    fn a_rejection_of_the_whole_transaction_is_read_too() {
        let body = error("RequestBodyTooLarge", "m");
        let error = answer(413, &[], &body).committed(&two()).unwrap_err();
        assert_eq!(error.code, ErrorCode::REQUEST_BODY_TOO_LARGE);
    }
}
