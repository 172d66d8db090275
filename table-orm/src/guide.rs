//! The user guide, whose examples compile as tests. Its chapters, in the order of reading:
//!
//! 1. [Keys that cannot be wrong](keys): templates, encoders, and what the compiler refuses.
//! 2. [Index rows](rows): copies of an entity under other keys, and what each call sends.
//! 3. [One unit, one transaction](units): several entities together, and many one after another.
//! 4. [Series and patches](patches): many values in one row, and setting some of them.
//! 5. [When a copy is out of step](out_of_step): verify, repair, backfill.
//! 6. [Reading everything, on purpose](scans): when a scan is right, and what it costs.
//! 7. "When the service says no" (with the feature `testing`): retries, lost answers, limits, and a
//!    store that fails on purpose.
//! 8. "Direct access without a proxy" (with the feature `azure`): signatures for an app's clients.
//! 9. [Adopting an existing table](adopting): rows that other programs wrote, and go on writing.

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

#[doc = include_str!("../guide/scans.md")]
pub mod scans {}

#[cfg(feature = "testing")]
#[doc = include_str!("../guide/faults.md")]
pub mod faults {}

#[cfg(feature = "azure")]
#[doc = include_str!("../guide/direct_access.md")]
pub mod direct_access {}

#[doc = include_str!("../guide/adopting.md")]
pub mod adopting {}
