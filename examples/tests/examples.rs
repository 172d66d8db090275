//! Each example of the folder above runs, and prints what its last comment lists.

#![allow(clippy::unwrap_used)]

mod built;

use built::program;
use std::fs;
use std::process::Command;

/// The line above what an example prints.
const PRINTS: &str = "// Prints:\n";

#[test]
fn each_example_prints_what_it_says() {
    let folder = fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap();
    let mut sources: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources.sort();
    assert_eq!(sources.len(), 11, "{sources:?}");
    for source in sources {
        let output = Command::new(program(source.file_stem().unwrap(), &source)).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", source.display());
        let printed = String::from_utf8(output.stdout).unwrap();
        let printed: String =
            printed.lines().map(|line| format!("{}\n", format!("// {line}").trim_end())).collect();
        let text = fs::read_to_string(&source).unwrap();
        let promised = text.split_once(PRINTS).map(|(_, lines)| lines);
        assert_eq!(Some(printed.as_str()), promised, "{}", source.display());
    }
}
