//! How a scan reads a table: workers read ranges of keys, and idle workers split them.
//!
//! All that the workers share is one [`ScanState`] behind one lock. It composes three owners: the
//! [ranges](ranges::Ranges) and who reads them, the [delivery](delivery::Delivery) of pages to the
//! consumer, and the [pace](super::pace::ScanPace) of the requests.

mod commit;
mod delivery;
mod density;
mod estimate;
mod expired_rows;
mod fetch;
mod forecast;
mod key_line;
mod key_model;
mod learned;
mod look_ahead;
mod page_keys;
mod page_rows;
mod partition_sizes;
mod position;
mod prefix;
mod range;
mod ranges;
mod report;
mod rules;
mod shared;
mod state;
mod steal;
mod worker;

pub(super) use delivery::QueuedPage;
pub(super) use expired_rows::Alive;
pub(super) use key_model::is_split_char;
pub(super) use page_rows::{ReadRows, RowReader, no_rows, partition_keys, whose_rows};
pub(super) use position::{Position, bounds, max, min, span};
pub(super) use range::first_request;
pub use report::ScanReport;
#[cfg(feature = "distributed")]
pub(super) use rules::LOOK_AHEAD;
pub(super) use rules::Rules;
pub use rules::Splitter;
pub(super) use shared::{ScanSource, Shared};
pub(super) use state::{ScanState, Unsettled};
pub(super) use worker::work;

#[cfg(feature = "distributed")]
pub(super) use {
    estimate::LEAST_PAGES,
    fetch::fetch,
    key_model::KeyModels,
    page_keys::PageKeys,
    range::{Axis, Range, key_range, simple_ranges},
    ranges::Ranges,
};
