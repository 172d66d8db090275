//! The user guide, whose examples compile as tests.

#[doc = include_str!("../guide/keys.md")]
pub mod keys {}

#[doc = include_str!("../guide/scans.md")]
pub mod scans {}
