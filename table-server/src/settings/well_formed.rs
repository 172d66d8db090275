//! Whether each element of an XML text ends, within the element in which it starts. An element without
//! its end would be left out, and a setting with it.

/// The deepest nesting. The service's documents have five levels.
const MAX_DEPTH: usize = 16;

/// Whether the elements of a text are nested. Comments, sections and document types are refused.
pub(super) fn is_well_formed(text: &str) -> bool {
    let mut open = Vec::new();
    let mut rest = text;
    while let Some((_, tag)) = rest.split_once('<') {
        let Some((tag, after)) = tag.split_once('>') else { return false };
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name.trim_end()) {
                return false;
            }
        } else if !tag.ends_with(['/', '?']) {
            let name = tag.split(char::is_whitespace).next().unwrap_or_default();
            if name.is_empty() || name.starts_with('!') || open.len() == MAX_DEPTH {
                return false;
            }
            open.push(name);
        }
    }
    open.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_ends_where_it_starts() {
        for text in ["", "<?xml version=\"1.0\"?>\n<a b=\"1\"><c/><d >x</d ></a>", "<a></a>x"] {
            assert!(is_well_formed(text), "{text}");
        }
        let deep = "<a>".repeat(100_000);
        for text in
            ["<a>", "</a>", "<a></b>", "<a><b></a></b>", "<", "<>", "<a><!-- </a> -->", &deep]
        {
            assert!(!is_well_formed(text), "{text:.20}");
        }
    }
}
