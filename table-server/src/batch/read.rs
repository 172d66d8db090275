//! The requests in a `$batch` body.
//!
//! Invariants: the boundaries that the body declares separate the parts, whatever a part holds; each
//! byte is looked at a constant number of times.

use crate::error::ServiceError;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use memchr::memmem;
use std::sync::Arc;

/// One request in a body.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) head: Arc<PartHead>,
    pub(crate) body: Bytes,
}

/// What comes before the body of a part. Parts share one if it is the same text.
#[derive(Debug, Clone)]
pub(crate) struct PartHead {
    pub(crate) method: Method,
    /// The URL as it was sent, mostly absolute.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    /// The `Content-ID`, which the response repeats.
    pub(crate) content_id: Option<String>,
}

/// The requests in a body.
#[derive(Debug)]
pub(crate) enum BatchContent {
    /// One request outside a change set.
    Single(Box<Part>),
    /// Those of the first change set.
    ChangeSet {
        parts: Vec<Part>,
        /// How many other change sets follow.
        others: usize,
    },
}

/// Reads the requests in a body with that `Content-Type`. Their number is not checked here.
pub(crate) fn read(content_type: &str, body: &Bytes) -> Result<BatchContent, ServiceError> {
    let boundary = boundary(content_type).ok_or(ServiceError::MEDIA_TYPE_NOT_SUPPORTED)?;
    let (mut change_sets, mut singles) = (Vec::new(), Vec::new());
    for section in sections(body, boundary)? {
        let (headers, content) = head(&section)?;
        match headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()) {
            Some(kind) if kind.to_ascii_lowercase().starts_with("multipart/mixed") => {
                let inner = self::boundary(kind).ok_or_else(malformed)?;
                change_sets.push(requests(&sections(&content, inner)?)?);
            }
            _ => singles.push(request(&section)?),
        }
    }
    let Some(single) = singles.pop() else {
        let mut change_sets = change_sets.into_iter();
        let parts = change_sets.next().unwrap_or_default();
        return Ok(BatchContent::ChangeSet { parts, others: change_sets.len() });
    };
    if singles.is_empty() && change_sets.is_empty() {
        Ok(BatchContent::Single(Box::new(single)))
    } else {
        Err(ServiceError::invalid("A query is the only request of its batch."))
    }
}

fn malformed() -> ServiceError {
    ServiceError::invalid("The body of the transaction is malformed.")
}

/// Reads the boundary of a `multipart/mixed` media type.
fn boundary(content_type: &str) -> Option<&str> {
    let mut parts = content_type.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    let boundary = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    })?;
    (1..=70).contains(&boundary.len()).then_some(boundary)
}

/// Splits a body at its boundary lines, up to the closing one.
fn sections(body: &Bytes, boundary: &str) -> Result<Vec<Bytes>, ServiceError> {
    let delimiter = format!("--{boundary}");
    let mut sections = Vec::new();
    let mut start = None;
    for at in memmem::find_iter(body, &delimiter) {
        // Looked at first: each line is searched for its end once.
        let at_line_start = at == 0 || body[at - 1] == b'\n';
        let after = at + delimiter.len();
        if !at_line_start {
            continue;
        }
        let Some(next) = line_end(body, after) else { continue };
        if let Some(start) = start {
            sections.push(body.slice(start..before_line_end(body, at).max(start)));
        }
        if body[after..].starts_with(b"--") {
            return Ok(sections);
        }
        start = Some(next);
    }
    Err(malformed())
}

/// Returns the start of the next line if the rest of this one is a closing mark or space.
fn line_end(body: &[u8], from: usize) -> Option<usize> {
    let length = memchr::memchr(b'\n', &body[from..]).map_or(body.len() - from, |end| end + 1);
    let rest = body[from..from + length].trim_ascii();
    matches!(rest, b"" | b"--").then_some(from + length)
}

/// Returns the end of the line before `at`, without its line end.
fn before_line_end(body: &[u8], at: usize) -> usize {
    let line = body[..at].strip_suffix(b"\n").unwrap_or(&body[..at]);
    line.strip_suffix(b"\r").unwrap_or(line).len()
}

/// Reads the requests of a change set. Most have the head of the one before, which is then read once.
fn requests(sections: &[Bytes]) -> Result<Vec<Part>, ServiceError> {
    let mut parts = Vec::with_capacity(sections.len());
    let mut known: Option<(Bytes, Arc<PartHead>)> = None;
    for section in sections {
        if let Some((text, head)) = known.as_ref().filter(|(text, _)| section.starts_with(text)) {
            parts.push(Part { head: Arc::clone(head), body: section.slice(text.len()..) });
            continue;
        }
        let part = request(section)?;
        let text = section.slice(..section.len() - part.body.len());
        // Without an empty line at its end, more headers could follow the same text.
        let is_whole = text.ends_with(b"\n\n") || text.ends_with(b"\n\r\n");
        known = is_whole.then(|| (text, Arc::clone(&part.head)));
        parts.push(part);
    }
    Ok(parts)
}

/// Reads one request, with the headers of the part around it.
fn request(section: &Bytes) -> Result<Part, ServiceError> {
    let (outer, content) = head(section)?;
    let (line, rest) = first_line(&content);
    let line = str::from_utf8(line).map_err(|_| malformed())?;
    // Some clients send keys with spaces as they are.
    let (method, rest_of_line) = line.split_once(' ').ok_or_else(malformed)?;
    let (target, version) = rest_of_line.rsplit_once(' ').ok_or_else(malformed)?;
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| malformed())?;
    if !version.starts_with("HTTP/1.") || target.is_empty() {
        return Err(malformed());
    }
    let (headers, body) = head(&content.slice_ref(rest))?;
    let id = |headers: &HeaderMap| {
        headers.get("content-id").and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let content_id = id(&headers).or_else(|| id(&outer));
    let head = PartHead { method, target: target.to_owned(), headers, content_id };
    Ok(Part { head: Arc::new(head), body })
}

/// The most headers of one part.
const MAX_HEADERS: usize = 64;

/// Splits headers from the body after the empty line.
fn head(section: &Bytes) -> Result<(HeaderMap, Bytes), ServiceError> {
    let mut headers = HeaderMap::new();
    let mut rest: &[u8] = section;
    loop {
        let (line, after) = first_line(rest);
        if line.is_empty() {
            return Ok((headers, section.slice_ref(after)));
        }
        let colon = memchr::memchr(b':', line).ok_or_else(malformed)?;
        let name = HeaderName::from_bytes(&line[..colon]).map_err(|_| malformed())?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if headers.len() == MAX_HEADERS
            || headers.insert(name, value.map_err(|_| malformed())?).is_some()
        {
            return Err(malformed());
        }
        rest = after;
    }
}

/// Splits off the first line, without its end.
fn first_line(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\n', text) {
        Some(end) => (text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]), &text[end + 1..]),
        None => (text.strip_suffix(b"\r").unwrap_or(text), &text[text.len()..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TYPE: &str = "multipart/mixed; boundary=batch_1";
    const TWO: &str = "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_2\r\n\r\n\
        --changeset_2\r\nContent-Type: application/http\r\nContent-ID: 7\r\n\r\n\
        POST http://h/acc/People HTTP/1.1\r\nPrefer: return-no-content\r\n\r\n{\"A\":\"\\n--x\"}\r\n\
        --changeset_2\r\nContent-Type: application/http\r\n\r\n\
        DELETE http://h/acc/People(PartitionKey='p',RowKey='r') HTTP/1.1\r\nIf-Match: *\r\n\r\n\r\n\
        --changeset_2--\r\n--batch_1--\r\n";

    fn read(text: &str) -> Result<BatchContent, ServiceError> {
        super::read(TYPE, &Bytes::copy_from_slice(text.as_bytes()))
    }

    /// Returns the requests of the only change set.
    fn change_set(text: &str) -> Vec<Part> {
        match read(text).unwrap() {
            BatchContent::ChangeSet { parts, others: 0 } => parts,
            content => panic!("{content:?}"),
        }
    }

    #[test]
    fn crlf_and_lf_are_equal() {
        for text in [TWO.to_owned(), TWO.replace("\r\n", "\n")] {
            let read = change_set(&text);
            let content_id = |at: usize| read[at].head.content_id.as_deref();
            assert_eq!(read.len(), 2);
            assert_eq!(
                (&*read[0].head.target, &read[0].head.method),
                ("http://h/acc/People", &Method::POST)
            );
            assert_eq!(read[0].body, "{\"A\":\"\\n--x\"}");
            assert_eq!(read[0].head.headers["prefer"], "return-no-content");
            assert_eq!((content_id(0), content_id(1)), (Some("7"), None));
            assert_eq!(read[1].head.headers["if-match"], "*");
            assert!(read[1].body.is_empty());
        }
    }

    #[test]
    fn a_head_is_read_once_only_where_the_whole_text_is_the_same() {
        let part = |head: &str, body: &str| format!("--changeset_2\r\n{head}{body}\r\n");
        let head = "Content-Type: application/http\r\n\r\nPOST /acc/People HTTP/1.1\r\nA: 1\r\n";
        let parts = [
            part(head, "\r\n{\"A\":1}"),
            part(head, "\r\n{\"A\":2}"),
            // The same text with another header, and the other way round.
            part(head, "B: 2\r\n\r\n{\"A\":3}"),
            part(head, ""),
            part(head, "B: 2\r\n\r\n"),
            part(head, "\r\nB: 2\r\n\r\n"),
            part(&head.replace("People", "Peoples"), "\r\n"),
        ];
        let start = "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_2\r\n\r\n";
        let text = format!("{start}{}--changeset_2--\r\n--batch_1--\r\n", parts.concat());
        let read = change_set(&text);
        let alone = |part: &String| {
            let mut read = change_set(&format!("{start}{part}--changeset_2--\r\n--batch_1--\r\n"));
            read.remove(0)
        };
        assert_eq!(read.len(), parts.len());
        for (read, part) in read.iter().zip(&parts) {
            let alone = alone(part);
            assert_eq!(format!("{:?}", read.head), format!("{:?}", alone.head), "{part}");
            assert_eq!(read.body, alone.body, "{part}");
        }
        assert!(Arc::ptr_eq(&read[0].head, &read[1].head));
        assert_eq!(read[2].head.headers["b"], "2");
        assert_eq!(read[5].body, "B: 2\r\n\r\n");
    }

    #[test]
    fn an_empty_change_set_has_no_requests() {
        let text =
            "--batch_1\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--batch_1--";
        assert_eq!(change_set(text).len(), 0);
        assert_eq!(change_set("--batch_1--").len(), 0);
    }

    #[test]
    fn malformed_bodies_are_refused() {
        for text in [
            "",
            "--batch_1",
            "--batch_1\r\n",
            "--batch_2--",
            "--batch_1\r\n\r\nPOST /x\r\n\r\n--batch_1--",
            "--batch_1\r\n\r\nPOST /x HTTP/1.1 x\r\n\r\n--batch_1--",
            "--batch_1\r\n\r\nPOST /x HTTP/1.1\r\nno header\r\n\r\n--batch_1--",
            "--batch_1\r\n\r\nPOST /x HTTP/1.1\r\nA: 1\r\na: 2\r\n\r\n--batch_1--",
            "--batch_1\r\nContent-Type: multipart/mixed\r\n\r\n--batch_1--",
            &TWO[..TWO.len() / 2],
        ] {
            assert_eq!(read(text).unwrap_err().code, "InvalidInput", "{text}");
        }
        for kind in ["", "application/json", "multipart/mixed", "multipart/mixed; boundary="] {
            let error = super::read(kind, &Bytes::from_static(TWO.as_bytes())).unwrap_err();
            assert_eq!(error.status, 415, "{kind}");
        }
    }

    proptest! {
        #[test]
        fn any_body_is_read_or_refused(cuts in prop::collection::vec((0..TWO.len(), any::<u8>()), 0..8)) {
            let mut text = TWO.as_bytes().to_vec();
            for (at, byte) in cuts {
                if byte < 128 { text[at] = byte } else { text.truncate(at.max(1)); }
                if text.len() < TWO.len() { break }
            }
            let _ = super::read(TYPE, &text.into());
        }
    }
}
