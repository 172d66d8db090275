//! Asks before something that cannot be undone or costs money.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _, stderr, stdin};

/// Whether somebody can be asked.
pub(crate) fn can_ask() -> bool {
    stdin().is_terminal()
}

/// Asks on the terminal. Returns whether the answer is `y` or `yes`.
pub(crate) fn ask(question: &str) -> io::Result<bool> {
    write!(stderr(), "{question} [y/N] ")?;
    stderr().flush()?;
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
