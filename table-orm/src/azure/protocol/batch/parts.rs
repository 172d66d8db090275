//! The responses in a `$batch` answer.
//!
//! They are found by lines and not by the boundary that the answer declares, because answers
//! differ: Azure Storage ends lines with CRLF, Cosmos DB mixes LF and CRLF, Azurite may put a stray
//! boundary before a status line or no blank line before a body. No line of JSON starts like a
//! boundary or a status.

use crate::azure::protocol::message::{WireResponse, is_success};
use bytes::Bytes;
use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter};
use std::iter;

/// One response in a body. Its headers are read on demand.
#[derive(Debug, Clone, Copy)]
pub(in crate::azure::protocol) struct Part<'b> {
    status: u16,
    /// The headers, and after them the body.
    rest: &'b str,
}

/// Returns the responses in a body, in order, as far as it is UTF-8. Skips everything else.
pub(in crate::azure::protocol) fn parts(body: &[u8]) -> impl Iterator<Item = Part<'_>> {
    let mut text = match str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&body[..error.valid_up_to()]).unwrap_or_default(),
    };
    let (status_line, boundary) = (Finder::new("\nHTTP/"), Finder::new("\n--"));
    iter::from_fn(move || {
        loop {
            if !text.starts_with("HTTP/") {
                text = &text[status_line.find(text.as_bytes())? + 1..];
            }
            // The line end of the status may belong to a boundary.
            let (part, next) = text.split_at(boundary.find(text.as_bytes()).unwrap_or(text.len()));
            let (line, rest) = first_line(part)?;
            if let Some(status) = status(line) {
                text = next;
                return Some(Part { status, rest });
            }
            (_, text) = first_line(text)?;
        }
    })
}

impl<'b> Part<'b> {
    pub(in crate::azure::protocol) const fn is_success(&self) -> bool {
        is_success(self.status)
    }

    pub(in crate::azure::protocol) fn etag(self) -> Option<&'b str> {
        const NAME: &str = "etag:";
        let mut start = 0;
        memchr_iter(b'\n', self.rest.as_bytes())
            .chain([self.rest.len()])
            .map(|end| &self.rest[std::mem::replace(&mut start, end + 1)..end])
            .take_while(|line| !matches!(*line, "" | "\r"))
            .find_map(|line| {
                let (name, etag) = line.split_at_checked(NAME.len())?;
                name.eq_ignore_ascii_case(NAME).then(|| etag.trim())
            })
    }

    pub(in crate::azure::protocol) fn response(self) -> WireResponse {
        let (mut headers, mut text) = (Vec::new(), self.rest);
        while let Some((header, rest)) =
            first_line(text).and_then(|(line, rest)| Some((header(line)?, rest)))
        {
            headers.push(header);
            text = rest;
        }
        // Removes the blank line before it too, if there is one.
        let body = text.trim_matches(['\r', '\n']);
        WireResponse::new(self.status, headers, Bytes::copy_from_slice(body.as_bytes()))
    }
}

/// Splits off the first line, without its end; `None` for empty text.
fn first_line(text: &str) -> Option<(&str, &str)> {
    let end = memchr(b'\n', text.as_bytes());
    let (line, rest) = end.map_or((text, ""), |end| (&text[..end], &text[end + 1..]));
    (!text.is_empty()).then(|| (line.strip_suffix('\r').unwrap_or(line), rest))
}

/// Reads the status of a line such as `HTTP/1.1 204 No Content`.
fn status(line: &str) -> Option<u16> {
    let (_, status) = line.strip_prefix("HTTP/")?.split_once(' ')?;
    status.split_once(' ').map_or(status, |(status, _)| status).parse().ok()
}

/// Reads a header line; `None` for a line of JSON.
fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (!name.is_empty() && name.bytes().all(token)).then(|| (name, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(u16, Option<String>, String)> {
        parts(text.as_bytes())
            .map(|part| {
                let WireResponse { status, etag, body, .. } = part.response();
                assert_eq!((part.status, part.etag()), (status, etag.as_deref()));
                (status, etag, String::from_utf8(body.to_vec()).unwrap())
            })
            .collect()
    }

    const SUCCESS: &str = "--batchresponse_1\r\nContent-Type: multipart/mixed; \
        boundary=changesetresponse_2\r\n\r\n--changesetresponse_2\r\nContent-Type: \
        application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 204 No \
        Content\r\nETag: W/\"a\"\r\n\r\n\r\n--changesetresponse_2\r\nContent-Type: \
        application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 201 \
        Created\r\nETag: W/\"b\"\r\nContent-Type: application/json\r\n\r\n{\"A\":1}\r\n\
        --changesetresponse_2--\r\n--batchresponse_1--\r\n";

    #[test]
    fn crlf_lf_and_mixed_line_ends_are_equal() {
        let expected = vec![
            (204, Some("W/\"a\"".to_owned()), String::new()),
            (201, Some("W/\"b\"".to_owned()), "{\"A\":1}".to_owned()),
        ];
        assert_eq!(read(SUCCESS), expected);
        assert_eq!(read(&SUCCESS.replace("\r\n", "\n")), expected);
        assert_eq!(read(&SUCCESS.replacen("\r\n", "\n", 7)), expected);
    }

    #[test]
    fn a_stray_boundary_and_a_missing_blank_line_are_skipped() {
        let stray = "--changesetresponse_2\r\nContent-Type: application/http\r\n\r\n\
            --changesetresponse_2\r\nHTTP/1.1 400 Bad Request\r\ncontent-type: \
            application/json\r\n{\"odata.error\":{}}\r\n--changesetresponse_2--";
        assert_eq!(read(stray), [(400, None, "{\"odata.error\":{}}".to_owned())]);
    }

    #[test]
    fn a_status_alone_is_a_part() {
        let text =
            "HTTP/1.1 204 A\r\n--b\r\nHTTP/1.1 x\r\n--b\r\nHTTP/1.1 201 B\r\nETag: e\r\n--b--";
        let expected = [(204, None, String::new()), (201, Some("e".to_owned()), String::new())];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn a_body_of_several_lines_is_kept_whole() {
        let text = "HTTP/1.1 400 Bad\r\n\r\n{\r\n\r\n\"a\":1}\r\n--x--";
        assert_eq!(read(text), [(400, None, "{\r\n\r\n\"a\":1}".to_owned())]);
    }

    #[test]
    fn text_without_a_response_has_no_parts() {
        for text in ["", "\r\n", "--x\r\n--x--", "<html>HTTP/1.1 200</html>", "HTTP/", "\n\n\n"] {
            assert_eq!(read(text), [], "{text:?}");
        }
    }
}
