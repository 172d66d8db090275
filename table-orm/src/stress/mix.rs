//! What an untyped stress test sends, and in which shares.

use super::error::{StressError, within};
use crate::layer::rate::units;
use crate::model::{MAX_PAGE_ROWS, MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS};
use std::fmt;

/// Reads and writes of rows that the stress test makes up, and the share of each among all calls.
///
/// Only the ratio of shares counts. The default is 80 point reads to 20 upserts.
///
/// ```
/// use table_orm::stress::Mix;
///
/// let mix = Mix::empty().point_reads(70.0).inserts(20.0).transactions(10.0, 25);
/// assert_eq!(mix.to_string(), "70 % point reads, 20 % inserts, 10 % transactions of 25");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use = "a mix does nothing until `Stress::mix`"]
pub struct Mix {
    shares: [f64; 5],
    range_rows: u16,
    transaction_rows: u16,
}

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    PointRead,
    RangeRead,
    Insert,
    Upsert,
    Transaction,
}

/// In the order of `Mix::shares`.
const KINDS: [Kind; 5] =
    [Kind::PointRead, Kind::RangeRead, Kind::Insert, Kind::Upsert, Kind::Transaction];

/// Multiples of the golden ratio, less their whole part, fill 0 to 1 evenly.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// How many rows of that size fit a transaction. Around each, the request has a head and the address.
pub(super) fn rows_of_a_transaction(entity_bytes: usize) -> u32 {
    let fitting = MAX_TRANSACTION_BYTES / (entity_bytes + 1024);
    fitting.clamp(1, MAX_TRANSACTION_OPERATIONS) as u32
}

impl Default for Mix {
    fn default() -> Self {
        Self::empty().point_reads(80.0).upserts(20.0)
    }
}

impl Mix {
    /// Starts with nothing to send.
    pub const fn empty() -> Self {
        Self { shares: [0.0; 5], range_rows: 100, transaction_rows: 100 }
    }

    /// Sets the share of reads of one row by its keys.
    pub const fn point_reads(mut self, share: f64) -> Self {
        self.shares[0] = share;
        self
    }

    /// Sets the share of reads of that many neighbouring rows, 1 to 1000.
    pub const fn range_reads(mut self, share: f64, rows: u16) -> Self {
        self.shares[1] = share;
        self.range_rows = rows;
        self
    }

    /// Sets the share of inserts of new rows. They stay, so the table grows.
    pub const fn inserts(mut self, share: f64) -> Self {
        self.shares[2] = share;
        self
    }

    /// Sets the share of writes over a loaded row (insert or replace).
    pub const fn upserts(mut self, share: f64) -> Self {
        self.shares[3] = share;
        self
    }

    /// Sets the share of entity group transactions that write over that many loaded rows, 1 to 100.
    pub const fn transactions(mut self, share: f64, rows: u16) -> Self {
        self.shares[4] = share;
        self.transaction_rows = rows;
        self
    }

    pub(super) fn check(&self, entity_bytes: usize) -> Result<(), StressError> {
        for share in self.shares {
            within("a share of the mix", share, 0.0, 1e9)?;
        }
        if self.sum() <= 0.0 {
            return Err(StressError::EmptyMix);
        }
        within("the rows of a range read", self.range_rows.into(), 1.0, MAX_PAGE_ROWS.into())?;
        let (rows, most) = (self.transaction_rows, MAX_TRANSACTION_OPERATIONS as f64);
        within("the entities of a transaction", rows.into(), 1.0, most)?;
        if self.shares[4] > 0.0 && u32::from(rows) > rows_of_a_transaction(entity_bytes) {
            return Err(StressError::TransactionBytes { rows, bytes: entity_bytes });
        }
        Ok(())
    }

    fn sum(&self) -> f64 {
        self.shares.iter().sum()
    }

    /// The kind of a call. Kinds are spread evenly: in any run of calls, each has nearly its share.
    pub(super) fn kind(&self, call: u64) -> Kind {
        let mut left = (call as f64 * GOLDEN).fract() * self.sum();
        let drawn = KINDS.into_iter().zip(self.shares).find(|(_, share)| {
            left -= share;
            left < 0.0
        });
        drawn.map_or(Kind::PointRead, |(kind, _)| kind)
    }

    /// How many rows a call reads or writes.
    pub(super) fn rows(&self, kind: Kind) -> u16 {
        match kind {
            Kind::RangeRead => self.range_rows,
            Kind::Transaction => self.transaction_rows,
            Kind::PointRead | Kind::Insert | Kind::Upsert => 1,
        }
    }

    /// The kinds of its calls, each with its share of all.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (Kind, f64)> {
        let sum = self.sum();
        let shares = KINDS.into_iter().zip(self.shares).filter(|(_, share)| *share > 0.0);
        shares.map(move |(kind, share)| (kind, share / sum))
    }

    /// The rows that a partition has to have before the first call.
    pub(super) fn least_rows(&self) -> u16 {
        self.kinds().map(|(kind, _)| self.rows(kind)).max().unwrap_or(1)
    }

    /// What a call of entities of that size counts on average.
    pub(super) fn entities_per_call(&self, entity_bytes: usize) -> f64 {
        let of = |(kind, share): (Kind, f64)| {
            let rows = usize::from(self.rows(kind));
            share * units(rows, rows * entity_bytes) as f64
        };
        self.kinds().map(of).sum()
    }

    /// How many rows a call has on average.
    pub(super) fn rows_per_call(&self) -> f64 {
        self.kinds().map(|(kind, share)| share * f64::from(self.rows(kind))).sum()
    }

    /// The share of calls that add a row.
    pub(super) fn growth(&self) -> f64 {
        self.shares[2] / self.sum()
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (kind, share) in self.kinds() {
            let percent = (1000.0 * share).round() / 10.0;
            write!(f, "{separator}{percent} % ")?;
            match kind {
                Kind::PointRead => f.write_str("point reads")?,
                Kind::RangeRead => write!(f, "reads of {} rows", self.range_rows)?,
                Kind::Insert => f.write_str("inserts")?,
                Kind::Upsert => f.write_str("upserts")?,
                Kind::Transaction => write!(f, "transactions of {}", self.transaction_rows)?,
            }
            separator = ", ";
        }
        Ok(())
    }
}
