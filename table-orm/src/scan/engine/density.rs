//! How densely the keys ahead of a range lie, from the pages read before.
//!
//! A page measures the keys that share its prefix: the characters that its first and last key share.
//! Behind that prefix a page read earlier measures, one that shares fewer characters. So the pages
//! are kept as a staircase: each shares more characters than the one below it.

use super::key_line::{KeyLine, LinePlace};

/// A page that holds less than this share of a full one measures little.
pub(super) const POOR_PAGE: f64 = 0.25;
/// More pages than any table has. A remainder longer than this is as good as endless.
pub(in crate::scan) const ENDLESS: f64 = 1e9;

/// The pages that measure what lies ahead, the last one at the end.
#[derive(Debug, Clone, Default)]
pub(super) struct Density(Vec<MeasuredPage>);

#[derive(Debug, Clone)]
struct MeasuredPage {
    /// What its first and last key share.
    prefix: String,
    first: String,
    last: String,
    pages: f64,
}

/// Keys ahead that one page measures.
struct Stretch {
    /// Where they end; `None` is the end of the line.
    end: Option<LinePlace>,
    /// The distance that a page of them spans.
    page: f64,
}

impl Density {
    /// Takes a page as a measure, or several in a row, by the first and last key and the pages.
    pub fn learn(&mut self, first: &str, last: &str, pages: f64) {
        if first == last || (pages < POOR_PAGE && !self.0.is_empty()) {
            return;
        }
        let both = first.chars().zip(last.chars());
        let prefix: String = both.take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
        self.0.retain(|page| page.prefix.len() < prefix.len());
        let (first, last) = (first.to_owned(), last.to_owned());
        self.0.push(MeasuredPage { prefix, first, last, pages });
    }

    /// The pages between two keys; `None` is the end of the line. Nothing without a measure.
    pub fn pages(&self, line: &KeyLine, from: &str, to: Option<&str>) -> Option<f64> {
        if self.0.is_empty() {
            return None;
        }
        let stop = to.map_or_else(|| line.behind(""), |to| line.place(to));
        let (mut at, mut pages) = (line.place(from), 0.0);
        for Stretch { end, page } in self.stretches(line) {
            let end = end.filter(|end| *end < stop).unwrap_or_else(|| stop.clone());
            if end <= at {
                continue;
            }
            pages += (line.distance(&at, &end) / page).min(ENDLESS);
            at = end;
        }
        Some(pages)
    }

    /// A key about that many pages after another, and before `hi`.
    pub fn key(&self, line: &KeyLine, from: &str, hi: Option<&str>, pages: f64) -> Option<String> {
        let (mut at, mut pages) = (line.place(from), pages);
        for Stretch { end, page } in self.stretches(line) {
            if end.as_ref().is_some_and(|end| *end <= at) {
                continue;
            }
            let place = line.forward(&at, page * pages);
            match end {
                Some(end) if end < place => {
                    pages -= line.distance(&at, &end) / page;
                    at = end;
                }
                _ => return line.key(&place, from, hi),
            }
        }
        None
    }

    /// What lies ahead, nearest first.
    fn stretches<'a>(&'a self, line: &'a KeyLine) -> impl Iterator<Item = Stretch> + 'a {
        self.0.iter().enumerate().rev().map(|(at, page)| {
            let span = line.distance(&line.place(&page.first), &line.place(&page.last));
            let end = (at > 0).then(|| line.behind(&page.prefix));
            Stretch { end, page: span.max(1.0) / page.pages.max(f64::MIN_POSITIVE) }
        })
    }
}
