//! The attributes and what each takes, and the names that mean something in stored rows.

/// The name of an attribute, and what it takes in one place, separated by spaces.
pub type Attribute = (&'static str, &'static str);

pub const ON_ENTITY: Attribute = (
    "table",
    "name partition row unique kind sums outbox cache crate escape rename_all allow_append_only \
     allow_single_partition expires purge_index migrate_from bucket",
);
/// After the name of a row.
pub const ON_ROW: Attribute = (
    "row",
    "key include exclude when canonical each partition table eventual allow_duplicate \
     allow_key_conflict",
);
/// After the names in `unique(..)`.
pub const ON_UNIQUE: Attribute = ("unique", "key across table");
/// In `outbox(..)`.
pub const ON_OUTBOX: Attribute = ("outbox", "before after");
/// On a field of an entity or of a group of properties.
pub const ON_FIELD: Attribute = (
    "table",
    "rename alias skip default json series chunked overflow flatten key_only max_len max etag timestamp",
);
pub const ON_PROPERTIES: Attribute = ("table", "crate rename_all");
pub const ON_KEY_PART: Attribute = ("key", "crate grows");
pub const ON_UNION: Attribute = ("table", "crate");
pub const ON_PROJECTION: Attribute = ("projection", "of borrow crate");
pub const ON_PROJECTED_FIELD: Attribute = ("projection", "default json series slots chunked");

/// The method of complete canonical keys that takes the rows below, too.
pub const AND_BELOW: &str = "and_below";

/// The properties that the service writes on every row.
pub const SYSTEM_PROPERTIES: [&str; 3] = ["PartitionKey", "RowKey", "Timestamp"];
/// The properties that table-orm marks rows with.
pub const RESERVED_PROPERTIES: [&str; 5] =
    ["Moved_To", "Moved_From", "Moved_Etag", "Entity_Kind", "Entity_Table"];
/// What the RowKeys of guard rows begin with, unless they have a template of their own.
pub const GUARD_START: &str = "UNQ:";
/// What the keys of rows begin with that find expired entities, and the name of these rows.
pub const EXPIRY_START: &str = "EXP:";
pub const EXPIRY_ROW: &str = "expiry";
/// What the RowKeys of other helper rows begin with.
pub const HELPER_STARTS: [&str; 8] =
    ["DUE:", "EXP:", "LOB:", "MOV:", "OUT:", "SEQ:", "SUM:", "TKT:"];
