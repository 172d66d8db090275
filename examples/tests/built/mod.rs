//! Examples that cargo built beside a test.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The program of that name and main file, newer than each file it is built from. A run of
/// one test builds no examples.
pub fn program(name: &OsStr, source: &Path) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().with_file_name("examples").join(name);
    let sources = fs::read_to_string(program.with_extension("d")).unwrap_or_default();
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    let built = changed(&program);
    let is_current = built.is_some()
        && sources.contains(source.to_str().unwrap())
        && sources.split_whitespace().skip(1).all(|source| changed(source.as_ref()) <= built);
    assert!(
        is_current,
        "{name:?} is out of date: `cargo test -p examples`, without a name, builds it"
    );
    program
}
