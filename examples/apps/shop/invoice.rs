//! Invoices: numbered without gaps, and added up by day.

use table_orm::{Projection, Sum, TableEntity};
use time::Date;

/// The invoice of an order. Those of a series are one partition: their numbers have no gaps.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "invoices", partition = "{series}", unique(order), sums = Invoice::SUMS)]
#[row(by_number, key = "INV:{number:06}")]
#[row(by_order, key = "ORD:{order:08}__{number:06}", include())]
pub struct Invoice {
    /// The series of the numbers, such as a branch of the shop.
    pub series: String,
    /// From 1 on, without gaps.
    pub number: u64,
    /// The number of the order. No two invoices of a series have the same.
    pub order: u64,
    /// The day that the revenue counts for.
    pub day: Date,
    /// The amount.
    pub cents: i64,
}

impl Invoice {
    /// The revenue of each day.
    pub const REVENUE: Sum<Self> =
        Sum::by_group("revenue", |invoice| (invoice.day.to_string(), invoice.cents));
    const SUMS: &'static [Sum<Self>] = &[Self::REVENUE];
}

/// What `by_order` stores.
#[derive(Debug, PartialEq, Eq, Projection)]
#[projection(of = Invoice)]
pub struct Billed {
    /// The number of the invoice.
    pub number: u64,
}
