//! A report as text.
//!
//! Invariant: no line has more than [`WIDTH`] columns, and stored text cannot move a terminal's cursor.

use super::report::{
    ComponentProfile, KindProfile, PartitionSize, ProfileReport, PropertyProfile, RowRole,
    SizeProfile,
};
use crate::figures::{Percentiles, bytes, counted, grouped};
use crate::model::Printable;
use std::fmt::{self, Formatter};

/// The most columns of a line.
pub(super) const WIDTH: usize = 100;
/// The most kinds of rows and the most properties that are shown.
const SHOWN: usize = 30;
/// The columns of the longest bar.
const BAR: f64 = 32.0;

impl fmt::Display for ProfileReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { rows, partitions, requests, seconds, .. } = self;
        let table = if self.is_whole { "Table " } else { "A part of table " };
        writeln!(f, "{table}{}", Printable(&self.table))?;
        write!(f, "  {} in {}", counted(*rows, "row"), counted(partitions.count, "partition"))?;
        if let Some(sizes) = &self.sizes {
            write!(f, ", {} as the service counts them", bytes(sizes.bytes))?;
        }
        writeln!(f)?;
        if let (Some(oldest), Some(newest)) = (&self.oldest, &self.newest) {
            writeln!(f, "  last written from {} to {}", second(oldest), second(newest))?;
        }
        writeln!(f, "  read with {} in {seconds:.1} s", counted(*requests, "request"))?;
        if *rows > 0 {
            self.partitions(f)?;
            self.kinds(f)?;
            if let Some(sizes) = &self.sizes {
                histogram(f, sizes)?;
            }
            self.properties(f)?;
            self.keys(f)?;
        }
        if !self.advice.is_empty() {
            writeln!(f, "\nAdvice")?;
        }
        for (at, advice) in self.advice.iter().enumerate() {
            wrapped(f, &format!("{:>3}. ", at + 1), &advice.to_string())?;
        }
        writeln!(
            f,
            "\nPercentiles are within 1 % or one. Different values are counted up to 100; \"about\" is within 5 %.\n\
             All else is exact."
        )
    }
}

impl ProfileReport {
    fn partitions(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let partitions = &self.partitions;
        let titles = ["least", "50 %", "90 %", "99 %", "99.9 %", "most", "mean"];
        write!(f, "\n{:<16}", "Partitions")?;
        titles.iter().try_for_each(|title| write!(f, "{title:>12}"))?;
        writeln!(f)?;
        percentiles(f, "rows", &partitions.rows, grouped)?;
        if let Some(sizes) = &partitions.bytes {
            percentiles(f, "size", sizes, bytes)?;
        }
        if partitions.single_row > 0 {
            writeln!(f, "  {} have one row", grouped(partitions.single_row))?;
        }
        if partitions.only_helpers > 0 {
            writeln!(f, "  {} have only helper rows", grouped(partitions.only_helpers))?;
        }
        if partitions.rows.most > partitions.rows.least {
            self.largest(f, "with most rows", &partitions.most_rows)?;
        }
        let is_same = partitions.most_rows.iter().map(|one| &one.key);
        if !is_same.eq(partitions.most_bytes.iter().map(|one| &one.key)) {
            self.largest(f, "with most bytes", &partitions.most_bytes)?;
        }
        Ok(())
    }

    fn largest(&self, f: &mut Formatter<'_>, title: &str, sizes: &[PartitionSize]) -> fmt::Result {
        if sizes.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nPartitions {title}")?;
        for PartitionSize { key, rows, bytes: size } in sizes {
            let share = share(*rows, self.rows);
            let size = self.size(*size);
            let key = cut(&format!("{key:?}"), 50);
            writeln!(f, "{:>14} rows {share:>8} {size:>12}   {key}", grouped(*rows))?;
        }
        Ok(())
    }

    fn kinds(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<42}{:>14}{:>10}{:>14}   part", "Kinds of rows", "rows", "share", "size")?;
        for kind in self.kinds.iter().take(SHOWN) {
            let KindProfile { entity, name, role, rows, bytes: size, .. } = kind;
            let name = match entity {
                Some(entity) => format!("{entity}.{name}"),
                None if *role == RowRole::Other => format!("RowKey {name}"),
                None => name.clone(),
            };
            let name = cut(&Printable(name).to_string(), 40);
            let (share, size) = (share(*rows, self.rows), self.size(*size));
            let line = format!("  {name:<40}{:>14}{share:>10}{size:>14}   {role}", grouped(*rows));
            writeln!(f, "{}", line.trim_end())?;
        }
        more(f, self.kinds.len())
    }

    fn properties(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.properties.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "\n{:<26}{:>13}{:>8}{:>11}{:>10}{:>7}   types",
            "Properties", "rows", "share", "size", "largest", "values"
        )?;
        for property in self.properties.iter().take(SHOWN) {
            let PropertyProfile { name, rows, of_rows, values, types, constant, .. } = property;
            let name = cut(&Printable(name).to_string(), 24);
            let (share, size) = (share(*rows, *of_rows), bytes(property.bytes));
            let types: Vec<_> = types.iter().map(|edm| edm.trim_start_matches("Edm.")).collect();
            let types = match constant {
                Some(value) => format!("{} {value}", types.join(", ")),
                None => types.join(", "),
            };
            writeln!(
                f,
                "  {name:<24}{:>13}{share:>8}{size:>11}{:>10}{values:>7}   {}",
                grouped(*rows),
                bytes(property.largest),
                cut(&types, 22)
            )?;
        }
        more(f, self.properties.len())?;
        if self.other_properties > 0 {
            let others = grouped(self.other_properties);
            writeln!(f, "  and {others} values under other names, which are too many to list")?;
        }
        Ok(())
    }

    fn keys(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nKeys")?;
        let partitions = grouped(self.partitions.count);
        writeln!(
            f,
            "  PartitionKeys: {partitions} different; RowKeys: {} different",
            self.row_keys
        )?;
        for component in self.components.iter().take(SHOWN) {
            let ComponentProfile { entity, row, key, name, values } = component;
            let row = row.as_ref().map_or(String::new(), |row| format!(".{row}"));
            let name = format!("{entity}{row} {key} {{{name}}}: ");
            writeln!(f, "  {}{values} different", cut(&Printable(name).to_string(), 70))?;
        }
        more(f, self.components.len())?;
        let Some(order) = &self.write_order else {
            return writeln!(
                f,
                "  the Timestamps do not show in which order partitions were written"
            );
        };
        writeln!(
            f,
            "  order of keys and of first writes: correlation {:.2}, of {} partitions",
            order.correlation,
            grouped(order.partitions)
        )?;
        writeln!(f, "  first written from {} to {}", second(&order.from), second(&order.to))
    }

    fn size(&self, size: u64) -> String {
        if self.sizes.is_some() { bytes(size) } else { String::new() }
    }
}

fn percentiles(
    f: &mut Formatter<'_>,
    title: &str,
    numbers: &Percentiles,
    shown: fn(u64) -> String,
) -> fmt::Result {
    let Percentiles { least, p50, p90, p99, p999, most, mean } = *numbers;
    write!(f, "  {title:<14}")?;
    let mean = mean.round() as u64;
    let numbers = [least, p50, p90, p99, p999, most, mean];
    numbers.into_iter().try_for_each(|number| write!(f, "{:>12}", shown(number)))?;
    writeln!(f)
}

fn histogram(f: &mut Formatter<'_>, sizes: &SizeProfile) -> fmt::Result {
    writeln!(f, "\n{:<16}{:>14}{:>10}", "Sizes of rows", "rows", "share")?;
    let rows: u64 = sizes.histogram.iter().map(|bucket| bucket.rows).sum();
    let most = sizes.histogram.iter().map(|bucket| bucket.rows).max().unwrap_or_default().max(1);
    for bucket in &sizes.histogram {
        let bar = "#".repeat((BAR * bucket.rows as f64 / most as f64).ceil() as usize);
        let title = format!("up to {}", bytes(bucket.at_most));
        let share = share(bucket.rows, rows);
        let line = format!("  {title:<14}{:>14}{share:>10}  {bar}", grouped(bucket.rows));
        writeln!(f, "{}", line.trim_end())?;
    }
    let names = share(sizes.name_bytes, sizes.bytes);
    writeln!(f, "  names of properties are {names} of the bytes")
}

fn more(f: &mut Formatter<'_>, all: usize) -> fmt::Result {
    match all.checked_sub(SHOWN) {
        Some(more @ 1..) => writeln!(f, "  and {more} more"),
        _ => Ok(()),
    }
}

/// Writes words in lines, the first after `start`.
fn wrapped(f: &mut Formatter<'_>, start: &str, text: &str) -> fmt::Result {
    let (indent, mut column) = (start.chars().count(), start.chars().count());
    write!(f, "{start}")?;
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > indent && column + 1 + width > WIDTH {
            write!(f, "\n{:indent$}", "")?;
            column = indent;
        } else if column > indent {
            write!(f, " ")?;
            column += 1;
        }
        let word = cut(word, WIDTH - indent);
        write!(f, "{word}")?;
        column += width;
    }
    writeln!(f)
}

fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// An instant without the fraction of its second.
fn second(instant: &str) -> String {
    match instant.split_once('.') {
        Some((second, _)) => format!("{second}Z"),
        None => instant.to_owned(),
    }
}

/// The text without what is beyond a width.
fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some(_) => text.chars().take(width - 2).chain("..".chars()).collect(),
        None => text.to_owned(),
    }
}
