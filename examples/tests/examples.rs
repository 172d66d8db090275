//! Each example of the folder above runs, and prints what its last lines say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The line above what an example prints.
const PRINTS: &str = "// Prints:\n";

/// The program that cargo built beside this test. `--test examples` alone builds none.
fn program(source: &Path) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let name = source.file_stem().unwrap().to_str().unwrap();
    let program = test.parent().unwrap().with_file_name("examples").join(name);
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    let built = fs::metadata(&program).and_then(|program| program.modified());
    let written = fs::metadata(source).and_then(|source| source.modified()).unwrap();
    let is_current = built.is_ok_and(|built| built >= written);
    assert!(is_current, "`{name}` is not built: run `cargo build -p examples --examples`");
    program
}

#[test]
fn each_example_prints_what_it_says() {
    let folder = fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap();
    let mut sources: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources.sort();
    assert_eq!(sources.len(), 8, "{sources:?}");
    for source in sources {
        let output = Command::new(program(&source)).output().unwrap();
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
