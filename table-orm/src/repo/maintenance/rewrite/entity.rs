//! What one entity's rows need to have the form of their type.

use crate::entity::{DynamicEntity, EntityRow, Ownership, read_row};
use crate::error::Result;
use crate::plan::{Attempts, RetryLimits, TableClient};
use crate::repo::maintenance::MaintainedType;
use crate::repo::maintenance::repair::{SkipReason, Skipped, guard, is_write_conflict};
use crate::repo::maintenance::verify::{
    ExpectedRow, Finding, Problem, VersionedRow, differences, expected_rows, has_form_of,
    index_rows,
};
use crate::store::{Action, Batch, IfMatch, Operation, StoredRow};

/// The rows of one entity to write.
pub(super) struct PreparedRewrite {
    /// The RowKey of its canonical row.
    pub canonical: String,
    pub batch: Batch,
    /// How many of the operations change a row.
    pub rows: u64,
    pub skipped: Vec<Skipped>,
}

impl PreparedRewrite {
    fn new(row: &VersionedRow<'_>) -> Self {
        let batch = Batch { partition_key: row.partition_key.clone(), operations: Vec::new() };
        Self { canonical: row.row_key.clone(), batch, rows: 0, skipped: Vec::new() }
    }

    fn replace(&mut self, row: EntityRow, condition: IfMatch) {
        let action = Action::Replace(row.body, condition);
        self.batch.operations.push(Operation { row_key: row.row_key, action });
        self.rows += 1;
    }

    fn skip(
        &mut self,
        of: &'static MaintainedType,
        index: usize,
        row_key: &str,
        problem: Problem,
        reason: SkipReason,
    ) {
        let finding = Finding {
            entity: of.name.to_owned(),
            row: (of.name_of)(index).to_owned(),
            partition_key: self.batch.partition_key.clone(),
            row_key: row_key.to_owned(),
            canonical: Some(self.canonical.clone()),
            location: None,
            etag: None,
            problem,
        };
        self.skipped.push(Skipped { finding, reason });
    }
}

/// Reads the index rows of a canonical row, and decides what to write.
pub(super) async fn prepare(
    of: &'static MaintainedType,
    client: &TableClient,
    row: VersionedRow<'_>,
) -> Result<PreparedRewrite> {
    let mut prepared = PreparedRewrite::new(&row);
    let rows = match expected_rows(of, &row.partition_key, &row.row_key, row.body) {
        Ok(rows) => rows,
        Err(problem) => {
            let reason = SkipReason::CanonicalRow;
            prepared.skip(of, of.canonical, &row.row_key, problem, reason);
            return Ok(prepared);
        }
    };
    let hidden = client.store().hidden_property();
    let outgrown = rows.canonical().cloned();
    if let Some(own) = outgrown.filter(|own| !has_form_of(&own.body, row.body, hidden)) {
        prepared.replace(own, IfMatch::ETag(row.etag.clone()));
    }
    let checked = !prepared.batch.operations.is_empty();
    for expected in index_rows(of, rows) {
        let stored = client.annotated_row(&row.partition_key, &expected.row_key).await?;
        if let Some(stored) = stored.filter(|row| !has_form_of(&expected.body, &row.body, hidden)) {
            index_row(of, &mut prepared, expected, &stored, hidden)?;
        }
    }
    if !checked && !prepared.batch.operations.is_empty() {
        let guard = guard(&row.partition_key, &row.row_key, row.etag.clone())?;
        prepared.batch.operations.insert(0, guard);
    }
    Ok(prepared)
}

/// Replaces an index row in another form, if it is in step.
fn index_row(
    of: &'static MaintainedType,
    prepared: &mut PreparedRewrite,
    expected: ExpectedRow,
    stored: &StoredRow,
    hidden: Option<&str>,
) -> Result<()> {
    let context = VersionedRow::read(&stored.body)?.context;
    if (of.template_of)(&context) != Some((expected.index, Ownership::Own)) {
        let ExpectedRow { index, row_key, .. } = &expected;
        prepared.skip(of, *index, row_key, Problem::Missing, SkipReason::Taken);
        return Ok(());
    }
    let properties = read_row::<DynamicEntity>(0, &stored.body).map(|row| row.properties);
    if properties.is_ok_and(|properties| expected.is_read_from(of, properties)) {
        let ExpectedRow { index, row_key, body, .. } = expected;
        prepared.replace(EntityRow { index, row_key, body }, IfMatch::ETag(stored.etag()?));
    } else if let Some(problem) = differences(of, &expected, &stored.body, hidden)? {
        let ExpectedRow { index, row_key, .. } = &expected;
        prepared.skip(of, *index, row_key, problem, SkipReason::OutOfStep);
    }
    Ok(())
}

/// Rewrites one entity whose rows were written in the meantime. Returns what it wrote at last, and `None`
/// when the entity is gone.
pub(super) async fn rewrite_again(
    of: &'static MaintainedType,
    client: &TableClient,
    partition_key: &str,
    canonical: &str,
) -> Result<Option<PreparedRewrite>> {
    let mut attempts = Attempts::begin(&client.connection, RetryLimits::default());
    loop {
        let Some(row) = client.annotated_row(partition_key, canonical).await? else {
            return Ok(None);
        };
        let row = VersionedRow::read(&row.body)?;
        if !of.own.take(&row.context) {
            return Ok(None);
        }
        let prepared = prepare(of, client, row).await?;
        if prepared.batch.operations.is_empty() {
            return Ok(Some(prepared));
        }
        match client.send(prepared.batch.clone()).await {
            Ok(_) => return Ok(Some(prepared)),
            Err(error) => {
                if !(is_write_conflict(&error) && attempts.next().await) {
                    return Err(error);
                }
            }
        }
    }
}
