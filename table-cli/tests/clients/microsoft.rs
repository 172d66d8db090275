//! Microsoft's own tests of `azure-data-tables`, from its source package, unchanged, against
//! `table-orm serve` over HTTPS. The cloud's host names lead to it.

use crate::known::{self, Known};
use crate::served::Served;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use support::python;

/// The package whose tests these are.
const PACKAGE: &str = "azure-data-tables==12.7.0";

#[test]
fn synchronous_client() {
    pass("synchronous_client", |name| !name.ends_with("_async.py"), 253);
}

#[test]
fn asynchronous_client() {
    pass("asynchronous_client", |name| name.ends_with("_async.py"), 216);
}

/// What the tests need, in folders under `target`.
struct Prepared {
    interpreter: PathBuf,
    tests: PathBuf,
}

static PREPARED: LazyLock<Result<Prepared, String>> = LazyLock::new(prepare);

/// Makes an environment with the client, and unpacks its tests. Python's packages are needed for that
/// once, from their index.
fn prepare() -> Result<Prepared, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let interpreter =
        python::environment(&target.join("microsoft-python"), &sources().join("requirements.txt"))?;
    let tests = target.join(PACKAGE.replace("==", "-").replace('-', "_")).join("tests");
    if !tests.is_dir() {
        let packages = target.join("microsoft-packages");
        let download =
            ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "azure-data-tables"];
        python::run(
            Command::new(&interpreter).args(download).args([PACKAGE, "--dest"]).arg(&packages),
        )?;
        let archive = fs::read_dir(&packages).map_err(|error| error.to_string())?.next();
        let archive =
            archive.ok_or("no package was downloaded")?.map_err(|error| error.to_string())?;
        let unpacked = target.join("microsoft-unpacked");
        python::run(
            Command::new(&interpreter)
                .args(["-m", "tarfile", "-e"])
                .arg(archive.path())
                .arg(&unpacked),
        )?;
        let folder = fs::read_dir(&unpacked).map_err(|error| error.to_string())?.next();
        let folder = folder.ok_or("the package is empty")?.map_err(|error| error.to_string())?;
        let whole = tests.parent().expect("a folder");
        fs::rename(folder.path(), whole).map_err(|error| error.to_string())?;
    }
    Ok(Prepared { interpreter, tests })
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python")
}

/// Runs the files that are chosen. At least `least` tests must pass.
fn pass(test: &str, chosen: fn(&str) -> bool, least: usize) {
    let Prepared { interpreter, tests } = match &*PREPARED {
        Ok(prepared) => prepared,
        Err(reason) => return support::leave_out(test, reason),
    };
    let files = files(tests, chosen);
    let served = Served::with_tls();
    let modules = std::env::join_paths([sources().join("stand_in"), tests.clone()]).unwrap();
    let output = Command::new(interpreter)
        .current_dir(tests)
        .args(["-m", "pytest", "-q", "-rA", "--tb=short", "-p", "no:cacheprovider", "-c"])
        .arg(sources().join("pytest.ini"))
        .arg("--rootdir")
        .arg(tests)
        .args(&files)
        .env("PYTHONPATH", modules)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(served.environment())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let results = known::results(&text);
    let known = Known::read(&sources().join("known.md"), &files);
    let mistakes = known.mistakes(&results);
    let passed = results.iter().filter(|result| result.passed).count();
    println!("{passed} of {} tests passed", results.len());
    assert!(mistakes.is_empty(), "{}\n{text}", mistakes.join("\n"));
    assert!(passed >= least, "only {passed} tests passed, of at least {least}\n{text}");
}

/// The files of tests on storage accounts; others are on Cosmos DB.
fn files(tests: &Path, chosen: fn(&str) -> bool) -> Vec<String> {
    let entries = fs::read_dir(tests).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.map(|name| name.to_string_lossy().into_owned());
    let is_test = |name: &String| {
        name.starts_with("test_")
            && name.ends_with(".py")
            && !name.contains("cosmos")
            && chosen(name)
    };
    let mut files: Vec<_> = names.filter(is_test).collect();
    files.sort();
    files
}
