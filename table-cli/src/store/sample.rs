//! Rows made up in memory, to try the tools with.

use table_orm::{DynamicEntity, Error, TableName, Tables};

/// Invented results: a hundred runners in each race, with every tenth race a hundred times larger.
pub(super) async fn sample(table: &TableName, rows: usize) -> Result<Tables, Error> {
    let tables = Tables::in_memory()?;
    tables.create(table).await?;
    let row = |at: usize| {
        let race = if at.is_multiple_of(2) { at / 20_000 * 10 } else { at / 200 };
        DynamicEntity::new(format!("race-{race:06}"), format!("{at:09}"))
            .with("Name", format!("Runner {at}"))
            .with("Rank", (at % 10_000) as i32)
            .with("Chip", at as i64)
            .with("Seconds", 9_000.0 + at as f64 / 8.0)
    };
    tables.table(table.clone()).insert_or_replace_many((0..rows).map(row)).await.all()?;
    Ok(tables)
}
