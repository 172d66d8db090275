//! Files that cannot grow, and files that cannot be written.

use super::*;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::error::Error as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

const CHILD_PATH: &str = "TABLE_ORM_TEST_FULL_DISK";

/// Limits the size of this process's files, like a full disk.
fn limit_files(bytes: Option<u64>) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum }).unwrap();
}

/// Returns whether a source of the error is the system's error for no space.
fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let full = |error: &std::io::Error| error.kind() == std::io::ErrorKind::FileTooLarge;
    error.downcast_ref().is_some_and(full) || error.source().is_some_and(is_full)
}

/// Part of the test below, which runs it in another process.
#[tokio::test]
async fn child_process_fills_its_disk() {
    let Some(path) = std::env::var_os(CHILD_PATH) else { return };
    let path = Path::new(&path);
    drop(Fixture::with(EmbeddedStore::open(path).unwrap()).await);
    let table = TableName::new("People").unwrap();
    let people = Fixture { store: EmbeddedStore::open(path).unwrap(), table };
    let body = format!(r#"{{"A":"{}"}}"#, "x".repeat(30_000));
    let mut acknowledged = Vec::new();
    for _ in 0..3 {
        let before = acknowledged.len();
        limit_files(Some(std::fs::metadata(path).unwrap().len() + 500_000));
        let error = loop {
            let row_key = format!("{:05}", acknowledged.len());
            match people.write("p", &row_key, Action::Insert(json(&body))).await {
                Ok(_) => acknowledged.push(("p".to_owned(), row_key)),
                Err(error) => break error,
            }
        };
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        assert!(error.message.contains("disk is full"), "{error}");
        assert!(error.message.contains("free some space"), "{error}");
        assert!(is_full(&error), "{error:?}");
        assert!(acknowledged.len() > before);
        // Reads succeed while the disk is full. A rejected row does not exist.
        assert_eq!(people.keys(people.query(partition("p"))).await.0, acknowledged);
        limit_files(None);
        let row_key = format!("{:05}", acknowledged.len());
        people.insert("p", &row_key, &body).await;
        acknowledged.push(("p".to_owned(), row_key));
    }
    limit_files(Some(1000));
    let error = EmbeddedStore::open(path.with_extension("new")).unwrap_err();
    assert!(matches!(error, OpenError::DiskFull { .. }), "{error:?}");
    assert!(error.to_string().contains("free some"), "{error}");
    assert!(is_full(error.source().unwrap()));
    limit_files(None);
    EmbeddedStore::open(path.with_extension("new")).unwrap();
    println!("\nthe disk was full");
}

#[test]
fn a_full_disk_is_an_error_and_the_store_works_again_once_there_is_space() {
    let directory = tempfile::tempdir().unwrap();
    let module = module_path!().split_once("::").unwrap().1;
    // The shell ignores the signal that would end the process instead of failing the write.
    let output = Command::new("sh")
        .args(["-c", r#"trap "" XFSZ; exec "$@""#, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::child_process_fills_its_disk"), "--nocapture"])
        .env(CHILD_PATH, directory.path().join("full.redb"))
        .output()
        .unwrap();
    let output_text = [output.stdout, output.stderr].concat();
    let output_text = String::from_utf8_lossy(&output_text);
    assert!(output.status.success() && output_text.contains("the disk was full"), "{output_text}");
}

/// Runs on a thread that is subject to file permissions, even when the tests run as root.
fn without_privileges(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let mut sets = capabilities(None).unwrap();
            sets.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
            set_capabilities(None, sets).unwrap();
            test();
        });
        thread.join().unwrap();
    });
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_until_it_can() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.redb");
    drop(EmbeddedStore::open(&path).unwrap());
    let content = std::fs::read(&path).unwrap();
    let not_writable = |path: &Path| {
        let error = EmbeddedStore::open(path).unwrap_err();
        assert!(matches!(error, OpenError::NotWritable { .. }), "{error:?}");
        assert!(error.to_string().contains("write permission"), "{error}");
    };
    set_mode(&path, 0o444);
    without_privileges(|| not_writable(&path));
    set_mode(directory.path(), 0o555);
    without_privileges(|| not_writable(&directory.path().join("new.redb")));
    set_mode(directory.path(), 0o755);
    assert_eq!(std::fs::read(&path).unwrap(), content);
    assert!(!directory.path().join("new.redb").exists());
    set_mode(&path, 0o644);
    without_privileges(|| drop(EmbeddedStore::open(&path).unwrap()));
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.redb");
    drop(EmbeddedStore::open(&path).unwrap());
    set_mode(&path, 0o000);
    without_privileges(|| {
        let error = EmbeddedStore::open(&path).unwrap_err();
        assert!(matches!(error, OpenError::NotWritable { .. }), "{error:?}");
    });
}
