//! A typed entity ORM for Azure Table Storage.

pub mod edm;
pub mod entity;
pub mod key;
pub mod query;
pub mod store;
