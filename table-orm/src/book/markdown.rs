//! A book as Markdown, as GitHub shows it: tables, and a map of the keys in Mermaid.

use super::finding::Target;
use super::finding_texts::finding_texts;
use super::known::KnownFinding;
use super::load::{PartitionLoad, listed};
use super::measured::COLUMNS;
use super::report::{BookReport, EntityReport, PatternReport, RowReport};
use super::units::{at_least, least_price, number, price, rate, share, within};
use crate::figures::{self, counted, escaped, grouped};
use std::fmt::Write as _;

/// What the numbers of a call that reads first are.
pub(super) const LEGEND: &str = "Where a call reads before it writes, requests and rows written are the most that it \
    needs, or the least where the table says `or more`, and bytes up are those that are known before. The price of a \
    month is that of these calls all month, unless the pattern says how many a month has.";

/// What the numbers beside those of the plan leave out.
pub(super) const MEASURED_LEGEND: &str = "Measured requests and rows are those of the call itself. What it leaves to a \
    task of its own, such as bringing rows in other partitions in step, is not among them.";

impl BookReport {
    /// Returns the book as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        // Writing to text does not fail.
        let _ = self.write_markdown(&mut out);
        out
    }

    fn write_markdown(&self, out: &mut String) -> std::fmt::Result {
        let currency = &self.prices.currency;
        writeln!(out, "# {}\n", cell(&self.title))?;
        writeln!(
            out,
            "{} {} {} rows a second, for {} {currency} a month with storage.",
            self.patterns.len(),
            if self.patterns.len() == 1 {
                "pattern reads and writes"
            } else {
                "patterns read and write"
            },
            number(self.rows_per_second),
            least_price(self.price_per_month, self.is_least())
        )?;
        writeln!(out, "Prices: {} ({}).\n", self.prices.source, self.prices.date)?;
        out.push_str("## What stands out\n\n");
        if self.findings.is_empty() {
            out.push_str("Nothing.\n");
        }
        finding_texts(&self.findings)
            .into_iter()
            .try_for_each(|text| writeln!(out, "- {}", text.replace(['\n', '\r'], " ")))?;
        if !self.known.is_empty() {
            out.push_str("\n## Known\n\n");
        }
        for KnownFinding { finding, reason } in &self.known {
            writeln!(out, "- {finding} **Known:** {}", reason.replace('\n', " "))?;
        }
        self.patterns(out)?;
        self.measured(out)?;
        self.partitions(out)?;
        self.entities.iter().try_for_each(|entity| entity_section(out, entity, currency))
    }

    fn patterns(&self, out: &mut String) -> std::fmt::Result {
        let currency = &self.prices.currency;
        writeln!(
            out,
            "\n## Patterns\n\nOne call of each:\n\n| Pattern | Class | Calls | Within | Requests | Rows read | \
             Matching | Rows written | Bytes up | Bytes down | {currency} a month |"
        )?;
        out.push_str("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
        for pattern in &self.patterns {
            let PatternReport { name, class, per_second, rows_read, .. } = pattern;
            writeln!(
                out,
                "| {} | {class} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                cell(name),
                rate(*per_second),
                within(pattern.within_ms),
                at_least(pattern.requests, pattern.at_least),
                grouped(*rows_read),
                grouped(pattern.rows_matching),
                grouped(pattern.rows_written),
                grouped(pattern.bytes_up),
                grouped(pattern.bytes_down),
                least_price(pattern.price_per_month, pattern.at_least)
            )?;
        }
        writeln!(out, "\n{LEGEND}")
    }

    fn measured(&self, out: &mut String) -> std::fmt::Result {
        if self.measured.is_empty() {
            return Ok(());
        }
        out.push_str("\n## Planned and measured\n\nOne call of each:\n\n");
        writeln!(out, "| {} |\n|---{}|", COLUMNS.join(" | "), "|--:".repeat(COLUMNS.len() - 1))?;
        self.measured_cells().try_for_each(|cells| {
            writeln!(out, "| {} |", cells.map(|text| cell(&text)).join(" | "))
        })?;
        writeln!(out, "\n{MEASURED_LEGEND}")
    }

    fn partitions(&self, out: &mut String) -> std::fmt::Result {
        let (partition, account) = (Target::Partition, Target::Account);
        writeln!(
            out,
            "\n## Load\n\n| Table | PartitionKey | Most by | Rows/s | of {} |\n|---|---|---|--:|--:|",
            number(partition.rows_per_second())
        )?;
        let (loads, others) = listed(&self.partitions);
        for load in loads {
            let PartitionLoad { table, partition_key, rows_per_second, most_by } = load;
            writeln!(
                out,
                "| `{table}` | {} | {} | {} | {} |",
                code(partition_key),
                cell(most_by),
                number(*rows_per_second),
                share(*rows_per_second, partition.rows_per_second())
            )?;
        }
        if let Some((partitions, most)) = others {
            let of_target = share(most, partition.rows_per_second());
            writeln!(
                out,
                "| {} | | | at most {} each | {of_target} |",
                counted(partitions as u64, "other"),
                number(most)
            )?;
        }
        let all =
            (number(self.rows_per_second), share(self.rows_per_second, account.rows_per_second()));
        writeln!(
            out,
            "| all | | | {} | {} of {} |",
            all.0,
            all.1,
            number(account.rows_per_second())
        )
    }
}

fn entity_section(out: &mut String, entity: &EntityReport, currency: &str) -> std::fmt::Result {
    let EntityReport { name, table, partition, rows, entities, stored_bytes, .. } = entity;
    writeln!(
        out,
        "\n## {name}\n\nTable `{table}`, PartitionKey {}: {} entities of {} bytes, all rows together; \
         {} {currency} a month.\n",
        code(partition),
        grouped(*entities),
        grouped(*stored_bytes),
        price(entity.price_per_month)
    )?;
    key_map(out, entity)?;
    out.push_str(
        "\n| Row | Kind | PartitionKey | RowKey | Sample | Bytes | Read by |\n\
         |---|---|---|---|---|--:|---|\n",
    );
    for row in rows {
        let RowReport { name, kind, key, sample, stored_bytes, patterns, .. } = row;
        let sample = sample.as_ref().map_or_else(String::new, |[partition_key, row_key]| {
            format!("{} / {}", code(partition_key), code(row_key))
        });
        let place = match row.table == entity.table {
            true => code(row.partition),
            false => format!("{} in `{}`", code(row.partition), row.table),
        };
        let patterns: Vec<_> = patterns.iter().map(|pattern| cell(pattern)).collect();
        writeln!(
            out,
            "| {name} | {kind} | {place} | {} | {sample} | {} | {} |",
            code(key),
            grouped(*stored_bytes),
            patterns.join(", ")
        )?;
    }
    Ok(())
}

/// Which pattern reads which row.
fn key_map(out: &mut String, entity: &EntityReport) -> std::fmt::Result {
    writeln!(out, "```mermaid\nflowchart LR")?;
    // A box for each table and PartitionKey.
    let mut boxes: Vec<(&str, &str)> = Vec::new();
    for place in entity.rows.iter().map(|row| (row.table, row.partition)) {
        if !boxes.contains(&place) {
            boxes.push(place);
        }
    }
    for (number, (table, partition)) in boxes.into_iter().enumerate() {
        writeln!(out, "  subgraph rows{number}[\"{table} · {}\"]", escaped(partition))?;
        for (at, row) in entity.rows.iter().enumerate() {
            if (row.table, row.partition) == (table, partition) {
                writeln!(out, "    r{at}[\"{}<br/>{}\"]", row.name, escaped(row.key))?;
            }
        }
        out.push_str("  end\n");
    }
    let mut patterns: Vec<&str> = Vec::new();
    for (at, row) in entity.rows.iter().enumerate() {
        for pattern in &row.patterns {
            let known = patterns.iter().position(|known| known == pattern);
            let number = known.unwrap_or(patterns.len());
            if known.is_none() {
                patterns.push(pattern);
                writeln!(out, "  p{number}([\"{}\"])", escaped(pattern))?;
            }
            writeln!(out, "  p{number} --> r{at}")?;
        }
    }
    out.push_str("```\n");
    Ok(())
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('|', "\\|").replace(['\n', '\r'], " ");
    // GitHub takes a type's parameter for a tag.
    text.replace('<', "\\<")
}

/// A key in a cell of a table. It is never empty.
fn code(key: &str) -> String {
    if key.is_empty() {
        return "(empty)".to_owned();
    }
    figures::code(&key.replace('|', "\\|").replace('\n', " "))
}
