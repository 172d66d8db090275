//! Passes over the old rows and the parcels of a partition or of all of them.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::AtOld;
use super::parcel::{Parcel, parcels};
use crate::entity::{RowHead, canonical_rows, read_etag, read_row, split_page};
use crate::error::Result;
use crate::model::{ETag, Metadata};
use crate::plan::CanonicalKey;
use crate::query::{KeyRange, RowQuery, Span};

/// A canonical row of the old form, or a marker.
pub(super) struct OldRow<O> {
    pub key: CanonicalKey,
    pub etag: ETag,
    /// What it is. A row that cannot be read is an error of its own.
    pub is: Result<AtOld<O>>,
}

/// The rows of a page, without those of other types.
pub(super) fn old_rows<O: crate::TableEntity>(body: &[u8]) -> Result<Vec<OldRow<O>>> {
    let mut rows = Vec::new();
    for row in split_page(body)? {
        let json = row.get().as_bytes();
        let is = AtOld::of_row(json);
        if matches!(is, Ok(AtOld::Nothing)) {
            continue;
        }
        rows.push(OldRow { key: key_of(json)?, etag: read_etag(json)?, is });
    }
    Ok(rows)
}

fn key_of(json: &[u8]) -> Result<CanonicalKey> {
    let RowHead { partition_key, row_key } = read_row(0, json)?;
    Ok(CanonicalKey { partition_key, row_key })
}

impl<E: Migrates> Migrating<E> {
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
            old_rows(&body)?.into_iter().try_for_each(&mut each)?;
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
                found.extend(Parcel::read(key_of(json)?, json)?);
            }
        }
        Ok(found)
    }

    /// What is under the old key of a parcel.
    pub(super) async fn origin(&self, parcel: &Parcel<E>) -> Result<AtOld<E::Old>> {
        AtOld::read(&self.old.client, &parcel.old_key).await
    }
}
