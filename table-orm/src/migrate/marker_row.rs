//! The row that takes the place of an old row for ever.

use crate::entity::{DynamicEntity, Marker};
use crate::model::MOVED_TO;
use crate::plan::CanonicalKey;
use crate::property::PropertyError;
use bytes::Bytes;

/// The JSON object of a marker at an old key.
pub(super) fn marker_row(marker: &Marker, key: &CanonicalKey) -> Result<Bytes, PropertyError> {
    DynamicEntity::new(&key.partition_key, &key.row_key).with(MOVED_TO, marker.text()).body()
}
