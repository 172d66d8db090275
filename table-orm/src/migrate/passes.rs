//! Passes over the rows of each form, and over the parcels, of a partition or of all of them.
//!
//! Invariant: a row belongs to the form whose templates take both of its keys. Old and new RowKeys may be alike where the
//! partitions differ. Where only the number of shards differs, the values in a key tell the form.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::AtOld;
use super::parcel::{Parcel, parcels};
use super::stays::{is_new, is_old};
use crate::entity::{
    Loaded, RowHead, TableEntity, canonical_rows, read_etag, read_row, split_page,
};
use crate::error::Result;
use crate::model::{ETag, Metadata};
use crate::plan::{CanonicalKey, QueryPages};
use crate::query::{KeyRange, RowQuery, Span};
use bytes::Bytes;

/// A canonical row of the old form, or a marker.
pub(super) struct OldRow<O> {
    pub key: CanonicalKey,
    pub etag: ETag,
    /// What it is. A row that cannot be read is an error of its own.
    pub is: Result<AtOld<O>>,
}

pub(super) fn is_in_partition_of<T: TableEntity>(key: &CanonicalKey) -> bool {
    T::PARTITION_KEY.takes(&key.partition_key, T::ESCAPE)
}

fn key_of(json: &[u8]) -> Result<CanonicalKey> {
    let RowHead { partition_key, row_key } = read_row(0, json)?;
    Ok(CanonicalKey { partition_key, row_key })
}

impl<E: Migrates> Migrating<E> {
    /// The rows of a page, without those of other types, and of entities that keep their key.
    ///
    /// # Errors
    /// When a marker names another table: of a copy of the table, entities on their way are in no table of these.
    pub(super) fn old_rows(&self, body: &[u8]) -> Result<Vec<OldRow<E::Old>>> {
        let mut rows = Vec::new();
        for row in split_page(body)? {
            let json = row.get().as_bytes();
            let key = key_of(json)?;
            if !is_in_partition_of::<E::Old>(&key) || !is_old::<E>(&key) {
                continue;
            }
            let is = AtOld::of_row(json);
            if let Ok(AtOld::Marker(marker)) = &is {
                self.check_marker(marker, &key)?;
            }
            if !matches!(is, Ok(AtOld::Nothing)) {
                rows.push(OldRow { key, etag: read_etag(json)?, is });
            }
        }
        Ok(rows)
    }

    /// Calls `each` with every canonical row of the old form.
    pub(super) async fn old_pass(
        &self,
        partition: Span,
        mut each: impl FnMut(OldRow<E::Old>) -> Result<()> + Send,
    ) -> Result<()> {
        let client = &self.old.client;
        let query = client.query(KeyRange { partition, row: canonical_rows::<E::Old>() });
        let mut pages = client.pages(RowQuery { metadata: Metadata::Minimal, ..query });
        while let Some(body) = pages.next().await? {
            self.old_rows(&body)?.into_iter().try_for_each(&mut each)?;
        }
        Ok(())
    }

    /// The entities of a page of canonical rows of the new form, without rows of other types.
    pub(super) fn new_rows(&self, body: &[u8]) -> Result<Vec<Loaded<E>>> {
        let mut rows = Vec::new();
        for row in split_page(body)? {
            let json = row.get().as_bytes();
            let key = key_of(json)?;
            if is_in_partition_of::<E>(&key) && is_new::<E>(&key) {
                rows.extend(Loaded::read(Bytes::copy_from_slice(json), None)?);
            }
        }
        Ok(rows)
    }

    /// The parcels of a page.
    pub(super) fn parcels_of(&self, body: &[u8]) -> Result<Vec<Parcel<E>>> {
        let mut found = Vec::new();
        for row in split_page(body)? {
            let json = row.get().as_bytes();
            let body = Bytes::copy_from_slice(json);
            found.extend(Parcel::read(key_of(json)?, body, self.old.table())?);
        }
        Ok(found)
    }

    /// All parcels, living or left over.
    pub(super) fn parcels(&self, partition: Span) -> Parcels<'_, E> {
        let client = &self.new.client;
        let (pages, page) = (client.pages(parcels(client, partition)), Vec::new().into_iter());
        Parcels { client: self, pages, page, requests: 0 }
    }

    /// What is under the old key of a parcel.
    pub(super) async fn origin(&self, parcel: &Parcel<E>) -> Result<AtOld<E::Old>> {
        AtOld::read(&self.old.client, &parcel.old_key).await
    }
}

/// Parcels, read page by page.
pub(super) struct Parcels<'c, E: Migrates> {
    client: &'c Migrating<E>,
    pages: QueryPages<'c>,
    page: std::vec::IntoIter<Parcel<E>>,
    /// The pages that were read.
    pub requests: u64,
}

impl<E: Migrates> Parcels<'_, E> {
    /// The next parcel. `None` after the last one.
    pub async fn next(&mut self) -> Result<Option<Parcel<E>>> {
        loop {
            if let Some(parcel) = self.page.next() {
                return Ok(Some(parcel));
            }
            let Some(body) = self.pages.next().await? else { return Ok(None) };
            self.requests += 1;
            self.page = self.client.parcels_of(&body)?.into_iter();
        }
    }
}
