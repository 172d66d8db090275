//! The expired entity whose row is in the way of a write.
//!
//! Invariant: an owner is a guess. Whether it has expired, and has the row, is decided by its canonical row.

use crate::entity::{
    CopyKind, DynamicEntity, EntityRows, ExpiryProperty, GuardTemplate, OwnRows, Ownership,
    RowHead, TableEntity, canonical, canonical_rows, index_of, is_alive, partition_key, read_page,
    read_row, read_row_in_context, row_key, template_of,
};
use crate::error::Result;
use crate::model::{DateTime, Edm, Metadata};
use crate::plan::{CanonicalKey, TableClient};
use crate::property::PropertyError;
use crate::query::{KeyRange, RowQuery, Span};

/// Whose row is under a key.
#[derive(Debug)]
pub(super) enum Owner {
    /// That of the entity with this canonical row.
    Of(CanonicalKey),
    /// No row is there any more.
    Gone,
    /// That of another type, or of an entity that is alive or not found.
    Unknown,
}

/// What a row is to its entity.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    Canonical,
    Guard,
    Copy,
}

/// What a RowKey of the type is, in the entity's partition.
pub(super) fn role<E: TableEntity>(row_key: &str) -> Option<Role> {
    match index_of::<E>(row_key)? {
        index if index == canonical::<E>() => Some(Role::Canonical),
        index => Some(if index < E::ROWS.len() { Role::Copy } else { Role::Guard }),
    }
}

/// The entity that a guard row of the partition names.
pub(super) async fn of_guard(client: &TableClient, guard: &CanonicalKey) -> Result<Owner> {
    let row = client.annotated_row(&guard.partition_key, &guard.row_key).await?;
    // Whoever had the value gave it up.
    let Some(row) = row else { return Ok(Owner::Gone) };
    let Ok(row) = read_row::<DynamicEntity>(0, &row.body) else { return Ok(Owner::Unknown) };
    let row_key = match row.properties.get(GuardTemplate::REFERENCE) {
        Some(Edm::String(row_key)) => row_key.clone(),
        _ => String::new(),
    };
    Ok(Owner::Of(CanonicalKey { partition_key: guard.partition_key.clone(), row_key }))
}

/// How the index rows of a type say whose they are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copies {
    metadata: Metadata,
    /// The canonical rows of a partition.
    canonical: fn() -> Span,
    /// The property that says when an entity expires.
    expiry: Option<ExpiryProperty>,
    /// Whose an index row is, if it says that its entity has expired.
    owner: fn(&[u8], DateTime) -> CopyOwner,
    /// The entity of a page of canonical rows that has an index row of that kind under a key.
    in_page: SearchPage,
}

/// Finds the canonical key in a page, by the number of the index row and its key.
type SearchPage = fn(&[u8], usize, &CanonicalKey) -> Result<Option<CanonicalKey>, PropertyError>;

/// What an index row says of its entity.
enum CopyOwner {
    Of(CanonicalKey),
    /// It is of that kind, and does not store whose it is.
    Expired(usize),
    Unknown,
}

impl Copies {
    pub fn of<E: TableEntity>() -> Self {
        Self {
            metadata: E::METADATA,
            canonical: canonical_rows::<E>,
            expiry: ExpiryProperty::of::<E>(),
            owner: |body, now| owner::<E>(body, now).unwrap_or(CopyOwner::Unknown),
            in_page: in_page::<E>,
        }
    }

    /// The entity that the index row under that key was written for. A full copy says so. For another one, this
    /// searches the expired entities of the partition.
    pub async fn owner(
        &self,
        client: &TableClient,
        copy: &CanonicalKey,
        now: DateTime,
    ) -> Result<Owner> {
        let row = client.row(&RowQuery { metadata: self.metadata, ..client.point(copy) }).await?;
        let Some(row) = row else { return Ok(Owner::Gone) };
        let index = match (self.owner)(&row.body, now) {
            CopyOwner::Of(key) => return Ok(Owner::Of(key)),
            CopyOwner::Unknown => return Ok(Owner::Unknown),
            CopyOwner::Expired(index) => index,
        };
        let partition = Span::Exact(copy.partition_key.clone());
        let query = client.query(KeyRange { partition, row: (self.canonical)() });
        let filter = self.expiry.map(|property| property.expired_filter(now));
        let mut pages = client.pages(RowQuery { metadata: self.metadata, filter, ..query });
        while let Some(page) = pages.next().await? {
            if let Some(key) = (self.in_page)(&page, index, copy)? {
                return Ok(Owner::Of(key));
            }
        }
        Ok(Owner::Unknown)
    }
}

fn owner<E: TableEntity>(body: &[u8], now: DateTime) -> Option<CopyOwner> {
    let (_, context) = read_row_in_context::<RowHead>(0, body, None).ok()?;
    let (index, ownership) = template_of::<E>(&context)?;
    if ownership != Ownership::Own || is_alive::<E>(body, Some(now)) {
        return None;
    }
    if E::ROWS.get(index)?.copy == CopyKind::Partial {
        return Some(CopyOwner::Expired(index));
    }
    let entity = read_row::<E>(index, body).ok()?;
    let partition_key = partition_key(&entity).ok()?;
    let row_key = row_key(&entity, canonical::<E>()).ok()??;
    Some(CopyOwner::Of(CanonicalKey { partition_key, row_key }))
}

fn in_page<E: TableEntity>(
    page: &[u8],
    index: usize,
    copy: &CanonicalKey,
) -> Result<Option<CanonicalKey>, PropertyError> {
    let read = read_page::<E>(&OwnRows::canonical::<E>(), page)?;
    Ok(read.rows.iter().find_map(|entity| {
        let rows = EntityRows::of_stored(entity).ok()?;
        let has_row = rows.stands_at(index, &copy.partition_key, &copy.row_key);
        let canonical = rows.canonical().filter(|_| has_row)?;
        Some(CanonicalKey::in_partition(&copy.partition_key, canonical))
    }))
}
