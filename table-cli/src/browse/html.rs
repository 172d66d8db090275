//! HTML from text of any origin.
//!
//! Invariant: what a table holds reaches a page through [`Escaped`] or [`query`] only, so no value is
//! markup.

use crate::printable::printable;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt;

/// Text within an element, or within an attribute that has quotes.
pub(super) struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in printable(self.0).chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                character => fmt::Write::write_char(f, character)?,
            }
        }
        Ok(())
    }
}

/// The query of a link, for an attribute: `?name=value&amp;..`, without empty values.
pub(super) fn query<'a>(parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (name, value) in parameters {
        let mark = if text.is_empty() { "?" } else { "&amp;" };
        let value = utf8_percent_encode(value, NON_ALPHANUMERIC);
        text.push_str(&format!("{mark}{name}={value}"));
    }
    text
}

/// A whole page.
pub(super) fn page(title: &str, root: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <link rel=\"stylesheet\" href=\"{root}style.css\">\n\
         <script src=\"{root}script.js\" defer></script>\n</head>\n<body>\n{body}\n</body>\n</html>\n",
        Escaped(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        let hostile = "<img src=x onerror=\"alert('1')\">&amp;\u{0}\u{202e}";
        let shown = Escaped(hostile).to_string();
        assert!(!shown.contains(['<', '>', '"', '\'', '\u{0}', '\u{202e}']), "{shown}");
        assert!(shown.contains("&amp;amp;"));
        let link = query([("p", "a b&c=\"d\"#%\u{1F3C3}"), ("r", "")]);
        assert_eq!(link, "?p=a%20b%26c%3D%22d%22%23%25%F0%9F%8F%83&amp;r=");
    }
}
