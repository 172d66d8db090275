//! What the options of the server promise.

use crate::served::Served;
use crate::tools::{printed, refused, run};
use rcgen::{CertificateParams, KeyPair};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;
use table_orm::azure::protocol::{http_date, signature};
use table_orm::azure::{AzureStore, SharedKey};
use table_orm::store::Store as _;
use table_orm::{DynamicEntity, TableName, Tables};
use table_server::{EMULATOR_ACCOUNT, EMULATOR_KEY};

const RACE_KEY: &str = "c2VjcmV0IG9mIHRoZSByYWNl";

/// The answer to a signed request to a host.
fn get(served: &Served, host: &str, (account, key): (&str, &str), path: &str) -> String {
    let date = http_date::format(SystemTime::now());
    let text = signature::shared_key_lite(&date, account, path, None);
    let signature = SharedKey::new(account, key).unwrap().sign(&text).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nx-ms-date: {date}\r\n\
         Authorization: SharedKeyLite {account}:{signature}\r\n\
         Accept: application/json;odata=fullmetadata\r\nConnection: close\r\n\r\n"
    );
    let mut stream = TcpStream::connect(served.address()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[tokio::test]
async fn accounts_of_ones_own_have_the_same_tables_and_their_own_keys() {
    let other = format!("walk={EMULATOR_KEY}");
    let race = format!("race={RACE_KEY}");
    let served = Served::with_options(&["--account", &race, "--account", &other]);
    let connect = |account: &str, key: &str| {
        let endpoint = format!("http://{}/{account}", served.address());
        AzureStore::new(&endpoint, SharedKey::new(account, key).unwrap()).unwrap()
    };
    let people = TableName::new("people").unwrap();
    connect("race", RACE_KEY).create_table(&people).await.unwrap();
    assert_eq!(connect("walk", EMULATOR_KEY).list_tables().await.unwrap(), [people]);
    for (account, key) in
        [("race", EMULATOR_KEY), ("walk", RACE_KEY), (EMULATOR_ACCOUNT, EMULATOR_KEY)]
    {
        let error = connect(account, key).list_tables().await.unwrap_err();
        assert_eq!(error.status, 403, "{account}");
    }
}

#[test]
fn the_key_of_an_account_may_be_in_the_environment_and_is_printed_nowhere() {
    let mut process = Command::new(env!("CARGO_BIN_EXE_table-orm"))
        .args(["serve", "--port", "0", "--account", "race=env:RACE_KEY"])
        .env("RACE_KEY", RACE_KEY)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = [0; 200];
    let mut length = 0;
    let out = process.stdout.as_mut().unwrap();
    while !lines[..length].ends_with(b"Accounts: race\n") {
        let read = out.read(&mut lines[length..]).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&lines[..length]));
        length += read;
    }
    process.kill().unwrap();
    let output = process.wait_with_output().unwrap();
    let text = [&lines[..length], &output.stdout, &output.stderr].concat();
    assert!(!String::from_utf8(text).unwrap().contains(RACE_KEY));
}

#[test]
fn an_account_that_cannot_be_is_refused() {
    for (account, expected) in [
        ("race", "write NAME=KEY"),
        ("race=not base64!", "not base64 text"),
        ("=c2VjcmV0", "name"),
        ("race=env:TABLE_ORM_NO_SUCH_VARIABLE", "TABLE_ORM_NO_SUCH_VARIABLE"),
        ("race-secondary=c2VjcmV0", "-secondary"),
        ("Race=c2VjcmV0", "capital letters"),
    ] {
        let error = Served::refused(&[Path::new("--account"), Path::new(account)]);
        assert!(error.contains(expected), "{error}");
        let key = account.split_once('=').map_or("no key", |(_, key)| key);
        assert!(key.starts_with("env:") || !error.contains(key), "a key is printed: {error}");
    }
}

#[test]
fn a_host_may_name_the_account() {
    let served = Served::start();
    let key = (EMULATOR_ACCOUNT, EMULATOR_KEY);
    let port = served.address().rsplit(':').next().unwrap().to_owned();
    let host = format!("{EMULATOR_ACCOUNT}.table.localhost:{port}");
    let answer = get(&served, &host, key, "/Tables");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // What it names is reached by the same host.
    let context = format!(r#""odata.metadata":"http://{host}/$metadata#Tables""#);
    assert!(answer.contains(&context), "{answer}");
    let by_path = get(&served, "localhost", key, &format!("/{EMULATOR_ACCOUNT}/Tables"));
    let context =
        format!(r#""odata.metadata":"http://localhost/{EMULATOR_ACCOUNT}/$metadata#Tables""#);
    assert!(by_path.contains(&context), "{by_path}");
    let other = get(&served, "other.table.localhost", key, "/Tables");
    assert!(other.starts_with("HTTP/1.1 403 "), "{other}");
}

#[cfg(target_os = "linux")]
#[test]
fn only_this_machine_is_let_in_unless_told_otherwise() {
    let port = |served: &Served| served.address().rsplit(':').next().unwrap().to_owned();
    // All of 127.0.0.0/8 is this machine, and the server has one address of it.
    let served = Served::start();
    assert!(TcpStream::connect(format!("127.0.0.2:{}", port(&served))).is_err());
    let everywhere = Served::with_options(&["--host", "0.0.0.0"]);
    TcpStream::connect(format!("127.0.0.2:{}", port(&everywhere))).unwrap();
}

#[test]
fn what_is_no_certificate_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.pem");
    std::fs::write(&text, "not a certificate").unwrap();
    let absent = folder.path().join("absent.pem");
    let tls = |cert: &Path, key: &Path| {
        Served::refused(&[Path::new("--cert"), cert, Path::new("--key"), key])
    };
    assert!(tls(&text, &text).contains("certificate"));
    assert!(tls(&absent, &text).contains("absent.pem"));
    let alone = Served::refused(&[Path::new("--cert"), &text]);
    assert!(alone.contains("--key"), "{alone}");
    let oauth = Served::refused(&[Path::new("--oauth")]);
    assert!(oauth.contains("--cert"), "tokens go over HTTPS only: {oauth}");
}

#[tokio::test]
async fn memory_leaves_no_file_and_excludes_one() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("race.redb");
    let both = [Path::new("--inMemoryPersistence"), Path::new("--db"), &database];
    assert!(Served::refused(&both).contains("--inMemoryPersistence"));
    let served = Served::with_options(&["--inMemoryPersistence"]);
    let tables = Tables::from_connection_string(&served.connection_string()).unwrap();
    let people = TableName::new("people").unwrap();
    tables.create(&people).await.unwrap();
    tables.table(people).insert(&DynamicEntity::new("p", "r")).await.unwrap();
    assert!(!database.exists());
}

#[test]
fn a_port_or_a_database_in_use_is_said_in_one_line() {
    let served = Served::start();
    let port = served.address().rsplit(':').next().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let taken = refused(folder.path(), &["serve", "--port", &port], 1);
    assert!(taken.contains(&format!("127.0.0.1:{port}")) && taken.lines().count() == 1, "{taken}");

    let database = folder.path().join("race.redb");
    let _served = Served::with_file(&database);
    let serve = ["serve", "--port", "0", "--db", "race.redb"];
    let in_use = refused(folder.path(), &serve, 1);
    assert_eq!(in_use.lines().count(), 1, "{in_use}");
    assert!(in_use.contains("race.redb") || in_use.contains("another process"), "{in_use}");
    std::fs::write(folder.path().join("text.redb"), "a text").unwrap();
    let no_database = ["serve", "--port", "0", "--db", "text.redb"];
    let refused = refused(folder.path(), &no_database, 1);
    assert_eq!(refused.lines().count(), 1, "{refused}");
    assert_eq!(std::fs::read_to_string(folder.path().join("text.redb")).unwrap(), "a text");
}

#[test]
fn every_shell_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(folder.path(), &["completions", shell]);
        assert!(script.contains("export") && script.contains("partition-rate"), "{shell}");
    }
    assert_eq!(run(folder.path(), &["completions", "dos"]).status.code(), Some(2));
}

/// What bash completes after these words, of which the last is incomplete.
#[cfg(unix)]
fn completed(folder: &Path, words: &[&str]) -> Vec<String> {
    let last = words.len() - 1;
    let texts: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "source ./completions; COMP_WORDS=({}); COMP_CWORD={last}; \
         _table__orm table-orm {} {}; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        texts.join(" "),
        texts[last],
        texts[last - 1]
    );
    let output = Command::new("bash").current_dir(folder).args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn bash_completes_commands_and_the_options_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let script = printed(folder.path(), &["completions", "bash"]);
    std::fs::write(folder.path().join("completions"), script).unwrap();
    let completed = |words: &[&str]| completed(folder.path(), words);
    assert_eq!(completed(&["table-orm", "exp"]), ["export"]);
    assert_eq!(completed(&["table-orm", "export", "--sel"]), ["--select"]);
    assert_eq!(completed(&["table-orm", "serve", "--partition-"]), ["--partition-rate"]);
    assert_eq!(completed(&["table-orm", "show", "race.redb", "--format", "c"]), ["csv"]);
    assert_eq!(completed(&["table-orm", "help", "im"]), ["import"]);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let port = taken.local_addr().unwrap().port().to_string();
    let own = ["serve", "--port", "0", "--browse", &port];
    for command in [&["browse", "sample:1", "--port", &port][..], &own, &["serve", "--port", &port]]
    {
        let error = refused(folder.path(), command, 1);
        assert!(error.contains(&address) && error.lines().count() == 1, "{error}");
        assert!(!error.contains("output"), "{error}");
    }
}

#[test]
fn a_tool_trusts_the_certificate_that_ssl_cert_file_names() {
    let folder = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let [cert_file, key_file] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&cert_file, certificate.pem()).unwrap();
    std::fs::write(&key_file, key.serialize_pem()).unwrap();
    let options = ["--cert", cert_file.to_str().unwrap(), "--key", key_file.to_str().unwrap()];
    let served = Served::with_options(&options);
    let store = format!(
        "AccountName={EMULATOR_ACCOUNT};AccountKey={EMULATOR_KEY};TableEndpoint=https://{}/{EMULATOR_ACCOUNT}",
        served.address()
    );
    let count = |trusted: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_table-orm"));
        command.args(["count", &store]).env("SSL_CERT_FILE", trusted).env_remove("SSL_CERT_DIR");
        command.output().unwrap()
    };
    let trusted = count(&cert_file);
    assert!(trusted.status.success(), "{}", String::from_utf8_lossy(&trusted.stderr));

    let key = KeyPair::generate().unwrap();
    let other = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let other_file = folder.path().join("other.pem");
    std::fs::write(&other_file, other.self_signed(&key).unwrap().pem()).unwrap();
    let untrusted = count(&other_file);
    let error = String::from_utf8(untrusted.stderr).unwrap();
    assert_eq!(untrusted.status.code(), Some(1), "{error}");
    assert!(error.contains("does not trust the certificate"), "{error}");
    assert!(!error.contains("taken effect"), "a read writes nothing: {error}");
}
