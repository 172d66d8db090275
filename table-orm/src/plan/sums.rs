//! The totals that the writes of entities change.
//!
//! Invariants:
//! - A total changes in the transaction that changes the entity, by what the entity adds afterwards less
//!   what it added before.
//! - A transaction that changes what an entity adds writes the total's row, even if the total stays the
//!   same. So whoever counts while nobody writes that row counts right.

use super::canonical_key::CanonicalKey;
use super::table_client::TableClient;
use crate::entity::{Contributions, SummedType, TOTAL, TotalRow, body, differences, read_row};
use crate::error::{Result, SumError};
use crate::model::ETag;
use crate::property::PropertiesWriter;
use crate::store::{Action, Operation};
use bytes::Bytes;

impl TableClient {
    pub(super) fn is_summed(&self, row_key: &str) -> bool {
        self.summed_types(row_key).next().is_some()
    }

    /// The types that may have such a canonical row: several, where the rows' `kind` distinguishes them.
    pub(super) fn summed_types(&self, row_key: &str) -> impl Iterator<Item = &SummedType> + Clone {
        self.summed.iter().filter(move |summed| summed.is_canonical(row_key))
    }

    /// Adds by how much the totals change when a canonical row does.
    pub(super) fn add_difference(
        &self,
        changes: &mut Contributions,
        row_key: &str,
        rows: [Option<&Bytes>; 2],
    ) -> Result<()> {
        // A total that the entities of one transaction change by 0 together is written, too.
        for (total, value) in differences(self.summed_types(row_key), rows)? {
            *changes.entry(total).or_default() += value;
        }
        Ok(())
    }

    /// The write that changes a total.
    pub(super) async fn changed_total(
        &self,
        key: &CanonicalKey,
        change: i128,
    ) -> Result<Operation> {
        let stored = self.row(&self.point(key)).await?;
        let before = match &stored {
            Some(row) => read_row::<TotalRow>(0, &row.body)?.0,
            None => 0,
        };
        let overflow = |_| {
            let CanonicalKey { partition_key, row_key } = key.clone();
            SumError::Overflow { partition_key, row_key }
        };
        let total = i64::try_from(i128::from(before) + change).map_err(overflow)?;
        let etag = stored.map(|row| row.etag()).transpose()?;
        total_row(key, total, etag)
    }
}

/// The write of a total: over that version, or where there is none yet.
pub(crate) fn total_row(key: &CanonicalKey, total: i64, etag: Option<ETag>) -> Result<Operation> {
    let mut out = PropertiesWriter::new("Sum");
    out.property(TOTAL, &total)?;
    let body = body(&key.partition_key, &key.row_key, &out)?;
    Ok(Operation { row_key: key.row_key.clone(), action: Action::over(body, etag) })
}
