//! What holds for any input: the bodies of the fuzz targets, and of short runs in the tests.
//! Compiled for these two only.

#![allow(clippy::expect_used, reason = "a panic is what the fuzzer looks for")]

use crate::edm::DateTime;
use crate::entity::DynamicEntity;
use crate::key::{
    Ascending, Biased, Descending, DescendingPadded, Escape, KeyPart, KeyReader, KeyText, Padded,
    Plain,
};
use crate::row::{read_etag, read_page, read_row, split_page};
use time::{Date, OffsetDateTime, Time};
use uuid::Uuid;

/// An answer of the service gives a result or an error, and a transaction as many results as it
/// has operations.
#[cfg(feature = "azure")]
pub fn answer(status: u16, header: &str, body: &[u8]) {
    use crate::protocol::Response;
    use crate::store::{Action, IfMatch, Operation};

    let delete = |row_key: &str| Operation {
        row_key: row_key.to_owned(),
        action: Action::Delete(IfMatch::Any),
    };
    let operations = [delete("a"), delete("b")];
    let headers = [("ETag", header), ("Retry-After", header), ("Date", header)];
    let answer = || Response::new(status, headers, bytes::Bytes::copy_from_slice(body));
    let _ = answer().table_names();
    let _ = answer().row();
    let _ = answer().page();
    let _ = answer().written(&operations[0].action);
    if let Ok(etags) = answer().committed(&operations) {
        assert_eq!(etags.len(), operations.len());
    }
}

/// A page gives its rows or an error, and those that are read are those that are there.
pub fn page(json: &[u8]) {
    let rows = split_page(json);
    if let Ok(read) = read_page::<DynamicEntity>(0, json) {
        assert_eq!(read.len(), rows.expect("what is read whole can be split").len());
    }
    let _ = read_row::<DynamicEntity>(0, json);
    let _ = read_etag(json);
}

/// A stored key gives the values that would write it, or an error.
pub fn key(text: &str) {
    writes_what_it_reads::<Plain, String>(text);
    writes_what_it_reads::<Plain, char>(text);
    writes_what_it_reads::<Plain, bool>(text);
    writes_what_it_reads::<Plain, u64>(text);
    writes_what_it_reads::<Plain, Uuid>(text);
    writes_what_it_reads::<Plain, Date>(text);
    writes_what_it_reads::<Plain, Time>(text);
    writes_what_it_reads::<Plain, OffsetDateTime>(text);
    writes_what_it_reads::<Descending, OffsetDateTime>(text);
    writes_what_it_reads::<Descending, DateTime>(text);
    writes_what_it_reads::<Padded<5>, u32>(text);
    writes_what_it_reads::<DescendingPadded<5>, u32>(text);
    writes_what_it_reads::<Ascending, i64>(text);
    writes_what_it_reads::<Descending, u64>(text);
    writes_what_it_reads::<Biased, i64>(text);
    for escape in [Escape::Reject, Escape::Encode] {
        let mut reader = KeyReader::new("Fuzzed", escape, text);
        let _ = reader.part::<Plain, String>("first", "__");
        let _ = reader.literal("__");
        let _ = reader.part::<Padded<3>, u32>("number", "");
        let _ = reader.part::<Plain, String>("second", "");
        let _ = reader.finish();
    }
}

/// No second text is read as the same value: what can be read is what is written.
fn writes_what_it_reads<X, T: KeyPart<X>>(text: &str) {
    let mut reader = KeyReader::new("Fuzzed", Escape::Reject, text);
    let (Ok(value), Ok(())) = (reader.part::<X, T>("component", ""), reader.finish()) else {
        return;
    };
    let mut key = KeyText::new("Fuzzed", Escape::Reject);
    // Text that the service forbids can be read, and not written.
    if key.part::<X, T>("component", &value, "").is_ok()
        && let Ok(written) = key.finish()
    {
        assert_eq!(written, text);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    #[test]
    fn texts_that_fuzzing_has_found_stay_refused() {
        // Once read as the ninth of September.
        for text in ["1999-9-9-9", "1999-09-9-", "999-009-09"] {
            super::key(text);
        }
    }

    proptest! {
        #[test]
        fn no_key_panics(
            text in any::<String>(),
            key in "[-0-9a-fA-F:TZ._~+ é]{0,40}",
            digits in "[0-9]{1,20}",
        ) {
            for text in [text, key, digits] {
                super::key(&text);
            }
        }

        #[test]
        fn no_page_panics(
            bytes in any::<Vec<u8>>(),
            text in "(\\{\"value\":\\[|\\{\"A\":1\\}|,|\\]\\}|\"Timestamp\":|\"@odata.type\":|\\\\u[d0]800|[ -~]){0,20}",
        ) {
            super::page(&bytes);
            super::page(text.as_bytes());
            super::page(format!("{{\"value\":[{{{text}}}]}}").as_bytes());
        }
    }

    #[cfg(feature = "azure")]
    proptest! {
        #[test]
        fn no_answer_panics(
            status in any::<u16>(),
            bytes in any::<Vec<u8>>(),
            text in "((--|HTTP/1\\.1 |[1-5]04|\r?\n|ETag: |\\{\"odata\\.error\":|<Code>|</|[ -~])){0,40}",
            header in any::<String>(),
        ) {
            super::answer(status, &header, &bytes);
            super::answer(status, &header, text.as_bytes());
        }
    }
}
