//! The texts that the signatures of requests cover (service documentation, "Authorize with Shared Key"): that for tables
//! is written by `protocol::signature`, for client and server, and those for queues and blobs here.

use crate::azure::endpoint::AccountService;
use crate::azure::protocol::signature;
use azure_core::http::Request;
use azure_core::http::headers::{CONTENT_TYPE, HeaderName};
use std::collections::BTreeMap;

/// Builds the text to sign of a request with that date, which is among its headers, too. Except for blobs, the body and
/// most of the query are not part of it.
pub(super) fn string_to_sign(
    service: AccountService,
    account: &str,
    date: &str,
    request: &Request,
) -> String {
    let url = request.url();
    let comp = url.query_pairs().find(|(name, _)| name == "comp").map(|(_, value)| value);
    let comp = comp.as_deref();
    match service {
        AccountService::Tables => signature::shared_key_lite(date, account, url.path(), comp),
        AccountService::Blobs => of_blobs(account, request),
        AccountService::Queues => {
            let (method, headers) = (request.method(), canonical_headers(request));
            let content_type =
                request.headers().get_optional_str(&CONTENT_TYPE).unwrap_or_default();
            // The MD5 is empty, and the date is among the headers.
            let mut text = format!("{method}\n\n{content_type}\n\n{headers}");
            signature::push_resource(&mut text, account, url.path(), comp);
            text
        }
    }
}

/// Returns the headers `x-ms-*`, sorted, each with a line end.
fn canonical_headers(request: &Request) -> String {
    let headers: BTreeMap<_, _> = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| name.starts_with("x-ms-"))
        .collect();
    headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect()
}

/// Builds the text of `SharedKey`. Azurite accepts no `SharedKeyLite` for blobs.
fn of_blobs(account: &str, request: &Request) -> String {
    let value = |name: &'static str| {
        request.headers().get_optional_str(&HeaderName::from_static(name)).unwrap_or_default()
    };
    // No body has an empty length.
    let length = request.body().len().filter(|length| *length > 0);
    let length = length.map(|length| length.to_string()).unwrap_or_default();
    // The date is among the headers of the service.
    let date = "";
    let lines = [
        request.method().as_str(),
        value("content-encoding"),
        value("content-language"),
        &length,
        value("content-md5"),
        value("content-type"),
        date,
        value("if-modified-since"),
        value("if-match"),
        value("if-none-match"),
        value("if-unmodified-since"),
        value("range"),
    ];
    format!("{}\n{}{}", lines.join("\n"), canonical_headers(request), resource(account, request))
}

/// The path as it is sent, and each parameter of the query, sorted by name, with its decoded values.
fn resource(account: &str, request: &Request) -> String {
    let url = request.url();
    let mut parameters = BTreeMap::<String, Vec<String>>::new();
    for (name, value) in url.query_pairs() {
        parameters.entry(name.to_ascii_lowercase()).or_default().push(value.into_owned());
    }
    let mut text = format!("/{account}{}", url.path());
    for (name, mut values) in parameters {
        values.sort();
        text.extend(["\n", &name, ":", &values.join(",")]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use azure_core::http::{Method, Url};

    fn signed(service: AccountService, request: &Request) -> String {
        string_to_sign(service, "acc", "D", request)
    }

    fn request(method: Method, url: &str, headers: &[(&'static str, &'static str)]) -> Request {
        let mut request = Request::new(Url::parse(url).unwrap(), method);
        for (name, value) in headers {
            request.insert_header(*name, *value);
        }
        request
    }

    #[test]
    fn the_path_is_signed_as_it_is_sent() {
        let signed = |url: &str| {
            signed(AccountService::Tables, &request(Method::Get, url, &[("x-ms-date", "D")]))
        };
        assert_eq!(
            signed("https://h/People(PartitionKey='a%20b',RowKey='%27%27')?$top=1"),
            "D\n/acc/People(PartitionKey='a%20b',RowKey='%27%27')"
        );
        assert_eq!(signed("http://h:1/acc/?comp=properties&x=1"), "D\n/acc/acc/?comp=properties");
    }

    /// The example of the service documentation, "Authorize with Shared Key", and one of a queue.
    #[test]
    fn the_service_headers_of_a_request_to_a_queue_are_signed() {
        let documented = request(
            Method::Put,
            "http://testaccount1.blob.core.windows.net/mycontainer/hello.txt",
            &[
                ("content-type", "text/plain; charset=UTF-8"),
                ("x-ms-meta-m2", "v2"),
                ("x-ms-date", "Sun, 20 Sep 2009 20:36:40 GMT"),
                ("x-ms-meta-m1", "v1"),
                ("content-length", "11"),
            ],
        );
        assert_eq!(
            string_to_sign(AccountService::Queues, "testaccount1", "", &documented),
            "PUT\n\ntext/plain; charset=UTF-8\n\nx-ms-date:Sun, 20 Sep 2009 20:36:40 GMT\n\
             x-ms-meta-m1:v1\nx-ms-meta-m2:v2\n/testaccount1/mycontainer/hello.txt"
        );
        let url = "http://h:1/acc/jobs/messages?popreceipt=a%2Bb&visibilitytimeout=0";
        let renewal = request(Method::Put, url, &[("x-ms-version", "V"), ("accept", "A")]);
        assert_eq!(
            signed(AccountService::Queues, &renewal),
            "PUT\n\n\n\nx-ms-version:V\n/acc/acc/jobs/messages"
        );
    }

    #[test]
    fn the_body_the_conditions_and_the_query_are_signed() {
        let url = "http://h:1/acc/films/a.1?comp=block&BlockId=MDA%3D&b=2&b=1";
        let mut request = Request::new(Url::parse(url).unwrap(), Method::Put);
        for (name, value) in [
            ("x-ms-version", "V"),
            ("x-ms-date", "D"),
            ("if-match", "\"1\""),
            ("range", "bytes=0-9"),
            ("content-type", "T"),
        ] {
            request.insert_header(name, value);
        }
        let headers = "x-ms-date:D\nx-ms-version:V\n";
        let resource = "/acc/acc/films/a.1\nb:1,2\nblockid:MDA=\ncomp:block";
        let empty = format!("PUT\n\n\n\n\nT\n\n\n\"1\"\n\n\nbytes=0-9\n{headers}{resource}");
        assert_eq!(signed(AccountService::Blobs, &request), empty);
        request.set_body("12345678901");
        let with_body = empty.replacen("PUT\n\n\n\n", "PUT\n\n\n11\n", 1);
        assert_eq!(signed(AccountService::Blobs, &request), with_body);
    }
}
