//! Promises for any input: the bodies of the fuzz targets, and of short runs in the tests. Compiled
//! for these two only.

#![allow(clippy::expect_used, reason = "a panic is what the fuzzer looks for")]

use crate::accounts::Accounts;
use crate::address::Address;
use crate::batch::{self, BatchContent};
use crate::message::{Client, Request};
use crate::operation::Operation;
use crate::uri::Parameters;
use crate::{EMULATOR_ACCOUNT, EMULATOR_KEY, access, filter};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use std::net::{IpAddr, Ipv4Addr};
use table_orm::azure::SharedKey;
use table_orm::model::DateTime;
use table_orm::query::Filter;

/// The text of a filter is read or refused; what is read displays as a text that is read as the same.
pub fn filter_text(text: &str) {
    let Ok(read) = filter::parse(text) else { return };
    let displayed = read.to_string();
    // NaN differs from itself.
    if !displayed.contains("NaN") {
        let again = filter::parse(&displayed).map(grouped);
        assert_eq!(again, Ok(grouped(read)), "{displayed}");
    }
}

/// The same filter with chains of one operator grouped from the left: `a or (b or c)` displays without its
/// parentheses, which change nothing.
fn grouped(filter: Filter) -> Filter {
    match filter {
        Filter::And(left, right) => match grouped(*right) {
            Filter::And(first, last) => grouped((*left).and(*first)).and(*last),
            right => grouped(*left).and(right),
        },
        Filter::Or(left, right) => match grouped(*right) {
            Filter::Or(first, last) => grouped((*left).or(*first)).or(*last),
            right => grouped(*left).or(right),
        },
        Filter::Not(inner) => Filter::Not(Box::new(grouped(*inner))),
        filter => filter,
    }
}

/// The body of a transaction is read or refused, and holds no more bytes than were sent.
pub fn batch_body(content_type: &str, body: &[u8]) {
    let body = Bytes::copy_from_slice(body);
    if let Ok(content) = batch::read(content_type, &body) {
        let parts = match content {
            BatchContent::Single(part) => vec![*part],
            BatchContent::ChangeSet { parts, .. } => parts,
        };
        let bytes: usize = parts.iter().map(|part| part.body.len() + part.head.target.len()).sum();
        assert!(bytes <= body.len());
    }
}

/// A request is read or refused, and its credential is refused: nobody guesses a signature.
pub fn request(method: u8, target: &str, authorization: &str, body: &[u8]) {
    let methods = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let mut headers = HeaderMap::new();
    for (name, value) in [("accept", "application/json"), ("authorization", authorization)] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    let client = Client { address: IpAddr::V4(Ipv4Addr::LOCALHOST), https: true };
    let request = Request {
        method: methods[usize::from(method) % methods.len()].clone(),
        target: target.to_owned(),
        headers,
        body: Bytes::copy_from_slice(body),
        client,
    };
    let key = SharedKey::new(EMULATOR_ACCOUNT, EMULATOR_KEY).expect("a key");
    let (Ok(address), Ok(parameters)) =
        (Address::read(true, "localhost", request.path()), Parameters::read(request.query()))
    else {
        return;
    };
    let access = access::verify(
        &Accounts::one(key),
        false,
        &request,
        &address,
        &parameters,
        DateTime::now(),
    );
    assert!(access.is_err());
    let _ = Operation::read(&request, &address.resource, &parameters);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parentheses_that_change_nothing_are_not_displayed() {
        filter_text("a or (b or c or (d and (e and f)))");
        filter_text("a and (b or c) and not (d or (e or f))");
    }

    proptest! {
        #[test]
        fn any_filter(text in "[a-cA ()'0-9.eL]{0,40}") {
            filter_text(&text);
        }

        #[test]
        fn any_batch(kind in "multipart/mixed; ?boundary=[ab]?", body in "(--a(--)?\\r?\\n|[a-zA-Z:/ ]{0,9}|\\r?\\n|POST /x HTTP/1.1){0,20}") {
            batch_body(&kind, body.as_bytes());
        }

        #[test]
        fn any_request(
            method: u8,
            target in "/(devstoreaccount1|[a-z]{3})?/[A-Za-z$]{0,6}(\\([A-Za-z='%,0-9]{0,30}\\))?(\\?[a-z$=%&A-F0-9']{0,30})?",
            authorization in "(SharedKey|SharedKeyLite|Bearer)? ?[a-z1:=.]{0,40}",
            body: Vec<u8>,
        ) {
            request(method, &target, &authorization, &body);
        }
    }
}
