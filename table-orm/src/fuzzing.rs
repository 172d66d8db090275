//! Promises for any input: the bodies of the fuzz targets, and of short runs in the tests. Compiled
//! for these two only.

#![allow(clippy::expect_used, reason = "a panic is what the fuzzer looks for")]

use crate::entity::{DynamicEntity, OwnRows, read_etag, read_page, read_row, split_page};
use crate::key::{
    Ascending, Biased, Descending, DescendingPadded, Escape, KeyPart, KeyReader, KeyText, Padded,
    Plain,
};
use crate::model::DateTime;
use time::{Date, OffsetDateTime, Time};
use uuid::Uuid;

/// An answer of the service is read into a result or an error, and the answer to a transaction into
/// one result for each operation.
#[cfg(feature = "azure")]
pub fn answer(status: u16, header: &str, body: &[u8]) {
    use crate::azure::protocol::WireResponse;
    use crate::store::{Action, IfMatch, Operation};

    let delete = |row_key: &str| Operation {
        row_key: row_key.to_owned(),
        action: Action::Delete(IfMatch::Any),
    };
    let operations = [delete("a"), delete("b")];
    let headers = [("ETag", header), ("Retry-After", header), ("Date", header)];
    let answer = || WireResponse::new(status, headers, bytes::Bytes::copy_from_slice(body));
    let _ = answer().table_names();
    let _ = answer().row();
    let _ = answer().page();
    let _ = answer().written(&operations[0].action);
    let _ = answer().cors_rules();
    if let Ok(etags) = answer().committed(&operations) {
        assert_eq!(etags.len(), operations.len());
    }
}

/// A connection string is read into an endpoint on the host that it names, or an error. Its `Debug`
/// output does not depend on its secret.
#[cfg(feature = "azure")]
pub fn connection_string(text: &str) {
    use crate::azure::ConnectionString;
    use azure_core::http::Url;

    let lower = text.to_ascii_lowercase();
    let services = [
        (text.parse::<ConnectionString>(), "tableendpoint", ".table.core.windows.net"),
        (ConnectionString::queues(text), "queueendpoint", ".queue.core.windows.net"),
    ];
    for (parsed, endpoint, host) in services {
        let Ok(parsed) = parsed else { continue };
        let given = [endpoint, "endpointsuffix", "usedevelopmentstorage"];
        // Text that starts with `xn--` may not be a host name.
        if !given.iter().any(|name| lower.contains(name))
            && let Ok(url) = Url::parse(&parsed.endpoint)
        {
            assert!(url.host_str().is_some_and(|named| named.ends_with(host)));
            assert_eq!((url.path(), url.query(), url.username()), ("/", None, ""));
        }
        shows_no_secret(text, &parsed);
    }
}

/// The `Debug` output is the same as with another secret.
#[cfg(feature = "azure")]
fn shows_no_secret(text: &str, parsed: &crate::azure::ConnectionString) {
    use crate::azure::{Credential, SharedKey};

    let accounts = text.split(';').filter_map(|part| Some(part.split_once('=')?.1.trim()));
    let same_key = accounts
        .chain(["devstoreaccount1"])
        .filter_map(|account| SharedKey::new(account, "AAAA").ok())
        .map(Credential::from);
    let same_signature = Credential::sas("sig=A").expect("a signature");
    let shown = format!("{:?}", parsed.credential);
    let mut others = same_key.chain([same_signature]);
    assert!(others.any(|other| format!("{other:?}") == shown), "{shown}");
}

/// A filter is read back as the comparisons that it was made of, whatever their values. One with an
/// invalid name, or with a number that is not finite, is not sent.
pub fn filter(name: &str, text: &str, bytes: &[u8], bits: u64) {
    use crate::model::Edm;
    use crate::query::{Comparison, Filter};

    let text = Edm::from(text);
    let number = Edm::from(f64::from_bits(bits));
    for value in [text.clone(), number, Edm::from(bits.cast_signed()), Edm::from(bytes.to_vec())] {
        let first = Filter::compare("A", Comparison::Less, text.clone());
        let named = Filter::compare(name.to_owned(), Comparison::Equal, value.clone());
        let filter =
            (!first).or(named).and(Filter::compare("B", Comparison::NotEqual, text.clone()));
        #[cfg(feature = "azure")]
        let is_finite = !matches!(value, Edm::Double(number) if !number.is_finite());
        let (text, value) = (token(&text), token(&value));
        let expected = [
            "(", "not", "(", "A", "lt", &text, ")", "or", name, "eq", &value, ")", "and", "B",
            "ne", &text,
        ];
        if crate::codec::is_property_name(name) {
            assert_eq!(tokens(&filter.to_string()), expected);
        }
        #[cfg(feature = "azure")]
        assert_eq!(
            sent(filter).map(|filter| tokens(&filter)),
            (is_finite && crate::codec::is_property_name(name))
                .then(|| expected.map(str::to_owned).to_vec())
        );
    }
}

/// Returns a value as [`tokens`] does.
fn token(value: &crate::model::Edm) -> String {
    use crate::model::Edm;
    match value {
        Edm::String(text) => format!("'{text}"),
        Edm::Binary(bytes) => {
            bytes.iter().fold("X'".to_owned(), |text, byte| text + &format!("{byte:02x}"))
        }
        number => number.to_string(),
    }
}

/// Splits a filter into words. Quoted text is one word, without its last quote, with doubled quotes
/// single.
fn tokens(filter: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut characters = filter.chars().peekable();
    while let Some(&first) = characters.peek() {
        if matches!(first, ' ' | '(' | ')') {
            tokens.extend((first != ' ').then(|| first.to_string()));
            characters.next();
            continue;
        }
        let mut token = String::new();
        while let Some(c) = characters.next_if(|c| !matches!(c, ' ' | '(' | ')' | '\'')) {
            token.push(c);
        }
        if characters.next_if_eq(&'\'').is_some() {
            token.push('\'');
            while let Some(c) = characters.next() {
                if c == '\'' && characters.next_if_eq(&'\'').is_none() {
                    break;
                }
                token.push(c);
            }
        }
        tokens.push(token);
    }
    tokens
}

/// Returns the filter that a server reads from the request, if one is sent.
#[cfg(feature = "azure")]
fn sent(filter: crate::query::Filter) -> Option<String> {
    use crate::azure::protocol::{Dialect, TableService};
    use crate::query::{KeyRange, RowQuery};

    let table = crate::model::TableName::new("Fuzzed").expect("a table name");
    let query = RowQuery { filter: Some(filter), ..RowQuery::new(table, KeyRange::ALL) };
    let service = TableService::new("https://fuzzed", Dialect::Storage);
    let target = service.query(&query).ok()?.target;
    let url = azure_core::http::Url::parse(&format!("https://fuzzed{target}")).expect("a URL");
    let parameters: Vec<_> = url.query_pairs().into_owned().collect();
    let [(name, filter)] = &parameters[..] else { return None };
    (name == "$filter").then(|| filter.clone())
}

/// A page is read into its rows or an error. Each row reads as it would by itself.
pub fn page(json: &[u8]) {
    let rows = split_page(json);
    if let Ok(read) = read_page::<DynamicEntity>(&OwnRows::ANY, json) {
        serde_json::from_slice::<serde::de::IgnoredAny>(json).expect("what is read is JSON");
        let rows = rows.expect("what is read whole can be split").into_iter();
        let alone: Result<Vec<_>, _> =
            rows.map(|row| read_row::<DynamicEntity>(0, row.get().as_bytes())).collect();
        match alone {
            Ok(alone) => assert_eq!(format!("{:?}", read.rows), format!("{alone:?}")),
            Err(_) => assert!(read.left_out.iter().any(|(_, error)| error.is_some())),
        }
    }
    let _ = read_row::<DynamicEntity>(0, json);
    let _ = read_etag(json);
}

/// A stored key is read into the values that write it again, or an error.
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

/// No two texts are read as the same value: a text that can be read is the text that the value
/// writes.
fn writes_what_it_reads<X, T: KeyPart<X>>(text: &str) {
    let mut reader = KeyReader::new("Fuzzed", Escape::Reject, text);
    let (Ok(value), Ok(())) = (reader.part::<X, T>("component", ""), reader.finish()) else {
        return;
    };
    let mut key = KeyText::new("Fuzzed", Escape::Reject);
    // Text that the service forbids can be read, but not written.
    if key.part::<X, T>("component", &value, "").is_ok()
        && let Ok(written) = key.finish()
    {
        assert_eq!(written, text);
    }
}

#[cfg(test)]
mod tests {
    use crate::dose::dose;
    use proptest::prelude::*;

    fn config() -> ProptestConfig {
        ProptestConfig::with_cases(dose(64, 256))
    }

    #[test]
    fn texts_that_fuzzing_found_are_refused() {
        // These were once read as the ninth of September.
        for text in ["1999-9-9-9", "1999-09-9-", "999-009-09"] {
            super::key(text);
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_not_sent() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            super::filter("A", "", &[], number.to_bits());
        }
    }

    proptest! {
        #![proptest_config(config())]

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

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn no_value_changes_a_filter(
            name in "[A-Za-z_][A-Za-z0-9_]{0,9}",
            any_name in any::<String>(),
            text in any::<String>(),
            syntax in "('|''|%27| or |\\(|\\)|A eq |\u{2019}|&|\\$filter=|[ -~]){0,12}",
            bytes in any::<Vec<u8>>(),
            bits in any::<u64>(),
        ) {
            super::filter(&name, &text, &bytes, bits);
            super::filter(&any_name, &syntax, &bytes, bits);
            super::filter(&syntax, &text, &bytes, bits);
        }
    }

    #[cfg(feature = "azure")]
    proptest! {
        #![proptest_config(config())]

        #[test]
        fn no_connection_string_changes_the_host(
            any in any::<String>(),
            settings in "((accountname|AccountKey|SharedAccessSignature|EndpointSuffix|TableEndpoint|DefaultEndpointsProtocol|UseDevelopmentStorage|[A-Za-z]{1,4})=(true|https?|sv=1&sig=[!-:]{1,6}|[A-Za-z0-9+/]{4}|[-a-z0-9]{1,8}|[ -~]{0,8});){1,4}",
            account in "[-a-zA-Z0-9./@:?#]{1,12}",
            key in "([A-Za-z0-9+/]{4}){1,8}",
        ) {
            super::connection_string(&any);
            super::connection_string(&settings);
            super::connection_string(&format!("AccountName={account};AccountKey={key}"));
            super::connection_string(&format!("AccountName={account};SharedAccessSignature=sig={key}"));
        }

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
