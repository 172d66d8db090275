//! `table-orm serve`: a store as a Table service.

mod arguments;
mod faults;

pub(crate) use arguments::Arguments;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use table_orm::embedded::{EmbeddedStore, OpenError};
use table_orm::layer::{Layer as _, LayerError, Throttle};
use table_orm::store::Store;
use table_server::{Server, StartError};

/// Why the server did not start or run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("cannot open the database")]
    Open(#[source] OpenError),
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot create `{path}`")]
    Create { path: PathBuf, source: io::Error },
    #[error("the faults in `{path}` are invalid: {reason}")]
    Faults { path: PathBuf, reason: String },
    #[error("the faults or rates are invalid")]
    Layer(#[source] LayerError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("cannot wait for signals")]
    Signals(#[source] io::Error),
}

/// Serves until the process is asked to end.
pub(crate) async fn run(arguments: Arguments) -> Result<(), ServeError> {
    let plan = arguments.fault_plan()?;
    let database = arguments.database()?;
    let store = match &database {
        Some(path) => EmbeddedStore::open(path),
        None => EmbeddedStore::in_memory(),
    };
    let mut store: Arc<dyn Store> = Arc::new(store.map_err(ServeError::Open)?);
    if plan.throttle != Throttle::new() {
        store = plan.throttle.around(store).map_err(ServeError::Layer)?;
    }
    let faults = plan.faults.map(|faults| faults.store(Arc::clone(&store)));
    let faults = faults.transpose().map_err(ServeError::Layer)?;
    if let Some(faults) = &faults {
        // The server reads its settings when it starts.
        faults.disable();
        store = Arc::new(faults.clone());
    }
    let server = arguments.server()?.cut_replies(plan.seed, plan.cut_replies);
    let server = server.start(store).await?;
    if let Some(faults) = &faults {
        faults.enable();
    }
    announce(&arguments, &server, database.as_deref());
    end_signal().await.map_err(ServeError::Signals)?;
    server.stop().await;
    Ok(())
}

/// Says where the server listens. Scripts that wait for Azurite wait for the first line.
fn announce(arguments: &Arguments, server: &Server, database: Option<&std::path::Path>) {
    let mut text = format!(
        "table-orm Table service is successfully listening at {}://{}\n",
        arguments.scheme(),
        server.address()
    );
    if !arguments.silent {
        let store = database.map_or_else(|| "memory".into(), |path| path.display().to_string());
        text.push_str(&format!("Store: {store}\n"));
        match arguments.account_names() {
            // The emulator's key is public; others do not belong into a log.
            None => text.push_str(&format!("{}\n", server.connection_string())),
            Some(names) => text.push_str(&format!("Accounts: {names}\n")),
        }
    }
    let mut out = io::stdout().lock();
    // Nobody may be reading.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(unix)]
async fn end_signal() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        ended = tokio::signal::ctrl_c() => ended,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn end_signal() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}
