//! What the layers guarantee, over the embedded store and over a store with scripted answers.

mod bench;
mod chains;
mod clock;
#[cfg(all(feature = "azure", feature = "metrics", feature = "tracing"))]
mod conventions;
mod faults;
mod lists;
mod load;
#[cfg(any(feature = "metrics", feature = "tracing"))]
mod observe;
mod outage;
mod own_rows;
mod pacing;
mod policy;
mod read_from;
mod retry;
mod script;
mod slow_server;
mod throttle;
mod within;

use crate::model::TableName;

fn table() -> TableName {
    TableName::new("People").unwrap()
}
