//! What a query of many rows finds in its range, counted by keys alone.

use super::get::reading;
use super::list::{List, ListParts};
use super::union::{UnionList, canonical_rows};
use crate::entity::{OwnRows, Row, RowHead, TableUnion, read_rows, split_page};
use crate::error::Result;
use crate::plan::TableClient;
use crate::query::RowQuery;
use serde::Serialize;
use std::fmt;

/// How many rows of its range a query or scan reads, and how many of these match: [`List::explain`],
/// [`UnionList::explain`], [`Scan::explain`](crate::scan::Scan::explain).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The rows in the range, of whatever type. The service reads all of them.
    pub in_range: u64,
    /// The rows that the query returns.
    pub matching: u64,
    /// The requests that the query or scan takes to the end of its range, whatever its `take` says. The service bills
    /// each. Large rows take more: this counts pages of keys.
    pub transactions: u64,
    /// The requests that it would take without its filter.
    pub transactions_unfiltered: u64,
}

impl Explanation {
    /// Returns the share of the rows in the range that match, from 0 to 1: the density of the query. 1 for a
    /// range without rows.
    #[must_use]
    pub fn density(&self) -> f64 {
        if self.in_range == 0 { 1.0 } else { self.matching as f64 / self.in_range as f64 }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { in_range, matching, transactions, transactions_unfiltered } = self;
        let share = match in_range {
            0 => String::new(),
            _ => format!(" ({:.1} %)", 100.0 * self.density()),
        };
        let row = if *in_range == 1 { "row" } else { "rows" };
        let transaction = if *transactions == 1 { "transaction" } else { "transactions" };
        let match_ = if *matching == 1 { "matches" } else { "match" };
        write!(
            f,
            "{matching} of {in_range} {row} in the range {match_}{share}; {transactions} billed {transaction}, \
             {transactions_unfiltered} without the filter"
        )
    }
}

/// What was counted over all pages of a query.
#[derive(Debug, Default)]
struct Counted {
    rows: u64,
    own: u64,
    pages: u64,
}

async fn counted(client: &TableClient, own: &OwnRows, query: RowQuery) -> Result<Counted> {
    let mut counted = Counted::default();
    let mut pages = client.pages(reading::<RowHead>(query, own));
    while let Some(page) = pages.next().await? {
        counted.pages += 1;
        counted.rows += split_page(&page)?.len() as u64;
        counted.own += read_rows::<RowHead>(own, &page, None, usize::MAX)?.0.len() as u64;
    }
    Ok(counted)
}

impl<R: Row, C, T> List<R, C, T> {
    /// Counts the rows in the range, and those that match the filter. Reads the keys of all of them, 1000 a
    /// request, twice if the query has a filter or leaves out expired entities. Counts to the end of the range,
    /// whatever [`take`](Self::take) says.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
    /// # struct Invoice { customer: String, number: u32, cents: u32, paid: bool }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let invoices = Tables::in_memory()?.repo::<Invoice>();
    /// # invoices.create_table().await?;
    /// for number in 0..20 {
    ///     let paid = number != 7;
    ///     invoices.insert(&Invoice { customer: "acme".into(), number, cents: 900, paid }).await?;
    /// }
    /// let due = invoices.list(Invoice::partition("acme")).filter(|row| row.paid.eq(false));
    /// let explained = due.explain().await?;
    /// assert_eq!((explained.in_range, explained.matching), (20, 1));
    /// // An index row with `when` would make this 1.
    /// assert_eq!(explained.density(), 0.05);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, or the store rejects a request.
    pub async fn explain(&self) -> Result<Explanation>
    where
        R: 'static,
    {
        let ListParts { client, query, .. } = self.clone().into_parts();
        let own = client.alive(const { OwnRows::of::<R>() });
        let query = query?;
        let asked = client.only_alive(query.clone());
        let is_filtered = asked.filter.is_some();
        let matching = counted(&client, &own, asked).await?;
        let whole = match is_filtered {
            false => None,
            true => Some(counted(&client, &own, RowQuery { filter: None, ..query }).await?),
        };
        let range = whole.as_ref().unwrap_or(&matching);
        Ok(Explanation {
            in_range: range.rows,
            matching: matching.own,
            transactions: matching.pages,
            transactions_unfiltered: range.pages,
        })
    }
}

impl<U: TableUnion> UnionList<U> {
    /// Counts the rows in the range, of whatever type, and the entities that the query returns. Reads the keys of all
    /// rows, 1000 a request. Counts to the end of the range, whatever [`take`](Self::take) says. The query has no
    /// filter, so both numbers of transactions are equal.
    ///
    /// ```
    /// # use table_orm::{TableEntity, TableUnion, Tables};
    /// # #[derive(Debug, PartialEq, TableEntity)]
    /// # #[table(name = "orders", partition = "{order}", row = "LINE:{number:03}", unique(code))]
    /// # struct Line { order: String, number: u32, code: u32 }
    /// # #[derive(Debug, PartialEq, TableUnion)]
    /// # enum Part { Line(Line) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let lines = tables.repo::<Line>();
    /// # lines.create_table().await?;
    /// for number in 1..=20 {
    ///     lines.insert(&Line { order: "A1".into(), number, code: number }).await?;
    /// }
    /// let explained = tables.union::<Part>(Line::partition("A1")).explain().await?;
    /// assert_eq!((explained.in_range, explained.matching, explained.transactions), (20, 20, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When a key cannot hold one of the values, or the store rejects a request.
    pub async fn explain(&self) -> Result<Explanation> {
        let listing = self.clone().keys_only();
        let now = listing.client.alive(OwnRows::ANY).now;
        let mut counted = Counted::default();
        let mut pages = listing.client.pages(listing.query?);
        while let Some(page) = pages.next().await? {
            counted.pages += 1;
            counted.rows += split_page(&page)?.len() as u64;
            counted.own += canonical_rows::<U>(now, &page)?.0.len() as u64;
        }
        Ok(Explanation {
            in_range: counted.rows,
            matching: counted.own,
            transactions: counted.pages,
            transactions_unfiltered: counted.pages,
        })
    }
}
