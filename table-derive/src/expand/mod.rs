//! Code, from what the rules allow. Each function writes one piece of it.

pub mod entity;
pub mod key_part;
pub mod projection;
pub mod properties;
pub mod scope;
pub mod signature;
pub mod types;
pub mod union;

mod columns;
mod key;
mod partition;
mod patch;
mod projected;
mod property;
mod read;
mod row;
mod sample;
mod write;

#[cfg(test)]
mod tests;
