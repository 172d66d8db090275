//! Why an entity whose stored key changes cannot be read or written.

/// Why an entity whose stored key changes cannot be read or written. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MigrationError {
    /// A `save` or `update` changed a field of the canonical key.
    #[error(
        "cannot save `{entity}`: its key changed from {from} to {to}, and entities keep their keys while they \
         are migrated; nothing was written: insert it under the new key, then delete the old one"
    )]
    KeyChanged {
        /// The entity's type name.
        entity: &'static str,
        /// The PartitionKey and the RowKey of the canonical row, such as `"oslo" / "ORD:1"`.
        from: String,
        /// Those of the entity as it is now.
        to: String,
    },
    /// The conversion between the two types does not keep the fields of the key.
    #[error(
        "`{entity}` with the new key {new} has the old key {old}, but the conversion between the two types makes \
         {made}; nothing was written: correct the `From` implementations, which must keep every field of the key"
    )]
    KeyDiffers {
        /// The entity's type name.
        entity: &'static str,
        /// The PartitionKey and the RowKey of the new canonical row, such as `"oslo" / "ORD:1"`.
        new: String,
        /// The old ones that follow from them; `none` where no old key has these values.
        old: String,
        /// The old ones of the converted entity.
        made: String,
    },
    /// The conversion between the two types changes a value of `unique`, or the two types write it otherwise.
    #[error(
        "`{entity}` with the new key {new} has other unique values than in its old form, so another entity could take one \
         of them; nothing was written: keep the fields of `unique`, and how they are written, as they are in the old type"
    )]
    UniqueDiffers {
        /// The entity's type name.
        entity: &'static str,
        /// The PartitionKey and the RowKey of the new canonical row, such as `"oslo" / "ORD:1"`.
        new: String,
    },
    /// The conversion between the two types changes a field in the key of an `eventual` row, or the old form lacks the row.
    #[error(
        "`{entity}` with the new key {new} has its row `{row}` in another partition under other values than in its old \
         form, or has none in its old form, so a list by it would miss the entity; nothing was written: keep the fields of \
         its key, and when it is written, as they are in the old type"
    )]
    EventualRowDiffers {
        /// The entity's type name.
        entity: &'static str,
        /// The name of the row, such as `by_day`.
        row: &'static str,
        /// The PartitionKey and the RowKey of the new canonical row, such as `"oslo" / "ORD:1"`.
        new: String,
    },
    /// The old form of the entity does not hold all of it, and the client inserts the old form.
    #[error(
        "`{entity}` with the new key {new} is another entity after it is converted to its old form and back; nothing was \
         written: correct the `From` implementations, or write what the old form does not hold once your clients insert \
         the new one"
    )]
    Lossy {
        /// The entity's type name.
        entity: &'static str,
        /// The PartitionKey and the RowKey of the new canonical row, such as `"oslo" / "ORD:1"`.
        new: String,
    },
    /// The conversion between the two types changes the instant at which the entity expires.
    #[error(
        "`{entity}` with the new key {new} expires at another instant than in its old form; nothing was written: \
         correct the `From` implementations, which must keep the field of `expires`"
    )]
    ExpiryDiffers {
        /// The entity's type name.
        entity: &'static str,
        /// The PartitionKey and the RowKey of the new canonical row, such as `"oslo" / "ORD:1"`.
        new: String,
    },
    /// The conversion between the two types changes the period of the entity, and with it the table.
    #[error(
        "`{entity}` with the new key {new} is in the table of another period than its old form; nothing was written: \
         correct the `From` implementations, which must keep the time of `bucket`"
    )]
    PeriodDiffers {
        /// The entity's type name.
        entity: &'static str,
        /// The PartitionKey and the RowKey of the new canonical row, such as `"oslo" / "ORD:1"`.
        new: String,
    },
    /// A marker or a parcel has a content that this version of table-orm does not write.
    #[error(
        "row {row_key:?} of partition {partition_key:?} marks a move that `{entity}` does not know ({content:?}); \
         nothing was written: another migration or another program wrote it, so look at the row"
    )]
    UnknownMove {
        /// The entity's type name.
        entity: &'static str,
        /// The PartitionKey of the row.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
        /// What it says.
        content: String,
    },
    /// A list names no single new partition, or one whose old rows may be in any partition.
    #[error(
        "the old rows of `{entity}` that this list asks for are in more than one partition; nothing was read: use \
         `scan` with a permit, or wait until all entities have moved"
    )]
    ManyPartitions {
        /// The entity's type name.
        entity: &'static str,
    },
    /// `migrating_in` got one table for types of two tables, or two for types of one.
    #[error(
        "`{entity}` and its old form are declared in {tables}, but `migrating_in` got `{old}` for the old rows and \
         `{new}` for the new ones; nothing was sent: give as many tables as the types declare"
    )]
    TableCount {
        /// The entity's type name.
        entity: &'static str,
        /// `one table` or `two tables`: what the types declare.
        tables: &'static str,
        /// The table of the old rows.
        old: String,
        /// The table of the new rows.
        new: String,
    },
    /// `migrating_in` got tables with which the guards of one `unique(.., across)` would be in two tables.
    #[error(
        "`migrating_in` got tables with which `{entity}` keeps the guards of its `unique({unique}, across)` in `{new}`, and \
         its old form keeps them in `{old}`, so two entities could get one value; nothing was sent: name one table in both \
         types, `unique({unique}, across, table = \"..\")`"
    )]
    GuardTables {
        /// The entity's type name.
        entity: &'static str,
        /// The name of the `unique(.., across)`.
        unique: &'static str,
        /// The table of the guards of the old form.
        old: String,
        /// The table of the guards of the new form.
        new: String,
    },
    /// The last step of a move, which another client began, has no answer. Nothing of this call was written.
    #[error(
        "the last transaction of the move of `{entity}` to the new key {key} got no answer ({cause}); this \
         call wrote nothing, and the entity is not lost: call again"
    )]
    Unlanded {
        /// The entity's type name.
        entity: &'static str,
        /// The PartitionKey and the RowKey of the new canonical row, such as `"oslo" / "ORD:1"`.
        key: String,
        /// What the store said last.
        cause: String,
    },
    /// An entity cannot leave its parcel, because another row has the key of one of its new rows. Nothing of this call was
    /// written. Where that is an index row, the entity itself can be saved with another value, or deleted, unless its type
    /// has `outbox`.
    #[error(
        "the move of `{entity}` to the new key {key} cannot end: {}; nothing was written: {}, then call again, or run \
         `migrate`",
        taken(*index_row, taken_by),
        make_room(*index_row)
    )]
    RowTaken {
        /// The entity's type name.
        entity: &'static str,
        /// The PartitionKey and the RowKey of its new canonical row, such as `"oslo" / "ORD:1"`.
        key: String,
        /// The RowKey of the other row, in the same partition.
        taken_by: String,
        /// The index row of the entity that has this key. Reads give the entity meanwhile. `None` for the canonical row:
        /// reads give the other row.
        index_row: Option<&'static str>,
    },
    /// A step before a transaction has no answer: the move of an entity, or the marker of one to insert.
    #[error(
        "cannot prepare `{entity}` with the new key {key} for the transaction: the store does not answer ({cause}); \
         nothing of the transaction was written, and no entity is lost: run it again"
    )]
    Unprepared {
        /// The entity's type name.
        entity: &'static str,
        /// The PartitionKey and the RowKey of the new canonical row, such as `"oslo" / "ORD:1"`.
        key: String,
        /// What the store said last.
        cause: String,
    },
    /// A client that inserts the old form would have to write rows of several partitions in one transaction.
    #[error(
        "the old rows of the `{entity}` of this transaction are in more than one partition; nothing was written: write \
         them one by one until your clients insert the new form, whose rows are in one partition"
    )]
    OldPartitions {
        /// The entity's type name.
        entity: &'static str,
    },
    /// `retire` found entities that are not in their new form.
    #[error(
        "cannot delete the markers of `{entity}`: its migration has not ended, because {left} of its old rows are left, such \
         as {row_key:?} in partition {partition_key:?}; they stay: run `migrate`, then `verify_migrated`, which names each \
         of them and what is to be settled; for rows that can never move, call `leave_unmoved`"
    )]
    NotMoved {
        /// The entity's type name.
        entity: &'static str,
        /// Entities in their old form or on their way, and old rows that cannot be read.
        left: u64,
        /// The PartitionKey of the first one's old row.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
    },
    /// The total of a sum cannot follow the entities from one form to the other.
    #[error(
        "the sum {sum:?} of `{entity}` cannot follow its entities while they are migrated: {reason}; nothing was sent: \
         remove it until the migration has ended, then call `repair_sums`"
    )]
    Sum {
        /// The entity's type name.
        entity: &'static str,
        /// The name of the sum.
        sum: &'static str,
        /// Why its total cannot follow.
        reason: &'static str,
    },
}

fn taken(index_row: Option<&str>, row_key: &str) -> String {
    match index_row {
        Some(row) => format!(
            "another entity has the key {row_key:?} of its row `{row}`, so it waits in its parcel, and reads give it"
        ),
        None => "another row is stored under this key, and reads give that row".to_owned(),
    }
}

const fn make_room(index_row: Option<&str>) -> &'static str {
    match index_row {
        Some(_) => "change or delete the other entity",
        None => "change the key of that row, or delete it",
    }
}

impl MigrationError {
    /// Whether the same call may succeed later.
    pub(super) const fn is_of_store(&self) -> bool {
        matches!(self, Self::Unlanded { .. } | Self::Unprepared { .. })
    }

    /// Whether another call or value may succeed.
    pub(super) const fn is_of_call(&self) -> bool {
        matches!(
            self,
            Self::KeyChanged { .. }
                | Self::ManyPartitions { .. }
                | Self::OldPartitions { .. }
                | Self::Lossy { .. }
                | Self::TableCount { .. }
                | Self::GuardTables { .. }
        )
    }
}
