//! The clock of waits: the system's, or that of the tokio runtime, which a test can pause.

use futures_timer::Delay;
use std::time::Duration;

/// A clock, and waits on it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Timer {
    /// The system's clock, which needs no runtime with timers.
    System(std::time::Instant),
    /// The runtime's clock.
    #[cfg(any(test, feature = "testing"))]
    Tokio(tokio::time::Instant),
}

impl Timer {
    /// The system's clock, from now.
    pub(crate) fn system() -> Self {
        Self::System(std::time::Instant::now())
    }

    /// The runtime's clock, from now.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn tokio() -> Self {
        Self::Tokio(tokio::time::Instant::now())
    }

    /// The time since the clock was made.
    pub(crate) fn now(&self) -> Duration {
        match self {
            Self::System(start) => start.elapsed(),
            #[cfg(any(test, feature = "testing"))]
            Self::Tokio(start) => start.elapsed(),
        }
    }

    /// Waits.
    pub(crate) async fn sleep(&self, time: Duration) {
        match self {
            Self::System(_) => Delay::new(time).await,
            #[cfg(any(test, feature = "testing"))]
            Self::Tokio(_) => tokio::time::sleep(time).await,
        }
    }
}
