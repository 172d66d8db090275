//! When the entity of some rows expires.

use crate::entity::{EntityRows, TableEntity, expires_at, is_alive};
use crate::model::DateTime;
use crate::property::PropertyError;

/// Whether the entity of these rows has not expired at that instant; without an instant, it has not.
pub(super) fn is_alive_at<T: TableEntity>(rows: &EntityRows, now: Option<DateTime>) -> bool {
    rows.canonical().is_none_or(|row| is_alive::<T>(&row.body, now))
}

/// The instant at which the entity of these rows expires.
pub(super) fn expires<T: TableEntity>(
    rows: &EntityRows,
) -> Result<Option<DateTime>, PropertyError> {
    rows.canonical().map_or(Ok(None), |row| expires_at::<T>(&row.body))
}
