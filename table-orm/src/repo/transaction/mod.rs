//! Writes of several entities of one partition in one entity group transaction.

mod builder;
mod entities;
mod required;
mod scope;
mod untyped;
mod with;
mod writes;

pub use builder::Transaction;
pub use required::Required;
pub use scope::TransactionScope;
pub use untyped::TableTransaction;
pub use with::TransactionWith;
pub use writes::Room;

pub(crate) use writes::Writes;
