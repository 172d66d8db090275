//! placeholder

/// placeholder
#[derive(Debug, thiserror::Error)]
pub enum OpenError {}
