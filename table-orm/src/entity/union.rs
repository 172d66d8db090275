//! Entities of several types in one partition, read into one enum.

use super::across::any_across;
use super::own_rows::OwnRows;
use super::{EventualTemplate, GuardTemplate, RowTemplate, TableEntity};
use crate::entity::Row;
use crate::key::KeyTemplate;
use crate::model::{Bucket, Metadata, is_same, reserved_start};
use crate::property::PropertyError;

/// An enum with one entity type in each variant: `#[derive(TableUnion)]`.
///
/// The derive writes this implementation; apps use it through
/// [`Tables::union`](crate::Tables::union).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a union of entities",
    label = "not a union",
    note = "derive it on an enum with one entity type in each variant: `#[derive(TableUnion)]`"
)]
pub trait TableUnion: Sized {
    /// The name for error messages.
    const NAME: &'static str;
    /// The table that holds all of them.
    const TABLE: &'static str;
    /// The entity types, in the order of the variants.
    const MEMBERS: &'static [UnionMember];

    /// Reads the canonical row of the entity type at `member` into its variant.
    ///
    /// # Errors
    /// When a property is missing or is not a value of its field's type.
    fn read_member(member: usize, row: &[u8]) -> Result<Self, PropertyError>;
}

/// One of the entity types of union `U`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of a variant of `{U}`",
    label = "a partition of another entity",
    note = "start from a partition of one of its entity types: `Entity::partition(..)`"
)]
pub trait MemberOf<U> {}

/// An entity type of a union.
#[derive(Debug, Clone, Copy)]
pub struct UnionMember {
    /// The type's name.
    pub entity: &'static str,
    /// The table it is stored in.
    pub table: &'static str,
    /// Its rows.
    pub rows: &'static [RowTemplate],
    /// Its guard rows.
    pub guards: &'static [GuardTemplate],
    /// Its rows in other partitions and tables.
    pub eventual: &'static [EventualTemplate],
    /// The canonical one among its rows.
    pub canonical: usize,
    /// The metadata that its properties need.
    pub metadata: Metadata,
    /// The kind that its rows are marked with.
    pub kind: Option<&'static str>,
    /// Whether its entities are still stored under the keys of another type too.
    migrates: bool,
    /// The length of the periods that have a table each.
    bucket: Option<Bucket>,
    /// Its canonical rows.
    pub(crate) own: OwnRows,
    /// The names of its sums.
    sums: &'static [&'static str],
    /// Whether its writes have events.
    has_events: bool,
}

impl UnionMember {
    /// The entity type `E`.
    #[must_use]
    pub const fn of<E: TableEntity>() -> Self {
        let canonical = <E::Canonical as Row>::INDEX;
        let (entity, table, own) = (E::NAME, E::TABLE, OwnRows::canonical::<E>());
        let (rows, guards, eventual) = (E::ROWS, E::GUARDS, E::EVENTUAL);
        let (metadata, kind, migrates) = (E::METADATA, E::KIND, E::MIGRATES);
        let (sums, has_events) = (E::SUM_NAMES, E::OUTBOX.is_some());
        let bucket = match E::BUCKET {
            Some(bucketing) => Some(bucketing.bucket()),
            None => None,
        };
        Self {
            entity,
            table,
            rows,
            guards,
            eventual,
            canonical,
            metadata,
            kind,
            migrates,
            bucket,
            own,
            sums,
            has_events,
        }
    }

    /// Does not compile if one of the types has two forms: a union would not see the old one.
    #[track_caller]
    pub(crate) const fn have_one_form(members: &[Self]) {
        let mut at = 0;
        while at < members.len() {
            assert!(
                !members[at].migrates,
                "a type of this union has `migrate_from`: its entities may still be stored under their old keys, \
                 which a union does not see; remove `migrate_from` when the migration has ended"
            );
            at += 1;
        }
    }

    /// Does not compile if one of the types has no table for each period of that length.
    #[track_caller]
    pub(crate) const fn have_periods_of(members: &[Self], length: Bucket) {
        let mut at = 0;
        while at < members.len() {
            let is_same = match members[at].bucket {
                Some(bucket) => bucket.digits() == length.digits(),
                None => false,
            };
            assert!(
                is_same,
                "a type of this union has a `bucket` that differs from that of the periods, so its entities are in \
                 other tables; give all types of the union the same one"
            );
            at += 1;
        }
    }

    /// Returns whether both are stored in one table. The fallback for an entity with a compile error has no
    /// table, so that it causes no second error.
    #[must_use]
    pub const fn shares_table(&self, other: &Self) -> bool {
        is_one_table(self.table, other.table)
    }

    /// Returns whether some rows of both are stored in one table.
    #[must_use]
    pub const fn shares_any_table(&self, other: &Self) -> bool {
        let mut left = 0;
        while left < self.templates() {
            let mut right = 0;
            while right < other.templates() {
                if is_one_table(self.table_of(left), other.table_of(right)) {
                    return true;
                }
                right += 1;
            }
            left += 1;
        }
        self.shares_table(other)
    }

    /// Returns whether no row of one type can be taken for one of the other: no RowKey reads as a template of
    /// both, or their rows are marked with different kinds. Guard rows must differ by their RowKeys in any
    /// case: two types with a common one would take values from each other.
    ///
    /// # Panics
    /// When helper rows of both could be taken for each other: those of two types with one name that reach across
    /// partitions or have events, and the totals of two sums with one name. As the app compiles, this is a
    /// compile error.
    #[must_use]
    #[track_caller]
    pub const fn differs(&self, other: &Self) -> bool {
        let shared = self.shared_helpers(other);
        let message = if let Some(message) = shared { message } else { "" };
        assert!(shared.is_none(), "{}", message);
        self.has_other_keys(other)
    }

    /// What is wrong with the helper rows of two types of one table, if anything: what is to be settled, an
    /// event and a total name their type or their sum only.
    pub(crate) const fn shared_helpers(&self, other: &Self) -> Option<&'static str> {
        if !is_one_table(self.table, other.table) {
            return None;
        }
        if is_same(self.entity, other.entity) {
            if self.reaches_across() && other.reaches_across() {
                return Some(
                    "two entity types of one table have the same name, and rows or unique values in other \
                     partitions: what is to be settled could be taken for that of the other type; rename one of \
                     the types",
                );
            }
            if self.has_events && other.has_events {
                return Some(
                    "two entity types of one table have the same name, and an outbox: an event could be taken for \
                     that of the other type; rename one of the types",
                );
            }
        }
        if have_common(self.sums, other.sums) {
            return Some(
                "two entity types of one table have a sum of the same name, so they would share its total; rename \
                 the sum of one of them",
            );
        }
        None
    }

    pub(crate) const fn has_other_keys(&self, other: &Self) -> bool {
        let by_kind = match (self.kind, other.kind) {
            (Some(kind), Some(other)) => !is_same(kind, other),
            _ => false,
        };
        let mut left = 0;
        while left < self.templates() {
            let mut right = 0;
            while right < other.templates() {
                let compared = !by_kind || self.is_guard(left) && other.is_guard(right);
                if compared
                    && is_one_table(self.table_of(left), other.table_of(right))
                    && may_meet(&self.template(left), &other.template(right))
                {
                    return false;
                }
                right += 1;
            }
            left += 1;
        }
        true
    }

    /// Whether writes have work outside their partition.
    const fn reaches_across(&self) -> bool {
        !self.eventual.is_empty() || any_across(self.guards)
    }

    /// The number of key templates: rows, then guards, then rows in other partitions.
    const fn templates(&self) -> usize {
        self.rows.len() + self.guards.len() + self.eventual.len()
    }

    const fn is_guard(&self, index: usize) -> bool {
        index >= self.rows.len() && index < self.rows.len() + self.guards.len()
    }

    const fn template(&self, index: usize) -> KeyTemplate<'static> {
        if index < self.rows.len() {
            self.rows[index].template()
        } else if self.is_guard(index) {
            self.guards[index - self.rows.len()].row().template()
        } else {
            self.eventual[index - self.rows.len() - self.guards.len()].row.template()
        }
    }

    /// The table of the rows of a template.
    const fn table_of(&self, index: usize) -> &'static str {
        let own = self.rows.len() + self.guards.len();
        let table = if index >= own {
            self.eventual[index - own].table
        } else if self.is_guard(index) {
            self.guards[index - self.rows.len()].table
        } else {
            None
        };
        match table {
            Some(table) => table,
            None => self.table,
        }
    }
}

/// Checks as the app compiles that these entity types share a table, if only for guards or for rows in other
/// partitions, that no row can be taken for one of two of them, and that no two of their sums have one name.
///
/// A row belongs to a type when its RowKey reads to its end as one of the type's templates. Two types whose
/// keys can be the same text do not compile here. Give their rows different literals or fixed widths, or
/// mark both types with a [`kind`](macro@crate::TableEntity). `#[derive(TableUnion)]` checks the same of its
/// variants.
///
/// ```
/// use table_orm::{TableEntity, shares_table};
///
/// #[derive(TableEntity)]
/// #[table(name = "documents", partition = "{folder}", row = "DOC:{id:05}")]
/// struct Document { folder: String, id: u32 }
///
/// #[derive(TableEntity)]
/// #[table(name = "documents", partition = "{folder}", row = "DOC:{id:05}__REV:{revision:03}")]
/// struct Revision { folder: String, id: u32, revision: u16 }
///
/// shares_table!(Document, Revision);
/// ```
///
/// With text in place of the number, `DOC:a__REV:001` could be either:
///
/// ```compile_fail
/// # use table_orm::{TableEntity, shares_table};
/// #[derive(TableEntity)]
/// #[table(name = "documents", partition = "{folder}", row = "DOC:{name}")]
/// struct Document { folder: String, name: String }
///
/// #[derive(TableEntity)]
/// #[table(name = "documents", partition = "{folder}", row = "DOC:{name}__REV:{revision:03}")]
/// struct Revision { folder: String, name: String, revision: u16 }
///
/// shares_table!(Document, Revision);
/// ```
#[macro_export]
macro_rules! shares_table {
    (@pairs $last:ty,) => {};
    (@pairs $first:ty, $($other:ty,)+) => {
        $(
            const _: () = $crate::__private::assert_union(
                <$first as $crate::__private::Variant>::MEMBER
                    .shares_any_table(&<$other as $crate::__private::Variant>::MEMBER),
                ::core::concat!(
                    "`", ::core::stringify!($first), "` and `", ::core::stringify!($other),
                    "` are stored in different tables: give both the same \
                     `#[table(name = \"..\")]`"
                ),
            );
            #[allow(long_running_const_eval)]
            const _: () = $crate::__private::assert_union(
                <$first as $crate::__private::Variant>::MEMBER
                    .differs(&<$other as $crate::__private::Variant>::MEMBER),
                ::core::concat!(
                    "a RowKey can be that of a row of `", ::core::stringify!($first),
                    "` and of `", ::core::stringify!($other),
                    "`, so one would be taken for the other: start the rows of each with a \
                     different literal, such as `A:`, or mark both types with a kind of their own, \
                     such as `#[table(kind = \"", ::core::stringify!($other), "\")]`, and guards with a key of \
                     their own: `unique(.., key = \"..\")`, or with `across` a table of their own: \
                     `unique(.., across, table = \"..\")`"
                ),
            );
        )+
        $crate::shares_table!(@pairs $($other,)+);
    };
    ($($entity:ty),+ $(,)?) => {
        $crate::shares_table!(@pairs $($entity,)+);
    };
}

/// Whether a RowKey can be that of a row of both templates. One that begins as those of helper rows do
/// belongs only to a template with that literal.
const fn may_meet(left: &KeyTemplate<'_>, right: &KeyTemplate<'_>) -> bool {
    reserved_start(left.start).is_some() == reserved_start(right.start).is_some()
        && left.meets(right)
}

/// Whether both name one table. The fallback for an entity with a compile error has no table.
const fn is_one_table(left: &str, right: &str) -> bool {
    left.is_empty() || right.is_empty() || left.eq_ignore_ascii_case(right)
}

const fn have_common(left: &[&str], right: &[&str]) -> bool {
    let mut at = 0;
    while at < left.len() * right.len() {
        if is_same(left[at / right.len()], right[at % right.len()]) {
            return true;
        }
        at += 1;
    }
    false
}
