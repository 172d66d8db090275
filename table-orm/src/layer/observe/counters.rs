//! The counters of a call, and the histogram of its duration.

use super::call::{operation, summary};
use super::done::Done;
use crate::layer::pattern::pattern;
use crate::model::TableName;
use crate::store::{Backend, StoreRequest};
use metrics::{Label, Unit};
use std::time::Duration;

const DURATION: &str = "db.client.operation.duration";

/// Gives the recorder the unit of the histogram.
pub(super) fn describe() {
    metrics::describe_histogram!(
        DURATION,
        Unit::Seconds,
        "Duration of database client operations."
    );
}

pub(super) fn count(
    backend: &Backend,
    request: &StoreRequest<'_>,
    done: &Done<'_>,
    time: Duration,
) {
    let table = request.table.map_or("", TableName::as_str);
    let mut labels = vec![("table", table.to_owned()), ("operation", request.operation.to_owned())];
    labels.extend(pattern().map(|name| ("pattern", name.to_owned())));
    let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    metrics::counter!("table_orm.calls", &labels).increment(1);
    metrics::counter!("table_orm.errors", &labels).increment(done.error.is_some().into());
    metrics::counter!("table_orm.requests", &labels).increment(done.requests);
    metrics::counter!("table_orm.retries", &labels).increment(done.requests - 1);
    metrics::counter!("table_orm.throttles", &labels).increment(done.throttles);
    metrics::counter!("table_orm.rows.returned", &labels)
        .increment(wide(done.returned.unwrap_or_default()));
    metrics::counter!("table_orm.rows.scanned", &labels)
        .increment(wide(done.scanned.unwrap_or_default()));
    metrics::counter!("table_orm.bytes.sent", &labels).increment(wide(request.bytes));
    metrics::counter!("table_orm.bytes.received", &labels).increment(wide(done.received));
    metrics::histogram!(DURATION, duration_labels(backend, request, done)).record(time);
}

fn duration_labels(backend: &Backend, request: &StoreRequest<'_>, done: &Done<'_>) -> Vec<Label> {
    let mut labels = vec![
        Label::new("db.system.name", backend.system.clone().into_owned()),
        Label::new("db.operation.name", operation(request).into_owned()),
    ];
    let mut add = |name: &'static str, value: Option<String>| {
        labels.extend(value.map(|value| Label::new(name, value)));
    };
    add("db.collection.name", request.table.map(ToString::to_string));
    add("db.namespace", backend.namespace.as_deref().map(str::to_owned));
    add("db.query.summary", summary(request));
    add("table_orm.pattern", pattern().map(str::to_owned));
    add("db.response.status_code", done.status_code());
    add("error.type", done.error.map(|error| error.code.to_string()));
    add("server.address", backend.address.as_deref().map(str::to_owned));
    add("server.port", backend.port.map(|port| port.to_string()));
    labels
}
