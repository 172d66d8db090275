//! Orders: found by customer, by label, and by day over all customers. Each change of one is an event.

use table_orm::TableEntity;
use time::Date;

/// An order of a customer.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "orders", partition = "{customer:08}", outbox(after))]
#[row(by_number, key = "ORD:{number:08}")]
#[row(by_label, key = "LAB:{label}__{number:08}", each(label in labels))]
#[row(by_day, partition = "{day}", key = "DAY:{number:08}__{customer:08}", eventual)]
pub struct Order {
    /// The id of the customer.
    pub customer: u64,
    /// Unique; the numbers of orders have gaps.
    pub number: u64,
    /// The day of delivery.
    pub day: Date,
    /// What the customer wrote on it.
    #[table(json)]
    pub labels: Vec<String>,
    /// The price.
    pub cents: i64,
    /// The number of its invoice, as soon as it has one.
    pub invoice: Option<u64>,
}
