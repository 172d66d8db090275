//! The signals that ask a command to end.

use std::future::pending;
use std::io::{Write as _, stderr};
use std::process::exit;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

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

/// Runs a command that only reads. Ends the program when it is asked to, also while the command blocks its thread: it
/// may be opening a file, or printing to a pipe that nobody reads.
pub(crate) async fn unless_interrupted<T>(command: impl Future<Output = T>) -> T {
    tokio::spawn(async {
        interrupted().await;
        let say =
            || writeln!(stderr(), "table-orm: stopped before the end, and nothing was changed");
        // Nobody may be reading this, either.
        let _ = timeout(Duration::from_secs(1), spawn_blocking(say)).await;
        exit(130)
    });
    command.await
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::pin::pin;

    #[tokio::test]
    async fn both_signals_are_noticed() {
        for signal in ["-INT", "-TERM"] {
            let mut stop = pin!(interrupted());
            // Both are waited for from here on.
            let early = timeout(Duration::from_millis(50), stop.as_mut()).await;
            assert!(early.is_err());
            let process = std::process::id().to_string();
            let sent = tokio::process::Command::new("kill").args([signal, &process]).status().await;
            assert!(sent.unwrap().success());
            timeout(Duration::from_secs(60), stop).await.unwrap();
        }
    }
}
