//! Asks before something that cannot be undone or costs money.

use std::io::{self, BufRead, IsTerminal as _, Write, stderr, stdin};

/// Whether somebody can be asked.
pub(crate) fn can_ask() -> bool {
    stdin().is_terminal()
}

/// Asks on the terminal. Returns whether the answer is `y` or `yes`.
pub(crate) fn ask(question: &str) -> io::Result<bool> {
    answer(question, stdin().lock(), stderr())
}

fn answer(question: &str, mut from: impl BufRead, mut to: impl Write) -> io::Result<bool> {
    write!(to, "{question} [y/N] ")?;
    to.flush()?;
    let mut answer = String::new();
    from.read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        for (typed, is_yes) in [
            ("y\n", true),
            ("Yes\r\n", true),
            ("\n", false),
            ("n\n", false),
            ("yesterday\n", false),
            // The end of the input.
            ("", false),
        ] {
            let mut asked = Vec::new();
            assert_eq!(answer("Delete 3 rows?", typed.as_bytes(), &mut asked).unwrap(), is_yes);
            assert_eq!(asked, b"Delete 3 rows? [y/N] ");
        }
    }
}
