//! The part of XML that the service uses: elements that hold text or other elements. Own code,
//! because two short documents do not justify a parser as a dependency.

/// Returns the content of the first element with this name, and the text after the element. No
/// element contains another of the same name.
#[must_use]
pub fn element<'t>(text: &'t str, name: &str) -> Option<(&'t str, &'t str)> {
    let mut rest = text;
    loop {
        rest = &rest[rest.find('<')? + 1..];
        let Some(tag) = rest.strip_prefix(name) else { continue };
        if !tag.starts_with(['>', '/']) && !tag.starts_with(char::is_whitespace) {
            continue;
        }
        let (attributes, content) = tag.split_once('>')?;
        if attributes.ends_with('/') {
            return Some(("", content));
        }
        let end = format!("</{name}>");
        return content.split_once(&*end);
    }
}

/// Returns the text of an element that holds text only; `None` if it holds elements, or a reference
/// that XML does not define.
#[must_use]
pub fn text(content: &str) -> Option<String> {
    let mut parts = content.split('&');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (reference, rest) = part.split_once(';')?;
        text.push(match reference {
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            "amp" => '&',
            _ => numbered(reference.strip_prefix('#')?)?,
        });
        text.push_str(rest);
    }
    (!content.contains('<')).then(|| text.trim().to_owned())
}

fn numbered(number: &str) -> Option<char> {
    char::from_u32(match number.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    })
}

/// Appends an element that holds text.
pub fn push(out: &mut String, name: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    for part in ["<", name, ">", &text, "</", name, ">"] {
        out.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_distinguished_from_those_with_longer_names() {
        let text = "<?xml?><Cors><CorsRule a=\"1\">x</CorsRule><Empty /><Void/></Cors>after";
        assert_eq!(element(text, "CorsRule"), Some(("x", "<Empty /><Void/></Cors>after")));
        assert_eq!(element(text, "Cors").map(|(_, rest)| rest), Some("after"));
        assert_eq!(element(text, "Empty"), Some(("", "<Void/></Cors>after")));
        assert_eq!(element(text, "Void"), Some(("", "</Cors>after")));
        for text in ["", "<", "<Cors", "<Cors>", "<Cors></CorsRule>", "</Cors>", "Cors"] {
            assert_eq!(element(text, "Cors"), None, "{text}");
        }
    }

    #[test]
    fn text_is_read_as_it_was_written() {
        let written = |text: &str| {
            let mut out = String::new();
            push(&mut out, "A", text);
            out
        };
        for value in ["", "a&b", "<A>&amp;</A>", "&lt;", "é\u{1F3C3}"] {
            let written = written(value);
            let (content, rest) = element(&written, "A").unwrap();
            assert_eq!((text(content).as_deref(), rest), (Some(value), ""));
        }
        assert_eq!(text("&#65;&#x42;&quot;&apos;").as_deref(), Some("AB\"'"));
        for broken in ["&", "&none;", "&#xD800;", "&#;", "<b/>"] {
            assert_eq!(text(broken), None, "{broken}");
        }
    }
}
