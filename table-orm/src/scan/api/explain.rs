//! What a scan finds in its partitions, counted by keys alone.

use super::scan::Scan;
use crate::error::Result;
use crate::model::{PARTITION_KEY, ROW_KEY};
use crate::query::{KeyRange, RowQuery, Span};
use crate::repo::Explanation;
use crate::scan::engine::{Alive, Position, ReadRows, bounds, whose_rows};

/// What was counted over all pages of a scan.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    rows: u64,
    own: u64,
    requests: u64,
}

impl<T, R> Scan<T, R> {
    /// Counts the rows in the range of partitions, of whatever type, and those that the scan returns. Reads the
    /// keys of all of them, 1000 a request, and those of the rows that it returns once more if the service leaves
    /// others out. Counts to the end of the range, whatever [`take`](Self::take) or a checkpoint says.
    ///
    /// The service leaves out rows by the filter, and by the RowKey: a scan of entities asks only for
    /// RowKeys that their canonical rows can have. It reads and bills all of them. So without a filter, the
    /// [density](Explanation::density) is the share of canonical rows, and `transactions_unfiltered` counts a scan of
    /// rows of all kinds.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// for (race, bib, age) in [("Boston", 7, 55), ("Boston", 9, 31), ("Chicago", 1, 44)] {
    ///     runners.insert(&Runner { race: race.into(), bib, age }).await?;
    /// }
    /// let scan = runners.scan(ScanPermit::because("is an index row worth it?"));
    /// // Each runner has two rows.
    /// assert_eq!(scan.explain().await?.density(), 0.5);
    /// let boston = scan.partitions_in(Runner::partition("Boston")..=Runner::partition("Boston"));
    /// let masters = boston.filter(|row| row.age.ge(40)).explain().await?;
    /// assert_eq!((masters.matching, masters.transactions), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub async fn explain(&self) -> Result<Explanation> {
        let scan = Self { limit: None, skip: None, ..self.clone().without_checkpoint() };
        let whole = scan.whole();
        let matching = scan.counted().await?;
        let range = match whole {
            Some(whole) => whole.counted().await?,
            None => matching,
        };
        Ok(Explanation {
            in_range: range.rows,
            matching: matching.own,
            transactions: matching.requests,
            transactions_unfiltered: range.requests,
        })
    }

    /// The scan of all rows that the service reads for this one; `None` if this one returns them all.
    fn whole(&self) -> Option<Self> {
        let query = self.query.as_ref().ok()?;
        let (lo, hi) = bounds(&query.keys.partition);
        // Within one partition, the service finds a range of RowKeys without reading the others.
        let is_one = hi.as_ref() == Some(&Position::after_partition(&lo).pk);
        let row = if is_one { query.keys.row.clone() } else { Span::All };
        if query.filter.is_none() && row == query.keys.row && self.alive.comparisons() == 0 {
            return None;
        }
        let keys = KeyRange { row, ..query.keys.clone() };
        let query = RowQuery { keys, filter: None, ..query.clone() };
        Some(Self { query: Ok(query), alive: Alive::default(), ..self.clone() })
    }

    async fn counted(self) -> Result<Counted> {
        let select = self.keys(&[PARTITION_KEY, ROW_KEY]);
        let mut run =
            self.bare().run::<bool>(Some(select), ReadRows::By(whose_rows), None, false)?;
        let mut counted = Counted::default();
        while let Some(page) = run.next().await? {
            counted.rows += page.rows.len() as u64;
            counted.own += page.rows.iter().filter(|own| **own).count() as u64;
        }
        counted.requests = run.shared.report().requests;
        Ok(counted)
    }
}
