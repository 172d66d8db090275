//! The names of attributes and of their parts.

pub const TABLE: &str = "table";
pub const ROW: &str = "row";
pub const COMPONENT: &str = "component";
pub const KEY: &str = "key";
pub const PROJECTION: &str = "projection";

pub const ALLOW_APPEND_ONLY: &str = "allow_append_only";
pub const CANONICAL: &str = "canonical";
pub const CRATE: &str = "crate";
pub const DEFAULT: &str = "default";
pub const ESCAPE: &str = "escape";
pub const ETAG: &str = "etag";
pub const EXCLUDE: &str = "exclude";
pub const FLATTEN: &str = "flatten";
pub const INCLUDE: &str = "include";
pub const JSON: &str = "json";
pub const KEY_ONLY: &str = "key_only";
pub const MAX: &str = "max";
pub const MAX_LEN: &str = "max_len";
pub const NAME: &str = "name";
pub const OF: &str = "of";
pub const PARTITION: &str = "partition";
pub const RENAME: &str = "rename";
pub const RENAME_ALL: &str = "rename_all";
pub const SERIES: &str = "series";
pub const SKIP: &str = "skip";
pub const TIMESTAMP: &str = "timestamp";
pub const UNIQUE: &str = "unique";
pub const WHEN: &str = "when";

/// In `#[table(..)]` on an entity.
pub const ON_ENTITY: &[&str] =
    &[NAME, PARTITION, ROW, UNIQUE, CRATE, ESCAPE, RENAME_ALL, ALLOW_APPEND_ONLY];
/// In `#[row(..)]`, after its name.
pub const ON_ROW: &[&str] = &[KEY, INCLUDE, EXCLUDE, WHEN, CANONICAL];
/// In `#[table(..)]` on a field.
pub const ON_FIELD: &[&str] =
    &[RENAME, SKIP, DEFAULT, JSON, SERIES, FLATTEN, KEY_ONLY, MAX_LEN, MAX, ETAG, TIMESTAMP];
/// In `#[table(..)]` on a struct of properties.
pub const ON_PROPERTIES: &[&str] = &[CRATE, RENAME_ALL];
/// In `#[key(..)]` on an enum or a newtype.
pub const ON_KEY_PART: &[&str] = &[CRATE];
/// In `#[table(..)]` on a union.
pub const ON_UNION: &[&str] = &[CRATE];
/// In `#[projection(..)]` on a struct.
pub const ON_PROJECTION: &[&str] = &[OF, CRATE];
/// In `#[projection(..)]` on a field.
pub const ON_PROJECTED_FIELD: &[&str] = &[DEFAULT, JSON];

/// Encoders of `#[component(..)]`.
pub const ENCODERS: &[&str] = &["desc", "asc", "biased", "lower", "shard", "with"];

/// The properties that the service writes on every row.
pub const SYSTEM_PROPERTIES: [&str; 3] = ["PartitionKey", "RowKey", "Timestamp"];
