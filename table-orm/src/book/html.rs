//! A book as one HTML page, which loads nothing.

use super::finding::Target;
use super::markdown::{LEGEND, share};
use super::report::{BookReport, EntityReport, PartitionLoad, PatternReport, RowReport};
use super::text::{at_least, grouped, number, price, rate};
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
        let (all, month) = (number(self.rows_per_second), price(self.price_per_month));
        out.push_str("<dl class=\"totals\">\n");
        let totals: [(&str, &dyn Display); 4] = [
            ("patterns", &self.patterns.len()),
            ("rows a second", &all),
            ("of the account's target", &share(self.rows_per_second, Target::Account)),
            ("a month", &format!("{month} {}", self.prices.currency)),
        ];
        for (name, value) in totals {
            writeln!(out, "<div><dd>{value}</dd><dt>{name}</dt></div>")?;
        }
        out.push_str("</dl>\n<section>\n<h2>What stands out</h2>\n<ul class=\"findings\">\n");
        if self.findings.is_empty() {
            out.push_str("<li>Nothing.</li>\n");
        }
        for finding in &self.findings {
            writeln!(out, "<li>{}</li>", with_code(&finding.to_string()))?;
        }
        out.push_str("</ul>\n</section>\n");
        self.pattern_table(out)?;
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

    fn pattern_table(&self, out: &mut String) -> std::fmt::Result {
        out.push_str("<section>\n<h2>Patterns</h2>\n<p>One call of each. Open a pattern to see its requests.</p>\n");
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
        head(out, &names, 2)?;
        for pattern in &self.patterns {
            let PatternReport { name, class, plan, .. } = pattern;
            let (name, plan) = (escaped(name), escaped(plan));
            writeln!(
                out,
                "<tr><th scope=\"row\"><details><summary>{name}</summary><pre>{plan}</pre></details></th>\
                 <td>{class}</td>"
            )?;
            let within =
                pattern.within_ms.map_or_else(String::new, |ms| format!("{} ms", grouped(ms)));
            let numbers: [&dyn Display; 9] = [
                &rate(pattern.per_second),
                &within,
                &at_least(pattern.requests, pattern.at_least),
                &grouped(pattern.rows_read),
                &grouped(pattern.rows_matching),
                &grouped(pattern.rows_written),
                &grouped(pattern.bytes_up),
                &grouped(pattern.bytes_down),
                &price(pattern.price_per_month),
            ];
            numbers.iter().try_for_each(|number| write!(out, "<td class=\"n\">{number}</td>"))?;
            out.push_str("</tr>\n");
        }
        writeln!(out, "</tbody></table></div>\n<p class=\"legend\">{LEGEND}</p>\n</section>")
    }

    fn load_table(&self, out: &mut String) -> std::fmt::Result {
        let target = Target::Partition.rows_per_second();
        writeln!(
            out,
            "<section>\n<h2>Load</h2>\n<p>Rows that are read and written in a second, of the {} that \
             the service aims at for one partition.</p>",
            number(target)
        )?;
        head(out, &["Table", "PartitionKey", "Most by", "Share", "Rows/s"], 4)?;
        for PartitionLoad { table, partition_key, rows_per_second, most_by } in &self.partitions {
            let width = (100.0 * rows_per_second / target).min(100.0);
            let class = if *rows_per_second > target { "bar over" } else { "bar" };
            writeln!(
                out,
                "<tr><td><code>{}</code></td><td><code>{}</code></td><td>{}</td>\
                 <td><span class=\"{class}\"><span style=\"width:{width:.1}%\"></span></span> {}</td>\
                 <td class=\"n\">{}</td></tr>",
                escaped(table),
                escaped(partition_key),
                escaped(most_by),
                share(*rows_per_second, Target::Partition),
                number(*rows_per_second)
            )?;
        }
        out.push_str("</tbody></table></div>\n</section>\n");
        Ok(())
    }
}

fn entity_section(out: &mut String, entity: &EntityReport, book: &BookReport) -> std::fmt::Result {
    let EntityReport { name, table, partition, rows, entities, stored_bytes, .. } = entity;
    writeln!(
        out,
        "<section>\n<h2>{name}</h2>\n<p>Table <code>{table}</code>, PartitionKey <code>{}</code>: {} \
         entities of {} bytes, all rows together; {} {} a month.</p>",
        escaped(partition),
        grouped(*entities),
        grouped(*stored_bytes),
        price(entity.price_per_month),
        escaped(&book.prices.currency)
    )?;
    head(out, &["Row", "Kind", "RowKey, and a sample", "Read by", "Bytes"], 4)?;
    for RowReport { name, kind, key, sample, stored_bytes, patterns } in rows {
        let sample = sample.as_ref().map_or("", |[_, row_key]| row_key);
        let patterns: Vec<_> = patterns.iter().map(|pattern| escaped(pattern)).collect();
        writeln!(
            out,
            "<tr><th scope=\"row\">{name}</th><td>{kind}</td><td><code>{}</code><br><code \
             class=\"sample\">{}</code></td><td>{}</td><td class=\"n\">{}</td></tr>",
            escaped(key),
            escaped(sample),
            patterns.join("<br>"),
            grouped(*stored_bytes)
        )?;
    }
    out.push_str("</tbody></table></div>\n</section>\n");
    Ok(())
}

/// Begins a table. The columns behind the first ones hold numbers.
fn head(out: &mut String, names: &[&str], texts: usize) -> std::fmt::Result {
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    for (at, name) in names.iter().enumerate() {
        let class = if at < texts { "" } else { " class=\"n\"" };
        write!(out, "<th scope=\"col\"{class}>{name}</th>")?;
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    Ok(())
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Text in which grave accents are around code.
fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| {
        let part = escaped(part);
        if at % 2 == 1 { format!("<code>{part}</code>") } else { part }
    });
    parts.collect()
}
