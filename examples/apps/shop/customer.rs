//! Customers: an e-mail address belongs to one of them, whatever partition they are in.

use table_orm::TableEntity;

/// A customer, in a partition of its own.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "customers", partition = "{id:08}", row = "CUST", unique(address, across))]
#[row(by_email, partition = "email:{address}", key = "MAIL:{id:08}", eventual)]
#[component(address = lower(email))]
pub struct Customer {
    /// Unique; the ids of customers have gaps.
    pub id: u64,
    /// As the customer writes it.
    pub name: String,
    /// Unique among all customers, in whatever case.
    pub email: String,
}
