//! Answers as text of at most 100 columns; with colours only on a terminal.

use comfy_table::{
    Cell, CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle,
};
use std::io::{self, Write};
use std::time::Duration;
use table_orm::plan::Plan;

/// The width of the output, in columns.
const WIDTH: u16 = 100;
/// The indent of everything except headings.
const INDENT: &str = "   ";
/// The indent of the values in a plan's text.
const PLAN_VALUES: usize = 16;
/// The indent of the continuation of a list's line.
const ITEM_TEXT: usize = 4;
/// How many rows of an answer are shown.
const SHOWN: usize = 8;

/// The output.
pub struct Report<W> {
    out: W,
    terminal: bool,
    questions: usize,
}

/// A column's title, and the alignment of its cells.
#[derive(Clone, Copy)]
pub enum Column {
    /// Text.
    Left(&'static str),
    /// Numbers.
    Right(&'static str),
}

impl<W: Write> Report<W> {
    /// `terminal` says whether the output is a terminal.
    pub const fn new(out: W, terminal: bool) -> Self {
        Self { out, terminal, questions: 0 }
    }

    /// Writes the title.
    pub fn title(&mut self, text: &str) -> io::Result<()> {
        let (bold, plain) = if self.terminal { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        writeln!(self.out, "{bold}{text}{plain}")
    }

    /// Starts the next question.
    pub fn question(&mut self, text: &str) -> io::Result<()> {
        self.questions += 1;
        self.gap()?;
        self.title(&format!("{}. {text}", self.questions))
    }

    /// A line of text.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.wrapped(text, 0)
    }

    /// A line of a list.
    pub fn item(&mut self, text: &str) -> io::Result<()> {
        self.wrapped(&format!("  {text}"), ITEM_TEXT)
    }

    /// An empty line.
    pub fn gap(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    fn wrapped(&mut self, text: &str, hanging: usize) -> io::Result<()> {
        for part in wrapped(text, hanging) {
            writeln!(self.out, "{INDENT}{part}")?;
        }
        Ok(())
    }

    /// What a call sends.
    pub fn plan(&mut self, plan: &Plan) -> io::Result<()> {
        plan.to_string().lines().try_for_each(|line| self.wrapped(line, PLAN_VALUES))
    }

    /// An answer; its first rows when it has many.
    pub fn table<const N: usize, T>(
        &mut self,
        columns: [Column; N],
        items: &[T],
        row: impl Fn(&T) -> [String; N],
    ) -> io::Result<()> {
        let line = if self.terminal { '─' } else { '-' };
        let mut table = Table::new();
        table
            .load_style(
                TableStyle::new()
                    .header_lines(ContentLineStyle::none())
                    .header_separator(LineStyle::none().fill(line))
                    .content_lines(ContentLineStyle::none()),
            )
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(WIDTH - INDENT.len() as u16);
        table.set_header(columns.iter().map(|column| match *column {
            Column::Left(title) => Cell::new(title),
            Column::Right(title) => Cell::new(title).set_alignment(CellAlignment::Right),
        }));
        for item in items.iter().take(SHOWN) {
            let cells = row(item).into_iter().zip(columns);
            table.add_row(cells.map(|(text, column)| match column {
                Column::Left(_) => Cell::new(text),
                Column::Right(_) => Cell::new(text).set_alignment(CellAlignment::Right),
            }));
        }
        self.gap()?;
        for line in table.lines() {
            writeln!(self.out, "{INDENT}{}", line.trim_end())?;
        }
        if items.len() > SHOWN {
            writeln!(self.out, "{INDENT} and {} more", grouped(items.len() - SHOWN))?;
        }
        Ok(())
    }
}

/// Breaks a line at spaces, or anywhere if it has no spaces. Indents the continuation by `hanging`.
fn wrapped(text: &str, hanging: usize) -> Vec<String> {
    let width = usize::from(WIDTH) - INDENT.len();
    let mut parts = Vec::new();
    let mut rest = text.to_owned();
    while let Some((limit, _)) = rest.char_indices().nth(width) {
        let lead = rest.len() - rest.trim_start().len();
        let at = match rest[..limit].rfind(' ') {
            Some(space) if space > lead.max(hanging) => space,
            _ => limit,
        };
        let behind = rest.split_off(at);
        parts.push(rest.trim_end().to_owned());
        rest = format!("{:hanging$}{}", "", behind.trim_start());
    }
    parts.push(rest);
    parts
}

/// `1 row`, `2,000 rows`.
pub fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
}

/// `31,984`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time that was measured: `0.12 ms`, `3.4 s`.
pub fn took(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.2} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let numbers = [0, 999, 1000, 31_984, 1_000_000].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "31,984", "1,000,000"]);
    }

    #[test]
    fn long_lines_are_broken_and_nothing_is_lost() {
        let filter = format!("  $filter       {}", "Country eq 'CAN' and ".repeat(10));
        let parts = wrapped(&filter, PLAN_VALUES);
        assert!(parts.len() > 1);
        assert!(parts.iter().all(|part| part.chars().count() <= 97));
        assert!(parts[1..].iter().all(|part| part.starts_with(&" ".repeat(PLAN_VALUES))));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&parts.join(" ")), words(&filter));
        let token = "é".repeat(250);
        assert_eq!(wrapped(&token, 0).concat(), token);
    }
}
