//! Each example of the folder above runs, and prints what its last comment lists.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The line above what an example prints.
const PRINTS: &str = "// Prints:\n";

/// The program that cargo built beside this test, newer than each file it is built from. A run of
/// one test builds no examples.
fn program(source: &Path) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let name = source.file_stem().unwrap();
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

#[test]
fn each_example_prints_what_it_says() {
    let folder = fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap();
    let mut sources: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources.sort();
    assert_eq!(sources.len(), 22, "{sources:?}");
    for source in sources {
        let output = Command::new(program(&source)).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", source.display());
        let printed = String::from_utf8(output.stdout).unwrap();
        let printed: String =
            printed.lines().map(|line| format!("{}\n", format!("// {line}").trim_end())).collect();
        let text = fs::read_to_string(&source).unwrap();
        assert!(
            text.lines().count() <= 60,
            "{} is too long to be read at a glance",
            source.display()
        );
        let promised = text.split_once(PRINTS).map(|(_, lines)| lines);
        assert_eq!(Some(printed.as_str()), promised, "{}", source.display());
    }
}
