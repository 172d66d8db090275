//! The list of tests that are known to fail.

use std::path::Path;

/// What became of one test.
pub struct TestResult {
    pub name: String,
    pub passed: bool,
}

/// Reads the summary that pytest writes with `-rA`. Tests that were skipped are not in it.
pub fn results(text: &str) -> Vec<TestResult> {
    let line = |line: &str| {
        let (outcome, rest) = line.split_once(' ')?;
        // Logged errors look alike.
        let rest = Some(rest).filter(|rest| rest.starts_with("test_"))?;
        let passed = match outcome {
            "PASSED" => true,
            "FAILED" | "ERROR" => false,
            _ => return None,
        };
        let name = rest.split(" - ").next()?.trim().to_owned();
        Some(TestResult { name, passed })
    };
    text.lines().filter_map(line).collect()
}

/// The rows of `known.md` on the files that were run.
pub struct Known(Vec<KnownFailure>);

struct KnownFailure {
    name: String,
    /// Whether it passes at times.
    unsteady: bool,
}

impl Known {
    pub fn read(path: &Path, files: &[String]) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let row = |line: &str| {
            let (name, reason) = line.strip_prefix("| `")?.split_once("` | ")?;
            let unsteady = reason.starts_with("unsteady: ");
            Some(KnownFailure { name: name.to_owned(), unsteady })
        };
        let of_run =
            |known: &KnownFailure| files.iter().any(|file| known.name.starts_with(&**file));
        Self(text.lines().filter_map(row).filter(of_run).collect())
    }

    /// Returns what differs from the list.
    pub fn mistakes(&self, results: &[TestResult]) -> Vec<String> {
        let known = |name: &str| self.0.iter().find(|known| known.name == name);
        let mut mistakes = Vec::new();
        for TestResult { name, passed } in results {
            match (passed, known(name)) {
                (false, None) => mistakes.push(format!("fails, and is not in known.md: {name}")),
                (true, Some(known)) if !known.unsteady => {
                    mistakes.push(format!("passes: remove it from known.md: {name}"));
                }
                _ => {}
            }
        }
        let ran = |known: &&KnownFailure| !results.iter().any(|result| result.name == known.name);
        mistakes
            .extend(self.0.iter().filter(ran).map(|known| format!("did not run: {}", known.name)));
        mistakes
    }
}
