//! A `$batch` answer back into responses.
//!
//! Read line by line rather than by boundary, because answers differ: Azure Storage ends lines
//! with CRLF, Cosmos DB mixes LF and CRLF, Azurite may put a stray boundary before a status line
//! or no blank line before a body. JSON has no line that starts like a boundary or a status.

use crate::protocol::Response;
use bytes::Bytes;

/// The responses in a body, about so many, in order, as far as it is UTF-8. What is not a response
/// is passed over.
pub(in crate::protocol) fn parts(body: &Bytes, about: usize) -> Vec<Response> {
    let mut parts: Vec<Response> = Vec::with_capacity(about);
    let mut place = Place::Outside;
    let mut at = 0;
    let readable = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&body[..error.valid_up_to()]).unwrap_or_default(),
    };
    let ends = memchr::memchr_iter(b'\n', readable.as_bytes()).map(|end| end + 1);
    for end in ends.chain([readable.len()]) {
        let start = std::mem::replace(&mut at, end);
        let line = &readable[start..end];
        let text = line.strip_suffix('\n').unwrap_or(line);
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.starts_with("--") {
            place = Place::Outside;
        } else if let (Place::Outside, Some(status)) = (place, status(text)) {
            parts.push(Response { status, ..Response::default() });
            place = Place::Headers;
        } else if let Some(part) = parts.last_mut() {
            match place {
                Place::Outside => {}
                Place::Headers if text.is_empty() => place = Place::Body(at),
                Place::Headers => match header(text) {
                    Some((name, value)) => part.take_header(name, value),
                    None => {
                        part.body = body.slice(start..start + text.len());
                        place = Place::Body(start);
                    }
                },
                Place::Body(from) if text.is_empty() => place = Place::Body(from),
                Place::Body(from) => part.body = body.slice(from..start + text.len()),
            }
        }
    }
    parts
}

#[derive(Clone, Copy)]
enum Place {
    /// Between responses.
    Outside,
    Headers,
    /// In a body that starts at that byte.
    Body(usize),
}

/// The status of a line such as `HTTP/1.1 204 No Content`.
fn status(line: &str) -> Option<u16> {
    line.strip_prefix("HTTP/")?.split(' ').nth(1)?.parse().ok()
}

/// A header line; a line of JSON is none.
fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (!name.is_empty() && name.bytes().all(token)).then(|| (name, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(u16, Option<String>, String)> {
        parts(&Bytes::copy_from_slice(text.as_bytes()), 1)
            .into_iter()
            .map(|part| (part.status, part.etag, String::from_utf8(part.body.to_vec()).unwrap()))
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
    fn crlf_lf_and_mixed_line_ends_are_read_alike() {
        let expected = vec![
            (204, Some("W/\"a\"".to_owned()), String::new()),
            (201, Some("W/\"b\"".to_owned()), "{\"A\":1}".to_owned()),
        ];
        assert_eq!(read(SUCCESS), expected);
        assert_eq!(read(&SUCCESS.replace("\r\n", "\n")), expected);
        assert_eq!(read(&SUCCESS.replacen("\r\n", "\n", 7)), expected);
    }

    #[test]
    fn a_stray_boundary_and_a_missing_blank_line_are_passed_over() {
        let stray = "--changesetresponse_2\r\nContent-Type: application/http\r\n\r\n\
            --changesetresponse_2\r\nHTTP/1.1 400 Bad Request\r\ncontent-type: \
            application/json\r\n{\"odata.error\":{}}\r\n--changesetresponse_2--";
        assert_eq!(read(stray), [(400, None, "{\"odata.error\":{}}".to_owned())]);
    }

    #[test]
    fn a_body_of_several_lines_is_kept_whole() {
        let text = "HTTP/1.1 400 Bad\r\n\r\n{\r\n\r\n\"a\":1}\r\n--x--";
        assert_eq!(read(text), [(400, None, "{\r\n\r\n\"a\":1}".to_owned())]);
    }

    #[test]
    fn what_is_no_answer_has_no_parts() {
        for text in ["", "\r\n", "--x\r\n--x--", "<html>HTTP/1.1 200</html>", "HTTP/", "\n\n\n"] {
            assert_eq!(read(text), [], "{text:?}");
        }
    }
}
