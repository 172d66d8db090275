//! How fast a scan reads: as fast as the service allows, learned from its 503s.

mod limiter;
mod pacer;
mod scan_pace;

pub(super) use limiter::Limiter;
pub(super) use scan_pace::ScanPace;
