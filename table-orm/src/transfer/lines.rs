//! Lines of an import, numbered.

use super::csv::Place;
use crate::error::TransferError;
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// The longest text of a row in bytes: 1 MiB of values, each byte escaped, and room for names.
const MAX_LINE: u64 = 16 * 1024 * 1024;

/// What some programs write before a text: the mark of UTF-8.
const MARK: &[u8] = "\u{FEFF}".as_bytes();

/// The lines of a text. A record of CSV may have several.
pub(super) struct Lines<R> {
    input: R,
    /// The lines that were read.
    line: u64,
    is_csv: bool,
}

/// The text of one row.
pub(super) struct Line {
    /// Where it starts, from 1.
    pub number: u64,
    /// Its last line.
    pub last: u64,
    pub text: Result<String, TransferError>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub fn new(input: R, is_csv: bool) -> Self {
        Self { input, line: 0, is_csv }
    }

    /// The next text that is not blank; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Line>, TransferError> {
        loop {
            let number = self.line + 1;
            let (mut bytes, mut place) = (Vec::new(), Place::default());
            loop {
                let start = bytes.len();
                let room = MAX_LINE.saturating_sub(bytes.len() as u64);
                let read = (&mut self.input).take(room).read_until(b'\n', &mut bytes).await;
                let read = read.map_err(|source| self.failed(source))?;
                self.line += u64::from(read > 0);
                if bytes.len() as u64 >= MAX_LINE {
                    return Err(TransferError::LongLine { line: number, most: MAX_LINE });
                }
                if self.is_csv {
                    let more = &bytes[start..];
                    let is_first = number == 1 && start == 0;
                    let mark = is_first.then(|| more.strip_prefix(MARK)).flatten();
                    place = place.after(mark.unwrap_or(more));
                }
                if read == 0 || place != Place::Quoted {
                    break;
                }
            }
            if number == 1 && bytes.starts_with(MARK) {
                bytes.drain(..MARK.len());
            } else if bytes.is_empty() {
                return Ok(None);
            }
            if bytes.last() == Some(&b'\n') {
                bytes.pop();
            }
            if bytes.last() == Some(&b'\r') {
                bytes.pop();
            }
            if bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let last = self.line;
            let text = match place {
                Place::Quoted => Err(TransferError::OpenQuote { first: number, last }),
                _ => String::from_utf8(bytes).map_err(|_| TransferError::Encoding),
            };
            return Ok(Some(Line { number, last, text }));
        }
    }

    fn failed(&self, source: io::Error) -> TransferError {
        TransferError::Read { line: self.line + 1, source }
    }
}
