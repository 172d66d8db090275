//! `table-orm serve`: a store as a Table service.

mod arguments;
mod failures;
mod faults;

pub(crate) use arguments::Arguments;

use crate::browse::{BrowseServer, ListenError};
use crate::failure::Failure;
use crate::interrupt::interrupted;
use crate::panic_report::quietly;
use failures::FailureLog;
use std::future::pending;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table_orm::Tables;
use table_orm::embedded::{EmbeddedStore, OpenError};
use table_orm::layer::{Layer as _, LayerError, Throttle};
use table_orm::store::{Store, StoreError};
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
    Browse(#[from] ListenError),
    #[error("the server has stopped, but its last writes may not be on the disk")]
    Sync(#[source] Box<StoreError>),
    #[error(transparent)]
    Start(#[from] StartError),
}

impl From<ServeError> for Failure {
    fn from(failure: ServeError) -> Self {
        let exit_code = match failure {
            // Options set the layers and the accounts.
            ServeError::Layer(_)
            | ServeError::Start(StartError::Account(_) | StartError::SecondaryName(_)) => 2,
            _ => 1,
        };
        Self::new(failure, exit_code)
    }
}

/// Serves until the process is asked to end.
pub(crate) async fn run(arguments: Arguments) -> Result<(), ServeError> {
    let plan = arguments.fault_plan()?;
    let database = arguments.database()?;
    let store = match &database {
        Some(path) => quietly(|| EmbeddedStore::open_with(path, arguments.durability())),
        None => EmbeddedStore::in_memory(),
    };
    let store = store.map_err(ServeError::Open)?;
    // The pages see what is stored, without faults.
    let tables = Tables::new(store.clone());
    let stored = store.clone();
    let mut store: Arc<dyn Store> = Arc::new(store);
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
    let failures = FailureLog::new(|line| {
        // Nobody may be reading.
        let _ = writeln!(io::stderr(), "{line}");
    });
    let mut server = arguments.server()?.cut_replies(plan.seed, plan.cut_replies);
    if !arguments.silent {
        let failures = failures.clone();
        server = server.on_failure(move |failed| failures.add(failed));
    }
    let server = server.start(store).await?;
    if let Some(faults) = &faults {
        faults.enable();
    }
    let pages = match arguments.browse {
        Some(port) => Some(BrowseServer::bind(tables, port).await?),
        None => None,
    };
    let serve = async {
        announce(&arguments, &server, database.as_deref(), pages.as_ref());
        if let Some(pages) = pages { pages.serve().await } else { pending().await }
    };
    tokio::select! {
        // Whoever reads the address may end the server at once, so signals are waited for first.
        biased;
        () = interrupted() => {}
        () = serve => {}
    }
    tokio::select! {
        () = server.stop() => {}
        // Whoever asks again does not wait for the last answers.
        () = interrupted() => {}
    }
    failures.end();
    stored.sync().await.map_err(|error| ServeError::Sync(Box::new(error)))
}

/// Says where the server listens. Scripts that wait for Azurite wait for the first line.
fn announce(
    arguments: &Arguments,
    server: &Server,
    database: Option<&Path>,
    pages: Option<&BrowseServer>,
) {
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
    if let Some(Ok(url)) = pages.map(BrowseServer::url) {
        text.push_str(&format!("Pages: {url}\n"));
    }
    let mut out = io::stdout().lock();
    // Nobody may be reading.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
