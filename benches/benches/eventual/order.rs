//! An order of a customer and of a day: once with a row that follows it, once as two entities.

use table_orm::TableEntity;

/// The partition of all rows by day.
pub const DAY: &str = "2026-11-23";

/// The library writes both rows.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "ORD:{number:08}")]
#[row(by_day, partition = "{day}", key = "DAY:{number:08}__{customer}", eventual)]
pub struct Order {
    pub customer: String,
    pub number: u32,
    pub day: String,
    pub cents: u32,
    pub note: String,
}

/// The row by customer of an app that writes both by hand.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "ORD:{number:08}")]
pub struct ByCustomer {
    pub customer: String,
    pub number: u32,
    pub day: String,
    pub cents: u32,
    pub note: String,
}

/// Its row by day.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(
    name = "orders",
    partition = "{day}",
    row = "DAY:{number:08}__{customer}",
    allow_append_only
)]
pub struct ByDay {
    pub customer: String,
    pub number: u32,
    pub day: String,
    pub cents: u32,
    pub note: String,
}

pub fn order(customer: usize, number: u32) -> Order {
    Order {
        customer: format!("customer {customer}"),
        number,
        day: DAY.to_owned(),
        cents: 1_999,
        note: "Leave it with the neighbours, or behind the shed.".to_owned(),
    }
}

pub fn by_hand(order: Order) -> (ByCustomer, ByDay) {
    let Order { customer, number, day, cents, note } = order.clone();
    let by_customer = ByCustomer { customer, number, day, cents, note };
    let Order { customer, number, day, cents, note } = order;
    (by_customer, ByDay { customer, number, day, cents, note })
}
