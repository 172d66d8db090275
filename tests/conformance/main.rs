//! What every store promises, checked against every store; and what every `Queues` promises.
//!
//! Each (store, behaviour) is a test of its own: `embedded-memory`, `embedded-file`, the Azure store
//! against a server of this repository (`served`), several stores as one (`accounts`), and the Azure store and queues against Azurite, which
//! is started here; queues and blobs in `memory`; with the feature
//! `azure-data-tables`, the store through a client of that crate too. A scripted server replaces
//! the service where Azurite behaves differently. Without Node, or before `npm ci` in
//! `tests/fixtures/azurite`, the tests that need Azurite are ignored, unless `CI` is set: then they
//! fail.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accounts;
mod blobs;
mod cases;
#[path = "../../table-cli/src/copy/content_hash.rs"]
mod content_hash;
mod copies;
#[path = "../../table-cli/src/copy/copying.rs"]
mod copying;
mod cors;
#[cfg(feature = "azure-data-tables")]
mod data_tables;
mod interop;
mod queue_service;
mod queues;
mod service;
mod signatures;
mod stub;
mod subject;
mod tls;

use libtest_mimic::{Arguments, Failed, Trial};
use std::future::Future;
use std::num::NonZero;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use subject::Subject;
use support::azurite::Azurite;
use table_orm::accounts::Accounts;
use table_orm::azure::{AzureBlobs, AzureQueues, AzureStore};
use table_orm::blobs::MemoryBlobs;
use table_orm::embedded::EmbeddedStore;
use table_orm::queue::MemoryQueues;
use table_server::Server;
use tokio::runtime::{Builder, Runtime};

/// What a test runs.
type Run = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One behaviour of every store.
struct Case {
    name: &'static str,
    run: fn(Subject) -> Run,
}

/// Tests mostly wait for servers and clocks, so several share a core. More than 16 would wait for Azurite.
fn threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    (4 * cores).min(16)
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert_with(threads);
    let runtime = Arc::new(Runtime::new().expect("a runtime"));
    let azurite =
        if arguments.list { Err("not started to list tests".into()) } else { Azurite::start() };
    let required = support::is_ci();
    if let (Err(reason), false) = (&azurite, arguments.list) {
        eprintln!("left out: what needs Azurite: {reason}");
    }

    let mut trials = Vec::new();
    let files = tempfile::tempdir().expect("a directory");
    for case in cases::all() {
        let file = files.path().join(format!("{}.redb", case.name.replace("::", "-")));
        let run = case.run;
        trials.push(trial(
            &runtime,
            format!("embedded-memory::{}", case.name),
            move || async move {
                run(Subject::new(EmbeddedStore::in_memory().unwrap()).await).await;
            },
        ));
        trials.push(trial(&runtime, format!("embedded-file::{}", case.name), move || async move {
            run(Subject::new(EmbeddedStore::open(file).unwrap()).await).await;
        }));
        trials.push(trial(&runtime, format!("accounts::{}", case.name), move || async move {
            run(Subject::new(accounts::of_memory(Accounts::by_partition)).await).await;
        }));
        trials.push(trial(&runtime, format!("growing::{}", case.name), move || async move {
            run(Subject::new(accounts::of_memory(accounts::growing)).await).await;
        }));
        trials.push(trial(&runtime, format!("served::{}", case.name), move || async move {
            let server = Server::start(EmbeddedStore::in_memory().unwrap()).await.unwrap();
            let store = AzureStore::from_connection_string(&server.connection_string());
            run(Subject::new(store.unwrap()).await).await;
            server.stop().await;
        }));
    }
    trials.push(trial(&runtime, "served::policies".into(), || async {
        let server = Server::start(EmbeddedStore::in_memory().unwrap()).await.unwrap();
        signatures::policies(&server.connection_string(), false).await;
        server.stop().await;
    }));
    for queues::Case { name, run } in queues::all() {
        trials.push(Trial::test(format!("memory::{name}"), move || {
            // They wait for seconds, which the paused clock skips.
            support::on_virtual_time(run(Arc::new(MemoryQueues::new())));
            Ok(())
        }));
    }
    for blobs::Case { name, run } in blobs::all() {
        trials.push(trial(&runtime, format!("memory::{name}"), move || async move {
            let store = EmbeddedStore::in_memory().unwrap();
            run(Arc::new(MemoryBlobs::new()), Arc::new(store)).await;
        }));
    }
    for (name, run) in service::all() {
        trials.push(trial_alone(format!("stub::{name}"), run));
    }
    for (name, run) in queue_service::all() {
        trials.push(trial_alone(format!("stub::queues::{name}"), run));
    }

    let mut on_azurite = |name: String, run: Box<dyn FnOnce(&Azurite) -> Run + Send>| {
        trials.push(match &azurite {
            Ok(azurite) => {
                let azurite = azurite.clone();
                trial(&runtime, name, move || async move { run(&azurite).await })
            }
            Err(reason) => {
                let reason = reason.clone();
                let absent = Trial::test(name, move || Err(Failed::from(reason)));
                absent.with_kind("needs Azurite").with_ignored_flag(!required)
            }
        });
    };
    for case in cases::all() {
        let run = case.run;
        on_azurite(
            format!("azure::{}", case.name),
            Box::new(move |azurite| {
                let store = AzureStore::from_connection_string(&azurite.connection_string());
                Box::pin(async move { run(Subject::new(store.unwrap()).await).await })
            }),
        );
    }
    for case in cases::all() {
        let run = case.run;
        on_azurite(
            format!("azure-accounts::{}", case.name),
            Box::new(move |azurite| {
                let store = accounts::of_azurite(azurite);
                Box::pin(async move { run(Subject::new(store).await).await })
            }),
        );
    }
    // Each is also run over embedded stores.
    for case in cases::all().into_iter().step_by(support::dose(6, 1) as usize) {
        let run = case.run;
        on_azurite(
            format!("azure-growing::{}", case.name),
            Box::new(move |azurite| {
                let store = accounts::growing_of_azurite(azurite);
                Box::pin(async move { run(Subject::new(store).await).await })
            }),
        );
    }
    on_azurite(
        "azure-growing::a_third_account_takes_its_share".into(),
        Box::new(accounts::a_third_account_takes_its_share),
    );
    for case in queues::all() {
        let run = case.run;
        on_azurite(
            format!("azure::{}", case.name),
            Box::new(move |azurite| {
                let queues = AzureQueues::from_connection_string(&azurite.connection_string());
                run(Arc::new(queues.unwrap()))
            }),
        );
    }
    for case in blobs::all() {
        let run = case.run;
        on_azurite(
            format!("azure::{}", case.name),
            Box::new(move |azurite| {
                let account = azurite.connection_string();
                let blobs = AzureBlobs::from_connection_string(&account, "large-values").unwrap();
                let store = AzureStore::from_connection_string(&account).unwrap();
                Box::pin(async move {
                    blobs.create_container().await.unwrap();
                    run(Arc::new(blobs), Arc::new(store)).await;
                })
            }),
        );
    }
    on_azurite(
        "azure::blobs::say_that_their_container_is_missing".to_owned(),
        Box::new(|azurite| Box::pin(blobs::without_container(azurite.connection_string()))),
    );
    for (name, run) in copies::all() {
        on_azurite(format!("azure::copies::{name}"), Box::new(run));
    }
    #[cfg(feature = "azure-data-tables")]
    {
        for case in cases::all() {
            let run = case.run;
            on_azurite(
                format!("data-tables::{}", case.name),
                Box::new(move |azurite| {
                    let store = data_tables::store(azurite);
                    Box::pin(async move { run(Subject::new(store.await).await).await })
                }),
            );
        }
        for (name, run) in data_tables::all() {
            on_azurite(format!("data-tables::{name}"), Box::new(run));
        }
    }
    for (name, run) in signatures::all() {
        on_azurite(format!("azure::{name}"), Box::new(run));
    }
    on_azurite(
        "azure::cors::rules_open_the_service_to_their_origins".into(),
        Box::new(cors::rules_open_the_service_to_their_origins),
    );
    on_azurite(
        "azure::tls::carries_keys_and_tokens".into(),
        Box::new(tls::carries_keys_and_tokens),
    );
    if azurite.is_err() || required || support::python::command().is_some() {
        on_azurite("azure::interop::python".into(), Box::new(interop::both_ways));
    } else {
        if !arguments.list {
            eprintln!("left out: azure::interop::python: there is no Python");
        }
        let absent = Trial::test("azure::interop::python", || Err("no Python".into()));
        trials.push(absent.with_kind("needs Python").with_ignored_flag(true));
    }

    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Ok(azurite) = azurite {
        azurite.stop();
    }
    conclusion.exit_code()
}

/// A test on a runtime of its own. On a shared one, other tests delay the return of its connections to the pool, and it
/// opens more of them.
fn trial_alone<F: Future<Output = ()>>(
    name: String,
    run: impl FnOnce() -> F + Send + 'static,
) -> Trial {
    Trial::test(name, move || {
        Builder::new_current_thread().enable_all().build()?.block_on(run());
        Ok(())
    })
}

/// A test on the runtime that the others share.
fn trial<F: Future<Output = ()> + Send + 'static>(
    runtime: &Arc<Runtime>,
    name: String,
    run: impl FnOnce() -> F + Send + 'static,
) -> Trial {
    let runtime = Arc::clone(runtime);
    Trial::test(name, move || {
        runtime.block_on(run());
        Ok(())
    })
}
