//! The span and the event of a call.

use super::call::{batch_size, operation, summary};
use super::done::Done;
use crate::layer::pattern::pattern;
use crate::model::TableName;
use crate::store::{Backend, StoreRequest};
use std::borrow::Cow;
use std::time::Duration;
use tracing::Span;
use tracing::field::Empty;

pub(super) fn open(backend: &Backend, request: &StoreRequest<'_>) -> Span {
    if !tracing::enabled!(target: "table_orm", tracing::Level::INFO) {
        return Span::none();
    }
    let (operation, summary) = (operation(request), summary(request));
    let table = request.table.map(TableName::as_str);
    let name = match (&summary, table) {
        (Some(summary), _) => Cow::Borrowed(summary.as_str()),
        (None, Some(table)) => Cow::Owned(format!("{operation} {table}")),
        (None, None) => operation.clone(),
    };
    tracing::info_span!(
        target: "table_orm",
        "table_orm.call",
        otel.name = &*name,
        otel.kind = if backend.in_process { "internal" } else { "client" },
        otel.status_code = Empty,
        db.system.name = &*backend.system,
        db.namespace = backend.namespace.as_deref(),
        server.address = backend.address.as_deref(),
        server.port = backend.port,
        db.collection.name = table,
        db.operation.name = &*operation,
        db.operation.batch.size = batch_size(request),
        db.query.summary = summary.as_deref(),
        db.query.text = query_text(request).as_deref(),
        db.response.returned_rows = Empty,
        db.response.status_code = Empty,
        error.type = Empty,
        azure.service.request.id = Empty,
        table_orm.pattern = pattern(),
        table_orm.query.class = request.class.map(tracing::field::display),
        table_orm.rows.scanned = Empty,
        table_orm.from_secondary = Empty,
        table_orm.requests = Empty,
        table_orm.retries = Empty,
        table_orm.throttles = Empty,
        table_orm.bytes.sent = request.bytes,
        table_orm.bytes.received = Empty,
    )
}

/// `db.query.text`: the condition on keys and properties, with `?` for each value.
fn query_text(request: &StoreRequest<'_>) -> Option<Cow<'static, str>> {
    match request.query {
        Some(query) => Some(query.filter_without_values()?.into()),
        None if request.operation == "get" => Some("PartitionKey eq ? and RowKey eq ?".into()),
        None => None,
    }
}

pub(super) fn close(span: &Span, done: &Done<'_>, time: Duration) {
    span.record("table_orm.requests", done.requests);
    span.record("table_orm.retries", done.requests - 1);
    span.record("table_orm.throttles", done.throttles);
    span.record("table_orm.bytes.received", done.received);
    if let Some(returned) = done.returned {
        span.record("db.response.returned_rows", returned);
    }
    if let Some(scanned) = done.scanned {
        span.record("table_orm.rows.scanned", scanned);
    }
    if let Some(id) = &done.request_id {
        span.record("azure.service.request.id", &**id);
    }
    if done.from_secondary {
        span.record("table_orm.from_secondary", true);
    }
    if let Some(error) = done.error {
        span.record("otel.status_code", "ERROR");
        span.record("error.type", error.code.as_str());
    }
    if let Some(status) = done.status_code() {
        span.record("db.response.status_code", &*status);
    }
    if let Some((returned, scanned)) = done.sparse() {
        tracing::event!(
            target: "table_orm",
            parent: span,
            tracing::Level::WARN,
            db.client.operation.duration = time.as_secs_f64(),
            db.response.returned_rows = returned,
            table_orm.rows.scanned = scanned,
            "the page returns less than a tenth of the rows looked at; query by a key instead of a filter"
        );
    } else {
        tracing::event!(
            target: "table_orm",
            parent: span,
            tracing::Level::INFO,
            db.client.operation.duration = time.as_secs_f64(),
            "the call ended"
        );
    }
}
