//! Compares the rows of entities in other partitions and tables with what their canonical rows say.

use super::differences::differences;
use super::expected::{ExpectedRow, rows_elsewhere};
use super::finding::{Elsewhere, Finding, Problem};
use crate::entity::{TableEntity, name_of};
use crate::error::Result;
use crate::model::TableName;
use crate::plan::{CanonicalKey, TableClient};
use crate::repo::get::MAX_PARALLEL_GETS;
use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};

/// The findings about the rows elsewhere of entities whose canonical rows have these keys and bodies: a point
/// query for each such row, at most 16 in flight. The partition's own verify reports an unreadable canonical
/// row.
pub(super) fn findings<E: TableEntity + 'static>(
    client: TableClient,
    canonical: Vec<(CanonicalKey, Bytes)>,
) -> BoxFuture<'static, Result<Vec<Finding>>> {
    let rows = canonical.into_iter().flat_map(|(home, body)| {
        let rows = rows_elsewhere::<E>(&body).unwrap_or_default().into_iter();
        rows.map(move |row| (home.clone(), row))
    });
    let compared = rows.map(move |(home, (table, partition_key, row))| {
        let table = table.and_then(|table| TableName::new(table).ok());
        let place = client.in_table(table.as_ref().unwrap_or(&client.table));
        compare::<E>(place, home, partition_key, row)
    });
    let compared = stream::iter(compared.collect::<Vec<_>>()).buffered(MAX_PARALLEL_GETS);
    compared.try_filter_map(|finding| async { Ok(finding) }).try_collect().boxed()
}

/// Compares the row that is stored in `place` with the expected one.
async fn compare<E: TableEntity>(
    place: TableClient,
    home: CanonicalKey,
    partition_key: String,
    row: ExpectedRow,
) -> Result<Option<Finding>> {
    let stored = place.annotated_row(&partition_key, &row.row_key).await?;
    let (problem, etag) = match stored {
        None => (Some(Problem::Missing), None),
        Some(stored) => {
            let hidden = place.store().hidden_property();
            (differences::<E>(&row, &stored.body, hidden)?, Some(stored.etag()?))
        }
    };
    Ok(problem.map(|problem| Finding {
        entity: E::NAME.to_owned(),
        row: name_of::<E>(row.index).to_owned(),
        partition_key,
        row_key: row.row_key,
        elsewhere: Some(Elsewhere::new(place.table.as_str(), home.partition_key)),
        canonical: Some(home.row_key),
        etag: etag.map(|etag| etag.as_str().to_owned()),
        problem,
    }))
}
