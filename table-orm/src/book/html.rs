//! A book as one HTML page, which loads nothing.

use super::finding::Target;
use super::finding_texts::finding_texts;
use super::known::KnownFinding;
use super::load::{PartitionLoad, listed};
use super::markdown::{LEGEND, MEASURED_LEGEND};
use super::measured::COLUMNS;
use super::report::{BookReport, EntityReport, PatternReport, RowReport};
use super::units::{at_least, least_price, number, price, rate, share, within};
use crate::figures::{counted, escaped, grouped};
use std::fmt::{Display, Write as _};

const STYLE: &str = include_str!("book.css");

impl BookReport {
    /// Returns the book as one HTML page. It needs no network, and no script.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = String::new();
        // Writing to text does not fail.
        let _ = self.write_html(&mut out);
        out
    }

    fn write_html(&self, out: &mut String) -> std::fmt::Result {
        let title = escaped(&self.title);
        writeln!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n<main>\n<h1>{title}</h1>"
        )?;
        let (all, month) =
            (number(self.rows_per_second), least_price(self.price_per_month, self.is_least()));
        out.push_str("<dl class=\"totals\">\n");
        let totals: [(&str, &dyn Display); 4] = [
            ("patterns", &self.patterns.len()),
            ("rows a second", &all),
            (
                "of the account's target",
                &share(self.rows_per_second, Target::Account.rows_per_second()),
            ),
            ("a month", &format!("{month} {}", escaped(&self.prices.currency))),
        ];
        for (name, value) in totals {
            writeln!(out, "<div><dd>{value}</dd><dt>{name}</dt></div>")?;
        }
        out.push_str("</dl>\n<section>\n<h2>What stands out</h2>\n<ul class=\"findings\">\n");
        if self.findings.is_empty() {
            out.push_str("<li>Nothing.</li>\n");
        }
        for text in finding_texts(&self.findings) {
            writeln!(out, "<li>{}</li>", with_code(&text))?;
        }
        out.push_str("</ul>\n</section>\n");
        self.known(out)?;
        self.pattern_table(out)?;
        self.measured_table(out)?;
        self.load_table(out)?;
        self.entities.iter().try_for_each(|entity| entity_section(out, entity, self))?;
        writeln!(
            out,
            "<footer>Prices: {} ({}). Rows are counted among samples, and multiplied by what each \
             sample stands for.</footer>\n</main>\n</html>",
            escaped(&self.prices.source),
            escaped(&self.prices.date)
        )
    }

    fn known(&self, out: &mut String) -> std::fmt::Result {
        if self.known.is_empty() {
            return Ok(());
        }
        out.push_str("<section>\n<h2>Known</h2>\n<ul class=\"findings\">\n");
        for KnownFinding { finding, reason } in &self.known {
            let (finding, reason) = (with_code(&finding.to_string()), escaped(reason));
            writeln!(out, "<li class=\"known\">{finding}<br><b>Known:</b> {reason}</li>")?;
        }
        out.push_str("</ul>\n</section>\n");
        Ok(())
    }

    fn pattern_table(&self, out: &mut String) -> std::fmt::Result {
        out.push_str(
            "<section>\n<h2>Patterns</h2>\n<p>One call of each. Open a pattern to see its requests.</p>\n",
        );
        let names = [
            "Pattern",
            "Class",
            "Calls",
            "Within",
            "Requests",
            "Rows read",
            "Matching",
            "Rows written",
            "Bytes up",
            "Bytes down",
            "A month",
        ];
        let table = Table { names: &names, texts: 2 };
        table.begin(out)?;
        for pattern in &self.patterns {
            let PatternReport { name, class, plan, within_ms, .. } = pattern;
            let (name, plan) = (escaped(name), escaped(plan));
            let cells: [&dyn Display; 11] = [
                &format!("<details><summary>{name}</summary><pre>{plan}</pre></details>"),
                class,
                &rate(pattern.per_second),
                &within(*within_ms),
                &at_least(pattern.requests, pattern.at_least),
                &grouped(pattern.rows_read),
                &grouped(pattern.rows_matching),
                &grouped(pattern.rows_written),
                &grouped(pattern.bytes_up),
                &grouped(pattern.bytes_down),
                &least_price(pattern.price_per_month, pattern.at_least),
            ];
            table.row(out, &cells)?;
        }
        Table::end(out);
        writeln!(out, "<p class=\"legend\">{LEGEND}</p>\n</section>")
    }

    fn measured_table(&self, out: &mut String) -> std::fmt::Result {
        if self.measured.is_empty() {
            return Ok(());
        }
        out.push_str(
            "<section class=\"wide\">\n<h2>Planned and measured</h2>\n<p>One call of each.</p>\n",
        );
        let table = Table { names: &COLUMNS, texts: 1 };
        table.begin(out)?;
        for cells in self.measured_cells() {
            let cells = cells.map(|cell| escaped(&cell));
            let cells: Vec<&dyn Display> = cells.iter().map(|cell| cell as &dyn Display).collect();
            table.row(out, &cells)?;
        }
        Table::end(out);
        writeln!(out, "<p class=\"legend\">{MEASURED_LEGEND}</p>\n</section>")
    }

    fn load_table(&self, out: &mut String) -> std::fmt::Result {
        let target = Target::Partition.rows_per_second();
        writeln!(
            out,
            "<section>\n<h2>Load</h2>\n<p>Rows that are read and written in a second, of the {} that \
             the service aims at for one partition.</p>",
            number(target)
        )?;
        let names = ["PartitionKey", "Table", "Most by", "Share", "Rows/s"];
        let table = Table { names: &names, texts: 4 };
        table.begin(out)?;
        let (loads, others) = listed(&self.partitions);
        for PartitionLoad { table: of, partition_key, rows_per_second, most_by } in loads {
            let width = (100.0 * rows_per_second / target).min(100.0);
            let class = if *rows_per_second > target { "bar over" } else { "bar" };
            let share = share(*rows_per_second, Target::Partition.rows_per_second());
            let bar =
                format!("<span class=\"{class}\"><span style=\"width:{width:.1}%\"></span></span>");
            let cells: [&dyn Display; 5] = [
                &code(partition_key),
                &code(of),
                &escaped(most_by),
                &format!("{bar} {share}"),
                &number(*rows_per_second),
            ];
            table.row(out, &cells)?;
        }
        Table::end(out);
        if let Some((partitions, most)) = others {
            writeln!(
                out,
                "<p>{} with at most {} rows a second each.</p>",
                counted(partitions as u64, "other"),
                number(most)
            )?;
        }
        out.push_str("</section>\n");
        Ok(())
    }
}

fn entity_section(out: &mut String, entity: &EntityReport, book: &BookReport) -> std::fmt::Result {
    let EntityReport { name, table, partition, rows, entities, stored_bytes, .. } = entity;
    writeln!(
        out,
        "<section>\n<h2>{name}</h2>\n<p>Table {}, PartitionKey {}: {} entities of {} bytes, all rows \
         together; {} {} a month.</p>",
        code(table),
        code(partition),
        grouped(*entities),
        grouped(*stored_bytes),
        price(entity.price_per_month),
        escaped(&book.prices.currency)
    )?;
    let names = ["Row", "Kind", "PartitionKey and RowKey, and a sample", "Read by", "Bytes"];
    let table = Table { names: &names, texts: 4 };
    table.begin(out)?;
    for row in rows {
        let RowReport { name, kind, key, sample, stored_bytes, patterns, .. } = row;
        let sample = sample.as_ref().map_or_else(String::new, |[partition_key, row_key]| {
            format!("{} / {}", code(partition_key), code(row_key))
        });
        let patterns: Vec<_> = patterns.iter().map(|pattern| escaped(pattern)).collect();
        let place = match row.table == entity.table {
            true => String::new(),
            false => format!(" in {}", code(row.table)),
        };
        let keys = format!(
            "{} / {}{place}<br><span class=\"sample\">{sample}</span>",
            code(row.partition),
            code(key),
        );
        let cells: [&dyn Display; 5] = [
            name,
            kind,
            &format!("<div>{keys}</div>"),
            &format!("<div>{}</div>", patterns.join("<br>")),
            &grouped(*stored_bytes),
        ];
        table.row(out, &cells)?;
    }
    Table::end(out);
    out.push_str("</section>\n");
    Ok(())
}

/// A table. The columns after the first `texts` ones hold numbers.
struct Table<'n> {
    names: &'n [&'n str],
    texts: usize,
}

impl Table<'_> {
    fn begin(&self, out: &mut String) -> std::fmt::Result {
        out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
        for (at, name) in self.names.iter().enumerate() {
            write!(out, "<th scope=\"col\"{}>{name}</th>", self.class(at))?;
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        Ok(())
    }

    /// A narrow window shows each cell with its column's name.
    fn row(&self, out: &mut String, cells: &[&dyn Display]) -> std::fmt::Result {
        out.push_str("<tr>");
        for (at, (name, cell)) in self.names.iter().zip(cells).enumerate() {
            match at {
                0 => write!(out, "<th scope=\"row\">{cell}</th>")?,
                _ => write!(out, "<td data-name=\"{name}\"{}>{cell}</td>", self.class(at))?,
            }
        }
        out.push_str("</tr>\n");
        Ok(())
    }

    fn end(out: &mut String) {
        out.push_str("</tbody></table></div>\n");
    }

    const fn class(&self, at: usize) -> &'static str {
        if at < self.texts { "" } else { " class=\"n\"" }
    }
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

/// Text in which fences of grave accents are around code.
fn with_code(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('`') {
        let (before, from) = rest.split_at(at);
        let inside = from.trim_start_matches('`');
        let fence = &from[..from.len() - inside.len()];
        out.push_str(&escaped(before));
        match code_before(inside, fence) {
            Some((code, after)) => {
                let code = if fence.len() > 1 { code.trim_matches(' ') } else { code };
                out.push_str(&format!("<code>{}</code>", escaped(code)));
                rest = after;
            }
            None => {
                out.push_str(fence);
                rest = inside;
            }
        }
    }
    out.push_str(&escaped(rest));
    out
}

/// What is before the next fence of that length, and what is after it.
fn code_before<'t>(text: &'t str, fence: &str) -> Option<(&'t str, &'t str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find('`').map(|at| from + at) {
        let after = text[at..].trim_start_matches('`');
        from = text.len() - after.len();
        if from - at == fence.len() {
            return Some((&text[..at], after));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::code;

    #[test]
    fn code_of_any_text_is_shown_as_it_is() {
        for text in ["a", "a`b", "`a", "b`", "``", "a``b`c", "<i>"] {
            let shown = with_code(&format!("x {} y", code(text)));
            assert_eq!(shown, format!("x <code>{}</code> y", escaped(text)));
        }
        assert_eq!(with_code("no ` code"), "no ` code");
    }
}
