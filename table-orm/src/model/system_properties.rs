//! The members that the service itself adds to a row's JSON object.

/// The property that holds a row's PartitionKey.
pub(crate) const PARTITION_KEY: &str = "PartitionKey";
/// The property that holds a row's RowKey.
pub(crate) const ROW_KEY: &str = "RowKey";
/// The property that holds the time of a row's last write.
pub(crate) const TIMESTAMP: &str = "Timestamp";
/// The properties that the service writes itself.
pub(crate) const SYSTEM_PROPERTIES: [&str; 3] = [PARTITION_KEY, ROW_KEY, TIMESTAMP];

/// The prefix of members that are metadata of the row.
pub(crate) const METADATA_PREFIX: &str = "odata.";
/// The metadata member that holds a row's ETag.
pub(crate) const ETAG_MEMBER: &str = "odata.etag";
/// The suffix that a property's name has in the member that annotates its type.
pub(crate) const TYPE_ANNOTATION: &str = "@odata.type";

/// Returns whether the service writes the property of this name itself.
pub(crate) fn is_system_property(name: &str) -> bool {
    SYSTEM_PROPERTIES.contains(&name)
}
