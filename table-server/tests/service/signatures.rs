//! Random shared access signatures: each grants what the service documents for its parameters, and no
//! other text grants anything.

use crate::client::{Client, code, key, request, text};
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use std::collections::BTreeMap;
use table_orm::azure::protocol::{percent_encode, signature};
use table_server::{EMULATOR_ACCOUNT, Response};

type Parameters = BTreeMap<&'static str, String>;

/// Returns the query of a signature by the account's key.
fn query(parameters: &Parameters) -> String {
    let value = |name: &str| parameters.get(name).map_or("", String::as_str);
    let text = match parameters.get("tn") {
        Some(table) => signature::table_sas(EMULATOR_ACCOUNT, table, value),
        None => signature::account_sas(EMULATOR_ACCOUNT, value),
    };
    let mut signed = parameters.clone();
    signed.insert("sig", key().sign(&text).unwrap());
    encoded(&signed)
}

fn encoded(parameters: &Parameters) -> String {
    let pairs = parameters.iter().map(|(name, value)| format!("{name}={}", percent_encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn parameters(pairs: &[(&'static str, &str)]) -> Parameters {
    let always = [("sv", "2019-02-02"), ("se", "2999-01-01T00:00:00Z")];
    always.iter().chain(pairs).map(|(name, value)| (*name, (*value).to_owned())).collect()
}

async fn send(client: &Client, query: &str, operation: &Operation) -> Response {
    let Operation { method, path, headers, body, .. } = operation;
    let separator = if path.contains('?') { '&' } else { '?' };
    client.answer(request(method, &format!("{path}{separator}{query}"), headers, body)).await
}

/// A request, and what it needs: the scope and one of some sets of permissions of an account's signature, and
/// the permissions of a table's, unless that allows it never.
struct Operation {
    method: &'static str,
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
    scope: char,
    account: &'static [&'static str],
    table: Option<&'static str>,
}

const ROW: &str = "/People(PartitionKey='p',RowKey='r')";
const ANY: &[(&str, &str)] = &[("if-match", "*")];
const PROPERTIES: &str = "/?restype=service&comp=properties";

const fn operation(
    method: &'static str,
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
    (scope, account): (char, &'static [&'static str]),
    table: Option<&'static str>,
) -> Operation {
    Operation { method, path, headers, body, scope, account, table }
}

/// The operations of the service documentation, "Create an account SAS" and "Create a service SAS".
const OPERATIONS: [Operation; 15] = [
    operation("GET", "/Tables", &[], "", ('c', &["l"]), None),
    operation("POST", "/Tables", &[], r#"{"TableName":"Other"}"#, ('c', &["c", "w"]), None),
    operation("DELETE", "/Tables('Other')", &[], "", ('c', &["d"]), None),
    operation("GET", "/People()", &[], "", ('o', &["r"]), Some("r")),
    operation("GET", ROW, &[], "", ('o', &["r"]), Some("r")),
    operation(
        "POST",
        "/People",
        &[],
        r#"{"PartitionKey":"p","RowKey":"r"}"#,
        ('o', &["a"]),
        Some("a"),
    ),
    operation("PUT", ROW, &[], "{}", ('o', &["au"]), Some("au")),
    operation("PATCH", ROW, &[], "{}", ('o', &["au"]), Some("au")),
    operation("PUT", ROW, ANY, "{}", ('o', &["u"]), Some("u")),
    operation("MERGE", ROW, ANY, "{}", ('o', &["u"]), Some("u")),
    operation("DELETE", ROW, ANY, "", ('o', &["d"]), Some("d")),
    operation("GET", PROPERTIES, &[], "", ('s', &["r"]), None),
    operation("PUT", PROPERTIES, &[], "<StorageServiceProperties/>", ('s', &["w"]), None),
    // The account's key alone may do this.
    operation("GET", "/People?comp=acl", &[], "", ('c', &[]), None),
    operation("PUT", "/People?comp=acl", &[], "", ('c', &[]), None),
];

/// Whether a request was refused for its credential.
fn is_refused(response: &Response) -> bool {
    response.status == 403
}

fn letters(all: &'static str) -> impl Strategy<Value = String> {
    let letters: Vec<_> = all.chars().collect();
    subsequence(letters.clone(), 0..=letters.len()).prop_map(String::from_iter)
}

fn has_all(granted: &str, needed: &str) -> bool {
    needed.chars().all(|letter| granted.contains(letter))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_signature_of_an_account_grants_what_is_documented(sp in letters("rwdlacu"), srt in letters("sco"), ss in letters("bqtf")) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let client = Client::with_people().await;
            let query = query(&parameters(&[("sp", &sp), ("srt", &srt), ("ss", &ss)]));
            for operation in &OPERATIONS {
                let granted = ss.contains('t')
                    && srt.contains(operation.scope)
                    && operation.account.iter().any(|needed| has_all(&sp, needed));
                let answer = send(&client, &query, operation).await;
                prop_assert_eq!(is_refused(&answer), !granted, "{} {}", operation.method, operation.path);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_signature_of_a_table_grants_what_is_documented(sp in letters("raud"), table in "[Pp]eople|Other") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let client = Client::with_people().await;
            let query = query(&parameters(&[("sp", &sp), ("tn", &table)]));
            for operation in &OPERATIONS {
                let granted = table != "Other" && operation.table.is_some_and(|needed| has_all(&sp, needed));
                let answer = send(&client, &query, operation).await;
                prop_assert_eq!(is_refused(&answer), !granted, "{} {}", operation.method, operation.path);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_changed_parameter_is_not_signed(at: Index, what in 0..3_u8, of_table: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let client = Client::with_people().await;
            let rest: &[_] = if of_table {
                &[("tn", "People"), ("spk", "p"), ("epk", "q"), ("srk", "a"), ("erk", "z")]
            } else {
                &[("ss", "t"), ("srt", "sco")]
            };
            let mut all = parameters(&[("sp", "r"), ("spr", "https,http"), ("sip", "127.0.0.1")]);
            all.extend(rest.iter().map(|(name, value)| (*name, (*value).to_owned())));
            let good = query(&all);
            let client = &client;
            let read = |query: String| async move { send(client, &query, &OPERATIONS[3]).await };
            prop_assert_eq!(read(good.clone()).await.status, 200);
            let pairs: Vec<_> = good.split('&').collect();
            let at = at.index(pairs.len());
            let changed = match (what, pairs[at].split_once('=').unwrap()) {
                (0, _) => String::new(),
                (1, (name, value)) => format!("{name}={value}1"),
                (_, (name, _)) => format!("{name}="),
            };
            let mut other = pairs.clone();
            other[at] = &changed;
            let answer = read(other.join("&")).await;
            prop_assert!(is_refused(&answer), "{} -> {}: {}", pairs[at], changed, answer.status);
            Ok(())
        })?;
    }

    #[test]
    fn a_range_of_keys_is_one_of_rows_in_order(ends in prop::array::uniform4(prop::option::of("[a-d]"))) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let client = Client::with_people().await;
            let names = ["spk", "srk", "epk", "erk"];
            let mut all = parameters(&[("sp", "ra"), ("tn", "People")]);
            let given = names.into_iter().zip(&ends);
            all.extend(given.filter_map(|(name, end)| Some((name, end.clone()?))));
            let query = query(&all);
            let [spk, srk, epk, erk] = ends.each_ref().map(|end| end.as_deref());
            let is_range = (srk.is_none() || spk.is_some()) && (erk.is_none() || epk.is_some());
            let mut inside = 0;
            for partition in ["a", "b", "c", "d", "e"] {
                for row in ["a", "b", "c", "d", "e"] {
                    let after = spk.is_none_or(|spk| (partition, row) >= (spk, srk.unwrap_or("")));
                    let before = epk.is_none_or(|epk| (partition, row) <= (epk, erk.unwrap_or("z")));
                    let body = format!(r#"{{"PartitionKey":"{partition}","RowKey":"{row}"}}"#);
                    let path = format!("/People?{query}");
                    let answer = client.answer(request("POST", &path, &[], &body)).await;
                    let expected = if is_range && after && before { 201 } else { 403 };
                    prop_assert_eq!(answer.status, expected, "{} {}", partition, row);
                    inside += usize::from(expected == 201);
                    client.send("PUT", &format!("/People(PartitionKey='{partition}',RowKey='{row}')"), &[], "{}").await;
                }
            }
            let read = client.answer(request("GET", &format!("/People()?{query}"), &[], "")).await;
            prop_assert_eq!(read.status, if is_range { 200 } else { 403 });
            prop_assert_eq!(text(&read).matches("\"RowKey\"").count(), inside);
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn a_signature_states_only_what_the_service_knows() {
    let client = Client::with_people().await;
    for (name, value, expected) in [
        ("spr", "https,http", ""),
        ("spr", "http", "AuthenticationFailed"),
        ("spr", "ftp", "AuthenticationFailed"),
        ("spr", "https", "AuthorizationProtocolMismatch"),
        ("sv", "2018-03-28", ""),
        ("sv", "2014-02-14", "AuthenticationFailed"),
        ("sv", "2019-02-31", "AuthenticationFailed"),
        ("sv", "latest", "AuthenticationFailed"),
        ("se", "2999-01-01", ""),
        ("se", "never", "AuthenticationFailed"),
        ("se", "", "AuthenticationFailed"),
        ("st", "2998-01-01", "AuthenticationFailed"),
        ("st", "2001-01-01T00:00Z", ""),
        ("sip", "127.0.0.0-127.0.0.2", ""),
        ("sip", "127.0.0.2-127.0.0.0", "AuthorizationSourceIPMismatch"),
        ("sip", "localhost", "AuthorizationSourceIPMismatch"),
        ("sp", "", "AuthenticationFailed"),
        ("sp", "wxyz", "AuthorizationPermissionMismatch"),
    ] {
        let mut all = parameters(&[("sp", "r"), ("tn", "People")]);
        all.insert(name, value.to_owned());
        let answer = send(&client, &query(&all), &OPERATIONS[3]).await;
        assert_eq!(code(&answer), expected, "{name}={value}");
    }
}
