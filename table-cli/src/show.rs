//! `table-orm show`: rows as a table, JSON or CSV.

use crate::counted;
use crate::failure::Failure;
use crate::printable::printable;
use crate::selection::{Selection, permit, property, requests};
use crate::store::{STORES, StoreName};
use comfy_table::{ContentArrangement, Table, presets};
use std::collections::BTreeSet;
use std::io::{Write as _, stderr, stdout};
use table_orm::model::{Edm, EdmType};
use table_orm::scan::Scan;
use table_orm::transfer::Columns;
use table_orm::{DynamicEntity, TableName};

const EXAMPLES: &str = "\
Examples:
  table-orm show race.redb results --partition Boston
  table-orm show race.redb results --prefix Bos --select Name,Seconds --limit 5
  table-orm show env:STORAGE results --filter \"Name eq 'Ann'\" --json
  table-orm show race.redb results --partition Boston --format csv --limit 0 > boston.csv

A table shows values as a filter has them: 'Ann' is text, 5 an Int32, 5L an Int64, 5.0 a Double. No filter
compares with the Doubles Infinity, -Infinity and NaN; they are shown as an export writes them. A table is
aligned, so all its rows are in memory at once; JSON and CSV need little memory for any number of rows.

The header of CSV has a column for each property and type that any of the rows has. More than 1000 rows are
read twice: first for the columns, then to print them. A row that gets another property between the two ends
the output with an error.
";

/// The rows that are kept while the columns are found.
const MOST_KEPT: usize = 1000;

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// For reading
    Table,
    /// A JSON object in each line, with exact types
    Json,
    /// With a header that states the types
    Csv,
}

/// Shows rows in key order
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{STORES}"))]
pub(crate) struct Arguments {
    /// Where the table is
    store: StoreName,
    /// The table
    table: TableName,
    #[command(flatten)]
    selection: Selection,
    /// Only these properties
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = property)]
    select: Vec<String>,
    /// The most rows; 0 shows all
    #[arg(long, value_name = "ROWS", default_value_t = 100)]
    limit: usize,
    /// The form of the output
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Table)]
    format: Form,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Requests at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = requests)]
    readers: usize,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { store, table, selection, select, limit, format, json, readers } = arguments;
    selection.check()?;
    let tables = store.open_to_read(&table).await?;
    let scan = || {
        let all = tables.scan(table.clone(), permit());
        let mut scan = selection.of(all).concurrency(readers).ordered(true);
        if !select.is_empty() {
            scan = scan.select(select.clone());
        }
        // One more shows whether there are more.
        if limit > 0 { scan.take(limit.saturating_add(1)) } else { scan }
    };
    if json || format == Form::Json {
        let mut rows = scan().stream();
        let mut shown = 0;
        while let Some(row) = rows.next().await? {
            if limit > 0 && shown == limit {
                return more(limit);
            }
            writeln!(stdout(), "{}", row.to_json().map_err(table_orm::Error::from)?)?;
            shown += 1;
        }
        return Ok(());
    }
    if format == Form::Csv {
        return csv(scan, limit).await;
    }
    let mut rows = scan().collect().await?;
    let has_more = limit > 0 && rows.len() > limit;
    if has_more {
        rows.truncate(limit);
    }
    writeln!(stdout(), "{}", text(&rows))?;
    if has_more { more(limit) } else { Ok(()) }
}

/// Says that there are more rows, where no program reads it.
fn more(limit: usize) -> Result<(), Failure> {
    let (are, rows) = (if limit == 1 { "is" } else { "are" }, counted::rows(limit as u64));
    Ok(writeln!(stderr(), "There {are} more than {limit} {rows}; --limit 0 shows all")?)
}

async fn csv(scan: impl Fn() -> Scan<DynamicEntity>, limit: usize) -> Result<(), Failure> {
    let most = if limit > 0 { limit } else { usize::MAX };
    let (mut columns, mut kept, mut found) = (Columns::default(), Vec::new(), 0);
    let mut rows = scan().stream();
    while let Some(row) = rows.next().await? {
        if found < most {
            columns.extend([&row]);
        }
        if found < MOST_KEPT.min(most) {
            kept.push(row);
        }
        found += 1;
    }
    writeln!(stdout(), "{columns}")?;
    let record = |row: &DynamicEntity| columns.record(row).map_err(table_orm::Error::from);
    if kept.len() == found.min(most) {
        for row in &kept {
            writeln!(stdout(), "{}", record(row)?)?;
        }
    } else {
        drop(kept);
        (found, rows) = (0, scan().stream());
        while let Some(row) = rows.next().await? {
            if found < most {
                writeln!(stdout(), "{}", record(&row)?)?;
            }
            found += 1;
        }
    }
    if found > most { more(limit) } else { Ok(()) }
}

fn text(rows: &[DynamicEntity]) -> Table {
    let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.properties.keys()).collect();
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let keys = ["PartitionKey", "RowKey"].map(str::to_owned);
    table.set_header(keys.into_iter().chain(names.iter().map(|name| printable(name))));
    for row in rows {
        let keys = [printable(&row.partition_key), printable(&row.row_key)];
        let value = |name: &&String| row.properties.get(*name).map(literal).unwrap_or_default();
        table.add_row(keys.into_iter().chain(names.iter().map(value)));
    }
    table
}

/// The value as a filter has it, not longer than a terminal is wide.
fn literal(value: &Edm) -> String {
    const WIDTH: usize = 60;
    let text = match value {
        // Bytes by their number, which their digits do not show.
        Edm::Binary(bytes) if bytes.len() > WIDTH / 2 => {
            return format!("{} of {} bytes", EdmType::Binary, bytes.len());
        }
        Edm::Double(number) if number.is_infinite() => {
            return if *number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
        }
        // A filter cannot tell -0.0 from 0.0, so its text has no sign.
        Edm::Double(number) if *number == 0.0 => format!("{number:?}"),
        value => printable(&value.to_string()),
    };
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_double_is_shown_as_an_import_reads_it() {
        let doubles =
            [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, 0.0, 5.0, 0.1, f64::MAX, 5e-324];
        for double in doubles {
            let shown = match literal(&Edm::Double(double)) {
                // Too long for a terminal.
                shown if shown.ends_with('…') => continue,
                shown => shown,
            };
            let columns: Columns = "PartitionKey,RowKey,A:Edm.Double".parse().unwrap();
            let read = columns.row(&format!("p,r,{shown}")).unwrap();
            let Some(Edm::Double(read)) = read.properties.get("A") else { panic!("{shown}") };
            assert!(read.to_bits() == double.to_bits(), "{double:?} is shown as {shown}");
        }
        let shown = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0]
            .map(|double| literal(&Edm::Double(double)));
        assert_eq!(shown, ["Infinity", "-Infinity", "NaN", "-0.0"]);
    }

    #[test]
    fn types_can_be_told_apart_and_hostile_values_stay_in_their_cell() {
        let row = DynamicEntity::new("p\u{1b}[2J", "r").with("A", 5_i64).with("B", "x\n'y");
        let other = DynamicEntity::new("p", "s").with("A", 5).with("C", "z".repeat(1000));
        let shown = text(&[row, other]).to_string();
        let lines: Vec<_> = shown.lines().map(str::trim).collect();
        assert!(
            lines.iter().any(|line| line.contains("5L") && line.contains("'x\\n''y'")),
            "{shown}"
        );
        assert!(shown.contains("\\u{1b}[2J") && !shown.contains('\u{1b}'));
        assert!(lines.iter().all(|line| line.chars().count() < 160), "{shown}");
    }
}
