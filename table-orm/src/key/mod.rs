//! Keys.

pub mod order;
