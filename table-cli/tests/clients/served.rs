//! `table-orm serve`, while a test runs.

use rcgen::{CertificateParams, KeyPair};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use table_server::{EMULATOR_ACCOUNT, EMULATOR_KEY};
use tempfile::TempDir;

/// A running server, which ends with this value.
pub struct Served {
    process: Child,
    port: String,
    /// Holds the certificate.
    folder: TempDir,
}

impl Served {
    /// Starts one that speaks HTTP.
    pub fn start() -> Self {
        Self::start_with(tempfile::tempdir().unwrap(), &[])
    }

    /// Starts one that speaks HTTPS, under the host names of the cloud, and takes tokens.
    pub fn with_tls() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let names = vec!["*.table.core.windows.net".to_owned()];
        let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        let key_file = folder.path().join("key.pem");
        std::fs::write(certificate_file(&folder), certificate.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        let certificate = certificate_file(&folder);
        let options = [
            Path::new("--oauth"),
            Path::new("--cert"),
            &certificate,
            Path::new("--key"),
            &key_file,
        ];
        Self::start_with(folder, &options)
    }

    /// Starts one over a database file.
    pub fn with_file(file: &Path) -> Self {
        Self::start_with(tempfile::tempdir().unwrap(), &[Path::new("--db"), file])
    }

    /// Starts one over a database file, whose writes are answered before they are on the disk.
    pub fn with_eventual_file(file: &Path) -> Self {
        let options = [Path::new("--db"), file, Path::new("--durability"), Path::new("eventual")];
        Self::start_with(tempfile::tempdir().unwrap(), &options)
    }

    /// Starts one with the faults that a file names.
    pub fn with_faults(file: &Path) -> Self {
        Self::start_with(tempfile::tempdir().unwrap(), &[Path::new("--faults"), file])
    }

    /// Starts one with more options.
    pub fn with_options(options: &[&str]) -> Self {
        let options: Vec<_> = options.iter().map(Path::new).collect();
        Self::start_with(tempfile::tempdir().unwrap(), &options)
    }

    /// Starts one that refuses its options. Returns what it says.
    pub fn refused(options: &[&Path]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_table-orm"));
        let output = command.args(["serve", "--port", "0"]).args(options).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }

    /// Kills it, as `kill -9` does.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Asks it to end, as a service manager does, and waits until it has.
    #[cfg(unix)]
    pub fn terminate(&mut self) {
        let process = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
        assert!(self.process.wait().unwrap().success());
    }

    fn start_with(folder: TempDir, options: &[&Path]) -> Self {
        let all = ["--port", "0", "--silent"].map(Path::new);
        Self::with_arguments(folder, &[&all, options].concat())
    }

    /// Starts one with these arguments, which choose a port and print the address only.
    pub fn with_arguments(folder: TempDir, arguments: &[&Path]) -> Self {
        Self::with_errors(folder, arguments, Stdio::inherit())
    }

    /// Starts one with these arguments, whose standard error goes there.
    pub fn with_errors(folder: TempDir, arguments: &[&Path], errors: Stdio) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_table-orm"))
            .arg("serve")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().unwrap().to_owned();
        Self { process, port, folder }
    }

    /// The address that it listens at.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The connection string of a server that speaks HTTP.
    pub fn connection_string(&self) -> String {
        format!(
            "DefaultEndpointsProtocol=http;AccountName={EMULATOR_ACCOUNT};AccountKey={EMULATOR_KEY};\
             TableEndpoint=http://127.0.0.1:{}/{EMULATOR_ACCOUNT};",
            self.port
        )
    }

    /// The variables by which Microsoft's tests find the server, and trust its certificate.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let certificate = certificate_file(&self.folder).display().to_string();
        vec![
            ("REQUESTS_CA_BUNDLE", certificate.clone()),
            ("SSL_CERT_FILE", certificate),
            ("TABLES_TEST_PORT", self.port.clone()),
            ("TABLES_STORAGE_ACCOUNT_NAME", EMULATOR_ACCOUNT.to_owned()),
            ("TABLES_PRIMARY_STORAGE_ACCOUNT_KEY", EMULATOR_KEY.to_owned()),
        ]
    }
}

fn certificate_file(folder: &TempDir) -> PathBuf {
    folder.path().join("cert.pem")
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
