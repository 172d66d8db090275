//! The access patterns of an app, beside its code: which keys each one reads or writes, and what that costs.
//!
//! An app lists its patterns and some sample entities. The book says for each pattern its class, requests, rows
//! and bytes, for the hottest partitions their load, what a month costs, and what stands out. It sends nothing.
//! Keep it in the repository, written by a test: then a change of a key or a cost shows in review.
//!
//! ```
//! use table_orm::book::{Book, Pattern, Prices, Sample};
//! use table_orm::{TableEntity, Tables};
//!
//! #[derive(Debug, Clone, TableEntity)]
//! #[table(name = "runners", partition = "{race}")]
//! #[row(by_bib, key = "BIB:{bib:05}")]
//! #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
//! struct Runner { race: String, bib: u32, age: u8 }
//!
//! # fn main() -> table_orm::Result<()> {
//! let runners = Tables::in_memory()?.repo::<Runner>();
//! let sample: Vec<_> =
//!     (0..100).map(|n| Runner { race: "Boston".into(), bib: n, age: 18 + n as u8 % 60 }).collect();
//! let boston = Runner::partition("Boston");
//!
//! let book = Book::new("Race office", Prices::east_us_2())
//!     .entity(Sample::of(&sample)?.entities(500_000).largest_partition(50_000))
//!     .pattern(Pattern::new("who wears a bib", runners.get(boston.by_bib().bib(7)).plan()?).per_second(20.0))
//!     .pattern(Pattern::new("the fifties", runners.list(boston.by_age().age_in(50..60)).plan()?).per_hour(6.0))
//!     .report();
//! assert_eq!((book.patterns[0].requests, book.patterns[0].rows_read), (1, 1));
//! // 18 of 100 samples, in pages of 1,000 rows.
//! assert_eq!((book.patterns[1].requests, book.patterns[1].rows_read), (9, 9_000));
//! assert!(book.markdown().contains("| who wears a bib | point query |"));
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - A number of rows is counted among the samples, and multiplied by how many entities a sample stands for.
//!   Nothing else is guessed.
//! - The same patterns and samples make the same book.

mod advice;
mod estimate;
mod finding;
mod finding_texts;
mod html;
mod known;
mod load;
mod markdown;
mod measured;
mod pattern;
mod prices;
mod repeatable;
mod report;
mod rounds;
mod sample;
mod size;
mod units;
mod usage;

pub use estimate::PatternClass;
pub use finding::{BookFinding, BookFindingKind, Target};
pub use known::KnownFinding;
pub use load::PartitionLoad;
#[cfg(feature = "stress")]
pub(crate) use pattern::MONTH;
pub use pattern::Pattern;
pub use prices::Prices;
pub use report::{BookReport, EntityReport, PatternReport, RowReport};
pub use sample::Sample;

use crate::layer::MeasuredPattern;
use advice::findings;
use known::{Mark, divide};

/// The access patterns of an app, and sample entities of its types.
#[derive(Debug, Clone)]
pub struct Book {
    title: String,
    prices: Prices,
    samples: Vec<Sample>,
    patterns: Vec<Pattern>,
    measured: Vec<MeasuredPattern>,
    marks: Vec<Mark>,
}

impl Book {
    /// A book without patterns.
    #[must_use]
    pub fn new(title: impl Into<String>, prices: Prices) -> Self {
        let title = title.into();
        Self {
            title,
            prices,
            samples: Vec::new(),
            patterns: Vec::new(),
            measured: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// Adds an entity type, with samples of its entities.
    #[must_use]
    pub fn entity(mut self, sample: Sample) -> Self {
        self.samples.push(sample);
        self
    }

    /// Adds a pattern.
    #[must_use]
    pub fn pattern(mut self, pattern: Pattern) -> Self {
        self.patterns.push(pattern);
        self
    }

    /// Adds what a [`Measure`](crate::layer::Measure) has counted. The report shows it beside the patterns of the same
    /// names. A name that no pattern has is reported as [`BookFinding::Unplanned`].
    #[must_use]
    pub fn measured(mut self, measured: impl IntoIterator<Item = MeasuredPattern>) -> Self {
        self.measured.extend(measured);
        self
    }

    /// Marks a finding as known and accepted, with the reason. The report lists it apart. [`BookFindingKind`] says what
    /// the subject of each kind is, and [`BookFinding::subject`] returns it. A mark that fits no finding is reported as
    /// [`BookFinding::UnusedMark`], and one without a reason as [`BookFinding::NoReason`].
    ///
    /// ```
    /// use table_orm::book::{Book, BookFindingKind, Prices, Sample};
    /// # use table_orm::TableEntity;
    /// #[derive(Debug, TableEntity)]
    /// #[table(name = "bills", partition = "{shop}")]
    /// #[row(by_number, key = "NUM:{number:05}")]
    /// #[row(by_cents, key = "CTS:{cents:05}__{number:05}")]
    /// struct Bill { shop: String, number: u32, cents: u32 }
    ///
    /// # fn main() -> table_orm::Result<()> {
    /// let sample = [Bill { shop: "Leith".into(), number: 1, cents: 900 }];
    /// let book = Book::new("Bills", Prices::east_us_2())
    ///     .entity(Sample::of(&sample)?)
    ///     .known(BookFindingKind::UnusedRow, "Bill.by_cents", "the auditors read it once a year");
    /// let report = book.report();
    /// assert!(report.findings.is_empty());
    /// assert_eq!(report.known[0].reason, "the auditors read it once a year");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn known(
        mut self,
        kind: BookFindingKind,
        subject: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        self.marks.push(Mark { kind, subject: subject.into(), reason: reason.into() });
        self
    }

    /// Returns what the patterns cost, and what stands out.
    #[must_use]
    pub fn report(&self) -> BookReport {
        let mut report = BookReport::of(&self.title, &self.prices, &self.samples, &self.patterns);
        report.measured.clone_from(&self.measured);
        let found = findings(&report, &self.samples, &self.patterns);
        (report.findings, report.known) = divide(found, &self.marks);
        report
    }
}
