//! Comparisons of text that run while an app compiles, where `==` cannot.

/// Whether two texts are equal.
pub(crate) const fn is_same(left: &str, right: &str) -> bool {
    left.len() == right.len() && starts_with(left, right)
}

/// Whether a text begins with another one.
pub(crate) const fn starts_with(text: &str, start: &str) -> bool {
    let (text, start) = (text.as_bytes(), start.as_bytes());
    let mut at = 0;
    while at < start.len() && at < text.len() && text[at] == start[at] {
        at += 1;
    }
    at == start.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_compare_as_outside_of_constants() {
        let texts = ["", "a", "b", "ab", "abc", "é"];
        for (left, right) in texts.iter().flat_map(|left| texts.map(|right| (*left, right))) {
            assert_eq!(is_same(left, right), left == right, "{left} {right}");
            assert_eq!(starts_with(left, right), left.starts_with(right), "{left} {right}");
        }
    }
}
