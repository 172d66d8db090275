//! What the requests of a plan cost, before they are sent.
//!
//! Invariant: a call that succeeds stays within the bounds. One that is rejected may not. Exceptions: another writer, the service or the network
//! makes it send a request again, or it deletes an expired entity to make room.

use crate::figures::bytes;
use crate::model::{MAX_PAGE_ROWS, MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS};
use crate::query::{QueryClass, RowQuery};
use crate::store::Operation;
use bytes::Bytes;
use serde::Serialize;
use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// What requests cost: [`Plan::cost`](super::Plan::cost).
///
/// Not counted:
/// - requests that are sent again after a conflict or a failure;
/// - those that delete an [expired](crate::guide::run::expiry) entity whose key an insert takes;
/// - a read that the feature `cache` spares;
/// - the release of what a rejected write had reserved, such as a value that is
///   [`unique` over all partitions](crate::guide::work::unique_across);
/// - rows of other entities that a bulk write reads between its own, where it settles several entities together.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
/// # struct Invoice { customer: String, number: u32, cents: u32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let invoices = Tables::in_memory()?.repo::<Invoice>();
/// let acme = Invoice::partition("acme");
/// let get = invoices.get(acme.row().number(1)).plan()?.cost();
/// assert_eq!(get.to_string(), "1 billed transaction; reads 0 to 1 rows");
/// let list = invoices.list(acme.row().number_in(..10)).plan()?.cost();
/// assert_eq!((list.transactions.least, list.transactions.most), (1, None));
/// let write = invoices.insert(&Invoice { customer: "acme".into(), number: 1, cents: 900 }).plan()?;
/// assert_eq!(write.cost().rows_written.most, Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Cost {
    /// Requests that the service bills. It bills one for each page of up to 1,000 rows, and one for an entity
    /// group transaction of any size.
    pub transactions: Bounds,
    /// Rows that the service reads to answer, whether or not they match a filter.
    pub rows_read: Bounds,
    /// Rows that are inserted, replaced, merged or deleted.
    pub rows_written: Bounds,
    /// Bytes of the rows' JSON that are sent. Headers, addresses and what frames the operations of a
    /// transaction are not counted.
    pub bytes_up: Bounds,
}

/// What requests cost in each of the places that a write of an entity has to do with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlacedCost {
    /// In the partition of the entity.
    pub home: Cost,
    /// In the other partitions and tables that have rows of the entity, or copies of totals.
    pub others: Cost,
    /// In the partitions of guard rows. The value that is unique over all partitions is their PartitionKey, so each has
    /// one of its own.
    pub guards: Cost,
}

/// A number that is known before the requests are sent, or what it is between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(clippy::exhaustive_structs, reason = "two ends are all that bounds have")]
pub struct Bounds {
    /// The least it can be.
    pub least: u64,
    /// The most it can be; `None` if nothing limits it.
    pub most: Option<u64>,
}

impl Bounds {
    /// 0.
    pub(crate) const NONE: Self = Self::exactly(0);

    pub(crate) const fn exactly(number: u64) -> Self {
        Self { least: number, most: Some(number) }
    }

    pub(crate) const fn up_to(most: u64) -> Self {
        Self { least: 0, most: Some(most) }
    }

    pub(crate) const fn from(least: u64) -> Self {
        Self { least, most: None }
    }

    pub(crate) const fn between(least: u64, most: u64) -> Self {
        Self { least, most: Some(most) }
    }

    /// Returns whether the number is within the bounds.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        number >= self.least && self.most.is_none_or(|most| number <= most)
    }
}

impl Add for Bounds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let most = self.most.zip(other.most);
        Self {
            least: self.least.saturating_add(other.least),
            most: most.map(|(one, two)| one.saturating_add(two)),
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { least, most: Some(most) } if least == most => write!(f, "{least}"),
            Self { least, most: Some(most) } => write!(f, "{least} to {most}"),
            Self { least, most: None } => write!(f, "{least} or more"),
        }
    }
}

impl Cost {
    /// The cost of no request.
    pub(crate) const NOTHING: Self = Self::transactions(Bounds::NONE);

    /// Nothing limits it.
    pub(crate) const UNBOUNDED: Self = {
        let any = Bounds::from(0);
        Self { transactions: any, rows_read: any, rows_written: any, bytes_up: any }
    };

    /// Requests of that number, none of which reads or writes rows.
    const fn transactions(transactions: Bounds) -> Self {
        let (rows_read, rows_written, bytes_up) = (Bounds::NONE, Bounds::NONE, Bounds::NONE);
        Self { transactions, rows_read, rows_written, bytes_up }
    }

    /// Point queries.
    pub(crate) const fn point_queries(queries: Bounds) -> Self {
        Self { rows_read: Bounds { least: 0, most: queries.most }, ..Self::transactions(queries) }
    }

    /// Requests with that many operations together, whose bytes are not known yet.
    pub(crate) const fn writes(transactions: Bounds, operations: Bounds) -> Self {
        let bytes_up = match transactions.most {
            Some(most) => Bounds::up_to(most * MAX_TRANSACTION_BYTES as u64),
            None => Bounds::from(0),
        };
        Self { rows_written: operations, bytes_up, ..Self::transactions(transactions) }
    }

    /// Requests that delete that many rows together.
    pub(crate) const fn deletes(transactions: Bounds, rows: Bounds) -> Self {
        Self { rows_written: rows, ..Self::transactions(transactions) }
    }

    /// One transaction of at most that many operations, or none.
    pub(crate) fn changes(operations: usize) -> Self {
        let operations = operations.min(MAX_TRANSACTION_OPERATIONS) as u64;
        Self::writes(Bounds::up_to(1), Bounds::up_to(operations))
    }

    /// The operations of one request.
    pub(super) fn of(operations: &[Operation]) -> Self {
        let bodies = operations.iter().filter_map(|operation| operation.action.body());
        let bytes = bodies.map(Bytes::len).sum::<usize>() as u64;
        Self {
            rows_written: Bounds::exactly(operations.len() as u64),
            bytes_up: Bounds::exactly(bytes),
            ..Self::transactions(Bounds::exactly(1))
        }
    }

    /// Bounds that hold for either.
    pub(crate) fn or(self, other: Self) -> Self {
        let wider = |one: Bounds, other: Bounds| Bounds {
            least: one.least.min(other.least),
            most: one.most.zip(other.most).map(|(one, other)| one.max(other)),
        };
        Self {
            transactions: wider(self.transactions, other.transactions),
            rows_read: wider(self.rows_read, other.rows_read),
            rows_written: wider(self.rows_written, other.rows_written),
            bytes_up: wider(self.bytes_up, other.bytes_up),
        }
    }

    /// What this costs so often, where transactions may be shared.
    pub(crate) fn times(self, times: Bounds) -> Self {
        let of = |each: Bounds| Bounds {
            least: each.least.saturating_mul(times.least),
            most: match (each.most, times.most) {
                (Some(0), _) | (_, Some(0)) => Some(0),
                (each, times) => each.zip(times).map(|(each, times)| each.saturating_mul(times)),
            },
        };
        let rows_written = of(self.rows_written);
        let transactions = of(self.transactions);
        let full = rows_written.least.div_ceil(MAX_TRANSACTION_OPERATIONS as u64);
        Self {
            transactions: Bounds { least: transactions.least.max(full), ..transactions },
            rows_read: of(self.rows_read),
            rows_written,
            bytes_up: of(self.bytes_up),
        }
    }

    /// What a read costs that finds that many rows, and reads others beside them.
    pub(super) fn finding(self, rows: u64) -> Self {
        if self.transactions.most.is_some() {
            return self;
        }
        let pages = rows.div_ceil(MAX_PAGE_ROWS.into()).max(1);
        Self { rows_read: Bounds::from(rows), ..Self::transactions(Bounds::from(pages)) }
    }

    pub(super) fn read(query: &RowQuery, limit: Option<usize>) -> Self {
        if limit == Some(0) {
            return Self::NOTHING;
        }
        match (query.keys.class(), &query.filter) {
            (QueryClass::Point, None) => Self::point_queries(Bounds::exactly(1)),
            // An empty page may have another after it.
            (QueryClass::Point, Some(_)) => {
                Self { rows_read: Bounds::up_to(1), ..Self::transactions(Bounds::from(1)) }
            }
            _ => Self { rows_read: Bounds::from(0), ..Self::transactions(Bounds::from(1)) },
        }
    }
}

impl PlacedCost {
    /// The cost of no request.
    pub(crate) const NOTHING: Self = Self::home(Cost::NOTHING);

    /// Nothing limits it. The places are not known, so it counts for the partition of the entity.
    pub(crate) const UNBOUNDED: Self = Self::home(Cost::UNBOUNDED);

    /// What is sent to the partition of the entity only.
    pub(crate) const fn home(home: Cost) -> Self {
        Self { home, others: Cost::NOTHING, guards: Cost::NOTHING }
    }

    /// What is sent to other partitions with rows of the entity only.
    pub(crate) const fn others(others: Cost) -> Self {
        Self { others, ..Self::NOTHING }
    }

    /// The reservation of that many values with that many tickets.
    pub(crate) fn reserving(values: Bounds, tickets: Bounds) -> Self {
        Self { guards: Cost::writes(values, values), ..Self::home(Cost::writes(tickets, tickets)) }
    }

    /// The release of that many values that an entity gave up: reads of the guard row, its ticket and the entity, and
    /// the deletes of the guard row and, if nothing else deletes it, of the intent.
    pub(crate) fn releasing(values: Bounds) -> Self {
        let up_to = |most: Option<u64>| Bounds { least: 0, most };
        let reads = up_to(values.most.map(|values| 2 * values));
        let intent = up_to(values.most.map(|values| values.min(1)));
        let deletes = up_to(values.most);
        Self {
            home: Cost::point_queries(reads) + Cost::deletes(intent, intent),
            guards: Cost::point_queries(values) + Cost::deletes(deletes, deletes),
            ..Self::NOTHING
        }
    }

    /// Returns what the requests cost together.
    #[must_use]
    pub fn all(&self) -> Cost {
        self.home + self.others + self.guards
    }

    /// Bounds that hold if none of the requests is needed, too.
    pub(crate) fn or_nothing(self) -> Self {
        self.each(|cost| cost.or(Cost::NOTHING))
    }

    /// What this costs so often, where transactions may be shared.
    pub(crate) fn times(self, times: Bounds) -> Self {
        self.each(|cost| cost.times(times))
    }

    fn each(self, of: impl Fn(Cost) -> Cost) -> Self {
        Self { home: of(self.home), others: of(self.others), guards: of(self.guards) }
    }
}

impl From<Cost> for PlacedCost {
    fn from(home: Cost) -> Self {
        Self::home(home)
    }
}

impl Add for PlacedCost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            home: self.home + other.home,
            others: self.others + other.others,
            guards: self.guards + other.guards,
        }
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            transactions: self.transactions + other.transactions,
            rows_read: self.rows_read + other.rows_read,
            rows_written: self.rows_written + other.rows_written,
            bytes_up: self.bytes_up + other.bytes_up,
        }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::NOTHING, Add::add)
    }
}

/// Bytes as text: exact ones as they are, and bounds in units.
struct BytesText(Bounds);

impl fmt::Display for BytesText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Bounds { least, most: Some(most) } if least == most => write!(f, "{least} bytes"),
            Bounds { least, most: Some(most) } => write!(f, "{} to {}", bytes(least), bytes(most)),
            Bounds { least, most: None } => write!(f, "{} or more", bytes(least)),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { transactions, rows_read, rows_written, bytes_up } = self;
        let plural = |bounds: &Bounds| if *bounds == Bounds::exactly(1) { "" } else { "s" };
        write!(f, "{transactions} billed transaction{}", plural(transactions))?;
        if *rows_read != Bounds::NONE {
            write!(f, "; reads {rows_read} row{}", plural(rows_read))?;
        }
        if *rows_written != Bounds::NONE {
            let rows = plural(rows_written);
            write!(f, "; writes {rows_written} row{rows}, {} up", BytesText(*bytes_up))?;
        }
        Ok(())
    }
}
