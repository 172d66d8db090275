//! The responses in the answer to a `$batch`.

use crate::message::Response;
use uuid::Uuid;

/// About how long the response to an insert is.
const PART_BYTES: usize = 640;

/// Writes the answer with the responses of a change set: one for each operation, or the one of the
/// operation that failed. Each of `others` is the response to another change set.
pub(crate) fn change_set(
    responses: &[(Option<String>, Response)],
    others: &[Response],
) -> Response {
    let (batch, changes) = (Uuid::new_v4(), Uuid::new_v4());
    let start = format!(
        "--batchresponse_{batch}\r\n\
         Content-Type: multipart/mixed; boundary=changesetresponse_{changes}\r\n\r\n"
    );
    let boundary = format!("--changesetresponse_{changes}\r\n");
    let mut body = Vec::with_capacity((responses.len() + others.len() + 1) * PART_BYTES);
    body.extend_from_slice(start.as_bytes());
    for (content_id, response) in responses {
        body.extend_from_slice(boundary.as_bytes());
        push(&mut body, content_id.as_deref(), response);
    }
    body.extend_from_slice(format!("--changesetresponse_{changes}--\r\n").as_bytes());
    for response in others {
        body.extend_from_slice(format!("--batchresponse_{batch}\r\n").as_bytes());
        push(&mut body, None, response);
    }
    body.extend_from_slice(format!("--batchresponse_{batch}--\r\n").as_bytes());
    answer(batch, body)
}

/// Writes the answer to a batch of one query.
pub(crate) fn single(response: &Response) -> Response {
    let batch = Uuid::new_v4();
    let mut body = format!("--batchresponse_{batch}\r\n").into_bytes();
    push(&mut body, None, response);
    body.extend_from_slice(format!("--batchresponse_{batch}--\r\n").as_bytes());
    answer(batch, body)
}

fn answer(batch: Uuid, body: Vec<u8>) -> Response {
    let media_type = format!("multipart/mixed; boundary=batchresponse_{batch}");
    Response::with_body(202, &media_type, body)
}

fn push(body: &mut Vec<u8>, content_id: Option<&str>, response: &Response) {
    let status = http::StatusCode::from_u16(response.status).unwrap_or_default();
    let mut line = |texts: &[&str]| {
        texts.iter().for_each(|text| body.extend_from_slice(text.as_bytes()));
        body.extend_from_slice(b"\r\n");
    };
    line(&["Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"]);
    line(&["HTTP/1.1 ", status.as_str(), " ", status.canonical_reason().unwrap_or("")]);
    if let Some(id) = content_id {
        line(&["Content-ID: ", id]);
    }
    line(&[
        "X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\nDataServiceVersion: 3.0;",
    ]);
    for (name, value) in &response.headers {
        line(&[canonical(name), ": ", value]);
    }
    line(&[]);
    body.extend_from_slice(&response.body);
    body.extend_from_slice(b"\r\n");
}

/// Returns a header's name as the service spells it: some clients compare the case in a batch.
fn canonical(name: &str) -> &str {
    match name {
        "etag" => "ETag",
        "location" => "Location",
        "dataserviceid" => "DataServiceId",
        "content-type" => "Content-Type",
        "preference-applied" => "Preference-Applied",
        other => other,
    }
}
