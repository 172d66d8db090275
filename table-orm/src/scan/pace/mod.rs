//! How fast a scan reads: as fast as the service allows, learned from its refusals.

mod limiter;
mod pacer;

pub(super) use limiter::Limiter;
