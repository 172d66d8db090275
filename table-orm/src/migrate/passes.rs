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
use crate::plan::CanonicalKey;
use crate::query::{KeyRange, RowQuery, Span};
use bytes::Bytes;

/// A canonical row of the old form, or a marker.
pub(super) struct OldRow<O> {
    pub key: CanonicalKey,
    pub etag: ETag,
    /// What it is. A row that cannot be read is an error of its own.
    pub is: Result<AtOld<O>>,
}

fn is_in_partition_of<T: TableEntity>(key: &CanonicalKey) -> bool {
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

    /// Calls `each` with every entity of the new form.
    pub(super) async fn new_pass(&self, mut each: impl FnMut(Loaded<E>) + Send) -> Result<()> {
        let client = &self.new.client;
        let keys = KeyRange { partition: Span::All, row: canonical_rows::<E>() };
        let mut pages =
            client.pages(RowQuery { metadata: Metadata::Minimal, ..client.query(keys) });
        while let Some(body) = pages.next().await? {
            for row in split_page(&body)? {
                let json = row.get().as_bytes();
                let key = key_of(json)?;
                if is_in_partition_of::<E>(&key) && is_new::<E>(&key) {
                    Loaded::read(Bytes::copy_from_slice(json), None)?
                        .into_iter()
                        .for_each(&mut each);
                }
            }
        }
        Ok(())
    }

    /// All parcels, living or left over.
    pub(super) async fn parcels_in(&self, partition: Span) -> Result<Vec<Parcel<E>>> {
        let client = &self.new.client;
        let mut found = Vec::new();
        let mut pages = client.pages(parcels(client, partition));
        while let Some(body) = pages.next().await? {
            for row in split_page(&body)? {
                let json = row.get().as_bytes();
                let body = Bytes::copy_from_slice(json);
                found.extend(Parcel::read(key_of(json)?, body, self.old.table())?);
            }
        }
        Ok(found)
    }

    /// What is under the old key of a parcel.
    pub(super) async fn origin(&self, parcel: &Parcel<E>) -> Result<AtOld<E::Old>> {
        AtOld::read(&self.old.client, &parcel.old_key).await
    }
}
