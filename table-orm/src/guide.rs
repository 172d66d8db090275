//! The user guide, whose examples compile as tests.

#[doc = include_str!("../guide/keys.md")]
pub mod keys {}

#[doc = include_str!("../guide/out_of_step.md")]
pub mod out_of_step {}
