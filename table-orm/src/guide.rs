//! The user guide, whose examples compile as tests.

#[doc = include_str!("../guide/keys.md")]
pub mod keys {}

#[doc = include_str!("../guide/rows.md")]
pub mod rows {}

#[doc = include_str!("../guide/units.md")]
pub mod units {}

#[doc = include_str!("../guide/patches.md")]
pub mod patches {}

#[doc = include_str!("../guide/out_of_step.md")]
pub mod out_of_step {}

#[cfg(feature = "azure")]
#[doc = include_str!("../guide/direct_access.md")]
pub mod direct_access {}
