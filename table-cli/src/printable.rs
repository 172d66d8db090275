//! Stored text for a terminal: what a row holds must not move the cursor or end a line.

/// The text with control characters as escapes.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        // The marks that turn the direction of the text can hide what stands beside them.
        let turns = matches!(character, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
        match character.is_control() || turns {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_text_cannot_move_the_cursor() {
        assert_eq!(
            printable("a\u{1b}[2J\r\n\u{9b}\u{202e}b"),
            "a\\u{1b}[2J\\r\\n\\u{9b}\\u{202e}b"
        );
        assert_eq!(printable("O'Brien \u{1F3C3} 日本"), "O'Brien \u{1F3C3} 日本");
    }
}
