//! Azurite, started on a free port and stopped with the tests.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

pub const ACCOUNT: &str = "devstoreaccount1";
/// The key of every Azurite; no secret.
pub const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running Azurite; clones are the same one.
#[derive(Clone)]
pub struct Azurite {
    scheme: &'static str,
    port: u16,
    process: Arc<Mutex<Child>>,
}

impl Azurite {
    /// Starts the version that `tests/azurite/package.json` pins; the error says what it lacks.
    pub fn start() -> Result<Self, String> {
        Self::start_with("http", &[])
    }

    /// Starts one that speaks TLS with this certificate, and takes Entra ID's tokens.
    pub fn start_with_tls(certificate: &Path, key: &Path) -> Result<Self, String> {
        let (certificate, key) = (certificate.to_string_lossy(), key.to_string_lossy());
        Self::start_with("https", &["--cert", &certificate, "--key", &key, "--oauth", "basic"])
    }

    fn start_with(scheme: &'static str, options: &[&str]) -> Result<Self, String> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("azurite");
        if !directory.join("node_modules/azurite").is_dir() {
            return Err("Azurite is not installed; run `npm ci` in `tests/azurite`".into());
        }
        let port = free_port().map_err(|error| format!("no free port: {error}"))?;
        let mut process = Command::new("node")
            .current_dir(&directory)
            .arg("start.js")
            .args(["--tableHost", "127.0.0.1", "--tablePort", &port.to_string()])
            .args(["--inMemoryPersistence", "--silent", "--disableTelemetry"])
            .arg("--skipApiVersionCheck")
            .args(options)
            // Azurite ends when this pipe closes, however the tests end.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("Node cannot be started: {error}"))?;
        let output = process.stdout.take().expect("a pipe");
        let azurite = Self { scheme, port, process: Arc::new(Mutex::new(process)) };
        if wait_until_ready(output) {
            Ok(azurite)
        } else {
            azurite.stop();
            Err(format!("Azurite was not ready after {START_TIMEOUT:?}"))
        }
    }

    pub fn endpoint(&self) -> String {
        format!("{}://127.0.0.1:{}/{ACCOUNT}", self.scheme, self.port)
    }

    #[cfg(feature = "azure-data-tables")]
    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn connection_string(&self) -> String {
        let endpoint = self.endpoint();
        format!("AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={endpoint};")
    }

    pub fn stop(&self) {
        let mut process = self.process.lock().unwrap();
        let _ = process.kill();
        let _ = process.wait();
    }
}

/// Whether Azurite says that it has started, before it ends or the time is up.
fn wait_until_ready(output: ChildStdout) -> bool {
    let (ready, started) = mpsc::channel();
    std::thread::spawn(move || {
        // To the end, or Azurite would wait for a reader.
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if line.contains("successfully started") {
                let _ = ready.send(());
            }
        }
    });
    started.recv_timeout(START_TIMEOUT).is_ok()
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
