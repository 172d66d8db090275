//! The user guide, whose examples compile as tests. Its chapters, in the order of reading:
//!
//! 1. [Keys that cannot be wrong](keys): templates, encoders, and what the compiler refuses.
//! 2. [Index rows](rows): copies of an entity under other keys, and what each call sends.
//! 3. [One unit, one transaction](transactions): several entities together, and many one after another.
//! 4. [Series and patches](patches): many values in one row, and setting some of them.
//! 5. [When a copy is out of step](out_of_step): verify, repair, backfill.
//! 6. [Reading everything, on purpose](scans): when a scan is right, and what it costs.
//! 7. [When the service says no](faults): retries, lost answers, limits, and a store that fails on
//!    purpose.
//! 8. [Connecting to the service](service), with the feature `azure`: settings, credentials, layers,
//!    logs, and stopping.
//! 9. [Direct access without a proxy](direct_access), with the same feature: signatures for an app's
//!    clients.
//! 10. [Adopting an existing table](adopting): rows that other programs wrote, and go on writing.
//!
//! All chapters are shown whatever features are on. An item that a feature adds has its page only with
//! that feature; where it is off, links to the item lead to its module.

#[doc = include_str!("../guide/keys.md")]
pub mod keys {}

#[doc = include_str!("../guide/rows.md")]
pub mod rows {}

#[doc = include_str!("../guide/transactions.md")]
pub mod transactions {}

#[doc = include_str!("../guide/patches.md")]
pub mod patches {}

#[doc = include_str!("../guide/out_of_step.md")]
pub mod out_of_step {}

#[doc = include_str!("../guide/scans.md")]
pub mod scans {}

// As a chapter is tested, its examples need the features; to be shown, it needs none.
#[cfg_attr(any(not(doctest), feature = "testing"), doc = include_str!("../guide/faults.md"))]
pub mod faults {}

#[cfg_attr(
    any(not(doctest), all(feature = "azure", feature = "tracing")),
    doc = include_str!("../guide/service.md")
)]
#[doc = ""]
#[cfg_attr(
    feature = "azure",
    doc = "[tables-from]: crate::Tables::from_connection_string",
    doc = "[client]: crate::azure::ConnectOptions::client",
    doc = "[token]: crate::azure::TokenCredential"
)]
#[cfg_attr(
    not(feature = "azure"),
    doc = "[tables-from]: crate::Tables",
    doc = "[client]: crate::store",
    doc = "[token]: crate::store"
)]
#[cfg_attr(any(feature = "metrics", feature = "tracing"), doc = "[observe]: crate::layer::Observe")]
#[cfg_attr(not(any(feature = "metrics", feature = "tracing")), doc = "[observe]: crate::layer")]
pub mod service {}

#[cfg_attr(
    any(not(doctest), feature = "azure"),
    doc = include_str!("../guide/direct_access.md")
)]
#[doc = ""]
#[cfg_attr(
    feature = "azure",
    doc = "[table-sas]: crate::azure::TableSas",
    doc = "[allow-http]: crate::azure::TableSas::allow_http",
    doc = "[from-addresses]: crate::azure::TableSas::from_addresses"
)]
#[cfg_attr(
    not(feature = "azure"),
    doc = "[table-sas]: crate::store",
    doc = "[allow-http]: crate::store",
    doc = "[from-addresses]: crate::store"
)]
pub mod direct_access {}

#[doc = include_str!("../guide/adopting.md")]
pub mod adopting {}
