//! placeholder
use std::path::Path;

/// placeholder
#[derive(Debug, thiserror::Error)]
pub enum OpenError {}
