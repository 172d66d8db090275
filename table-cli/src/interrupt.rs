//! The signals that ask a command to end.

use crate::failure::Failure;
use std::future::pending;

/// Waits for Ctrl-C, or on unix for SIGTERM. A signal that cannot be waited for has its usual effect.
pub(crate) async fn interrupted() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            pending().await
        }
    };
    #[cfg(unix)]
    let terminate = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = pending();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}

/// A command that only reads was asked to end.
#[derive(Debug, thiserror::Error)]
#[error("stopped before the end, and nothing was changed")]
struct Stopped;

/// Runs a command that only reads, until it is asked to end.
pub(crate) async fn unless_interrupted(
    command: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    tokio::select! {
        // The command may have more rows each time that it is looked at.
        biased;
        () = interrupted() => Err(Failure::new(Stopped, 130)),
        ended = command => ended,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::time::Duration;

    #[tokio::test]
    async fn both_signals_are_noticed() {
        for signal in ["-INT", "-TERM"] {
            let mut stop = pin!(interrupted());
            // Both are waited for from here on.
            let early = tokio::time::timeout(Duration::from_millis(50), stop.as_mut()).await;
            assert!(early.is_err());
            let process = std::process::id().to_string();
            let sent = tokio::process::Command::new("kill").args([signal, &process]).status().await;
            assert!(sent.unwrap().success());
            tokio::time::timeout(Duration::from_secs(60), stop).await.unwrap();
        }
    }
}
