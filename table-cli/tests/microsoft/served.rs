//! `table-orm serve` over HTTPS.

use rcgen::{CertificateParams, KeyPair};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use table_server::{EMULATOR_ACCOUNT, EMULATOR_KEY};
use tempfile::TempDir;

/// A running server, which ends with this value.
pub struct Served {
    process: Child,
    port: String,
    folder: TempDir,
}

impl Served {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let names = vec!["*.table.core.windows.net".to_owned()];
        let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        let (certificate_file, key_file) =
            (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        std::fs::write(&certificate_file, certificate.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_table-orm"))
            .args(["serve", "--port", "0", "--silent", "--oauth", "basic", "--cert"])
            .arg(&certificate_file)
            .arg("--key")
            .arg(&key_file)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().unwrap().to_owned();
        Self { process, port, folder }
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// The variables by which the tests find the server, and trust its certificate.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let certificate = self.certificate().display().to_string();
        vec![
            ("REQUESTS_CA_BUNDLE", certificate.clone()),
            ("SSL_CERT_FILE", certificate),
            ("TABLES_TEST_PORT", self.port.clone()),
            ("TABLES_STORAGE_ACCOUNT_NAME", EMULATOR_ACCOUNT.to_owned()),
            ("TABLES_PRIMARY_STORAGE_ACCOUNT_KEY", EMULATOR_KEY.to_owned()),
        ]
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
