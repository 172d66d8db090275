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
pub const KIND: &str = "kind";
pub const SUMS: &str = "sums";
pub const MAX: &str = "max";
pub const MAX_LEN: &str = "max_len";
pub const NAME: &str = "name";
pub const OF: &str = "of";
pub const PARTITION: &str = "partition";
pub const RENAME: &str = "rename";
pub const RENAME_ALL: &str = "rename_all";
pub const SERIES: &str = "series";
pub const SKIP: &str = "skip";
pub const SLOTS: &str = "slots";
pub const TIMESTAMP: &str = "timestamp";
pub const UNIQUE: &str = "unique";
pub const WHEN: &str = "when";

/// The name of an attribute, and what it takes in one place.
pub type Attribute = (&'static str, &'static [&'static str]);

/// On an entity.
pub const ON_ENTITY: Attribute = (
    TABLE,
    &[NAME, PARTITION, ROW, UNIQUE, KIND, SUMS, CRATE, ESCAPE, RENAME_ALL, ALLOW_APPEND_ONLY],
);
/// After the name of a row.
pub const ON_ROW: Attribute = (ROW, &[KEY, INCLUDE, EXCLUDE, WHEN, CANONICAL]);
/// After the names in `unique(..)`.
pub const ON_UNIQUE: Attribute = (UNIQUE, &[KEY]);
/// On a field of an entity or of a group of properties.
pub const ON_FIELD: Attribute = (
    TABLE,
    &[RENAME, SKIP, DEFAULT, JSON, SERIES, FLATTEN, KEY_ONLY, MAX_LEN, MAX, ETAG, TIMESTAMP],
);
/// On a struct of properties.
pub const ON_PROPERTIES: Attribute = (TABLE, &[CRATE, RENAME_ALL]);
/// On an enum or a newtype.
pub const ON_KEY_PART: Attribute = (KEY, &[CRATE]);
/// On a union.
pub const ON_UNION: Attribute = (TABLE, &[CRATE]);
/// On a projection.
pub const ON_PROJECTION: Attribute = (PROJECTION, &[OF, CRATE]);
/// On a field of a projection.
pub const ON_PROJECTED_FIELD: Attribute = (PROJECTION, &[DEFAULT, JSON, SERIES, SLOTS]);

/// Encoders of `#[component(..)]`.
pub const ENCODERS: &[&str] = &["desc", "asc", "biased", "lower", "shard", "with"];

/// The properties that the service writes on every row.
pub const SYSTEM_PROPERTIES: [&str; 3] = ["PartitionKey", "RowKey", "Timestamp"];
/// The properties that table-orm marks rows with.
pub const RESERVED_PROPERTIES: [&str; 4] = ["Moved_To", "Moved_From", "Moved_Etag", "Entity_Kind"];
/// What the RowKeys of guard rows begin with, unless they have a template of their own.
pub const GUARD_START: &str = "UNQ:";
/// What the RowKeys of other helper rows begin with.
pub const HELPER_STARTS: [&str; 5] = ["DUE:", "MOV:", "SEQ:", "SUM:", "TKT:"];
