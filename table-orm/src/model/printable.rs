//! Stored text and text of callers, in messages.

use std::fmt::{self, Write as _};

/// Writes its value with control characters escaped, and those that turn the direction of text: a message
/// stays one line, and a terminal shows all of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printable<T>(pub T);

impl<T: fmt::Display> fmt::Display for Printable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

struct Escaping<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut plain = text;
        while let Some(at) = plain.find(is_hidden) {
            let (before, rest) = plain.split_at(at);
            self.0.write_str(before)?;
            let mut chars = rest.chars();
            chars.next().map_or(Ok(()), |c| write!(self.0, "{}", c.escape_default()))?;
            plain = chars.as_str();
        }
        self.0.write_str(plain)
    }
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200E}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_terminal_would_act_on_is_escaped() {
        let shown = |text: &str| Printable(text).to_string();
        assert_eq!(shown("Åsa's \"é\\\" \u{1F3C3}"), "Åsa's \"é\\\" \u{1F3C3}");
        assert_eq!(shown("a\nb\u{1b}[31m\0"), "a\\nb\\u{1b}[31m\\u{0}");
        assert_eq!(shown("\u{202e}x\u{85}\u{2028}"), "\\u{202e}x\\u{85}\\u{2028}");
    }
}
