//! Azurite, its table, queue and blob services, started on free ports and stopped with the tests.
//!
//! Worker processes of a test reach it by its [`connection_string`](Azurite::connection_string).

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

pub const ACCOUNT: &str = "devstoreaccount1";
/// Further accounts that it serves, with the same key.
const OTHER_ACCOUNTS: [&str; 2] = ["devstoreaccount2", "devstoreaccount3"];
/// The key of every Azurite; no secret.
pub const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running Azurite. Clones share it.
#[derive(Clone)]
pub struct Azurite {
    addresses: Addresses,
    process: Arc<Mutex<Child>>,
}

/// `http://127.0.0.1:port` of each service.
#[derive(Clone, Default)]
struct Addresses {
    tables: String,
    queues: String,
    blobs: String,
}

impl Azurite {
    /// Starts the version that `tests/fixtures/azurite/package.json` pins; the error says what it lacks.
    pub fn start() -> Result<Self, String> {
        Self::start_with(&[])
    }

    /// Starts one that speaks TLS with this certificate, and takes Entra ID's tokens.
    pub fn start_with_tls(certificate: &Path, key: &Path) -> Result<Self, String> {
        let (certificate, key) = (certificate.to_string_lossy(), key.to_string_lossy());
        Self::start_with(&["--cert", &certificate, "--key", &key, "--oauth", "basic"])
    }

    /// The Azurite of this test. The test is [left out](crate::leave_out) where it cannot run.
    pub fn start_for(test: &str) -> Option<Self> {
        Self::start().map_err(|reason| crate::leave_out(test, &reason)).ok()
    }

    fn start_with(options: &[&str]) -> Result<Self, String> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/azurite");
        if !directory.join("node_modules/azurite").is_dir() {
            return Err("Azurite is not installed; run `npm ci` in `tests/fixtures/azurite`".into());
        }
        let accounts = [ACCOUNT].into_iter().chain(OTHER_ACCOUNTS);
        let accounts: Vec<_> = accounts.map(|account| format!("{account}:{KEY}")).collect();
        let mut process = Command::new("node")
            .current_dir(&directory)
            .env("AZURITE_ACCOUNTS", accounts.join(";"))
            .arg("start.js")
            .args(options)
            // Azurite ends when this pipe closes, however the tests end.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("Node cannot be started: {error}"))?;
        let output = process.stdout.take().expect("a pipe");
        let mut azurite =
            Self { addresses: Addresses::default(), process: Arc::new(Mutex::new(process)) };
        if let Some(addresses) = wait_until_ready(output) {
            azurite.addresses = addresses;
            Ok(azurite)
        } else {
            azurite.stop();
            Err(format!("Azurite was not ready after {START_TIMEOUT:?}"))
        }
    }

    /// The endpoint of its table service.
    pub fn endpoint(&self) -> String {
        format!("{}/{ACCOUNT}", self.addresses.tables)
    }

    /// The endpoint of its queue service.
    pub fn queue_endpoint(&self) -> String {
        format!("{}/{ACCOUNT}", self.addresses.queues)
    }

    /// The endpoint of its blob service.
    pub fn blob_endpoint(&self) -> String {
        format!("{}/{ACCOUNT}", self.addresses.blobs)
    }

    /// The port of its table service.
    pub fn port(&self) -> u16 {
        self.addresses.tables.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// The connection string of its services.
    pub fn connection_string(&self) -> String {
        format!(
            "AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={};QueueEndpoint={};BlobEndpoint={};",
            self.endpoint(),
            self.queue_endpoint(),
            self.blob_endpoint()
        )
    }

    /// The connection strings of the tables of three accounts.
    pub fn connection_strings(&self) -> [String; 3] {
        let [second, third] = OTHER_ACCOUNTS;
        [ACCOUNT, second, third].map(|account| {
            let tables = &self.addresses.tables;
            format!("AccountName={account};AccountKey={KEY};TableEndpoint={tables}/{account};")
        })
    }

    pub fn stop(&self) {
        let mut process = self.process.lock().unwrap();
        let _ = process.kill();
        let _ = process.wait();
    }
}

/// The addresses that Azurite says its services listen at, before it ends or the time is up.
fn wait_until_ready(output: ChildStdout) -> Option<Addresses> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // Reads to the end. Otherwise Azurite would wait for a reader.
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some((service, address)) = line.split_once(" is successfully listening at ") {
                let _ = sender.send((service.to_owned(), address.to_owned()));
            }
        }
    });
    let deadline = Instant::now() + START_TIMEOUT;
    let mut addresses = Addresses::default();
    while [&addresses.tables, &addresses.queues, &addresses.blobs].iter().any(|one| one.is_empty())
    {
        let left = deadline.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left).ok()? {
            (service, address) if service.contains("Table") => addresses.tables = address,
            (service, address) if service.contains("Queue") => addresses.queues = address,
            (service, address) if service.contains("Blob") => addresses.blobs = address,
            _ => {}
        }
    }
    Some(addresses)
}
