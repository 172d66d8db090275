//! Behaviour of the queue service that Azurite lacks, from a scripted server; and secrets that the
//! client does not show.

use crate::Run;
use crate::service::{KEY, Talkative, Tokens, cases, everything};
use crate::stub::{Answer, Stub};
use azure_core::http::Transport;
use std::sync::Arc;
use std::time::Duration;
use table_orm::azure::AzureQueues;
use table_orm::azure::{ConnectError, ConnectOptions, Credential, SharedKey};
use table_orm::queue::{Message, QueueErrorKind, Queues, Receipt};

cases! {
    a_message_that_is_gone_is_lost,
    a_service_that_is_not_there_now_is_unavailable_and_asked_once,
    a_rejection_is_reported_without_what_was_signed,
    a_queue_being_deleted_is_unavailable,
    a_queue_with_metadata_is_there,
    an_answer_that_cannot_be_read_is_an_error,
    an_endless_answer_is_not_read_to_its_end,
    text_of_other_clients_is_read_unchanged,
    messages_do_not_expire,
    each_request_is_signed_and_dated_and_has_a_length,
    requests_share_connections,
    what_no_queue_takes_is_not_sent,
    a_signature_shows_up_nowhere,
    tokens_are_not_sent_over_http,
}

const LONG: Duration = Duration::from_secs(60);

async fn answered(answers: impl IntoIterator<Item = Answer>) -> (AzureQueues, Stub) {
    let stub = Stub::start(answers).await;
    (AzureQueues::new(&stub.endpoint(), SharedKey::new("acc", KEY).unwrap()).unwrap(), stub)
}

/// An error in the service's form.
fn error(status: u16, code: &'static str) -> Answer {
    let body = format!(
        "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>{code}</Code><Message>It \
         said so.\nRequestId:1f\nTime:2026-11-21T12:00:00.0000000Z</Message>\
         <AuthenticationErrorDetail>SiGnEd</AuthenticationErrorDetail></Error>"
    );
    Answer::new(status, body).with("x-ms-error-code", code)
}

fn messages(messages: &str) -> Answer {
    let declaration = "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?>";
    Answer::new(200, format!("{declaration}<QueueMessagesList>{messages}</QueueMessagesList>"))
}

fn message() -> Message {
    Message::new("text", 1, Receipt::new("5974b586-0df3-4e2d-ad0c-18e3892bfca2", "a+/="))
}

async fn a_message_that_is_gone_is_lost() {
    for (status, code) in
        [(404, "MessageNotFound"), (400, "PopReceiptMismatch"), (400, "InvalidQueryParameterValue")]
    {
        let (queues, _stub) = answered([error(status, code), error(status, code)]).await;
        let message = message();
        let lost = queues.remove("jobs", &message.receipt).await.unwrap_err();
        assert_eq!(lost.kind, QueueErrorKind::MessageLost);
        let lost = queues.renew("jobs", &message.receipt, LONG).await.unwrap_err();
        assert_eq!(lost.kind, QueueErrorKind::MessageLost);
        assert_eq!(lost.message, format!("{code} (HTTP {status}): It said so."));
    }
}

async fn a_service_that_is_not_there_now_is_unavailable_and_asked_once() {
    let answers =
        [error(503, "ServerBusy"), error(500, "OperationTimedOut"), Answer::new(502, "<html>")];
    let asked = answers.len() + 1;
    let (queues, stub) = answered(answers.into_iter().chain([Answer::Close])).await;
    for _ in 0..asked {
        let error = queues.receive("jobs", 1, LONG).await.unwrap_err();
        assert_eq!(error.kind, QueueErrorKind::Unavailable, "{error}");
    }
    assert_eq!(stub.requests().len(), asked);
    let nowhere = AzureQueues::new("http://127.0.0.1:1", SharedKey::new("acc", KEY).unwrap());
    let error = nowhere.unwrap().peek("jobs").await.unwrap_err();
    assert_eq!(error.kind, QueueErrorKind::Unavailable, "{error}");
}

async fn a_rejection_is_reported_without_what_was_signed() {
    let (queues, _stub) = answered([error(403, "AuthenticationFailed")]).await;
    let error = queues.peek("jobs").await.unwrap_err();
    assert_eq!(error.kind, QueueErrorKind::Forbidden);
    assert_eq!(error.to_string(), "queue `jobs`: AuthenticationFailed (HTTP 403): It said so.");
    assert!(!everything(&error).contains("SiGnEd"), "{}", everything(&error));
}

async fn a_queue_being_deleted_is_unavailable() {
    let (queues, _stub) = answered([error(409, "QueueBeingDeleted")]).await;
    let error = queues.create("jobs").await.unwrap_err();
    assert_eq!(error.kind, QueueErrorKind::Unavailable);
}

async fn a_queue_with_metadata_is_there() {
    let (queues, _stub) = answered([error(409, "QueueAlreadyExists")]).await;
    queues.create("jobs").await.unwrap();
}

async fn an_answer_that_cannot_be_read_is_an_error() {
    let answers = [
        Answer::new(200, "<html><p>Log in"),
        messages("<QueueMessage><MessageId>1</MessageId></QueueMessage>"),
        Answer::new(302, "").with("Location", "http://127.0.0.1:1/"),
        Answer::new(204, ""),
    ];
    let (queues, _stub) = answered(answers).await;
    for _ in 0..3 {
        let error = queues.receive("jobs", 1, LONG).await.unwrap_err();
        assert_eq!(error.kind, QueueErrorKind::Other, "{error}");
    }
    // No new receipt.
    let error = queues.renew("jobs", &message().receipt, LONG).await.unwrap_err();
    assert_eq!(error.kind, QueueErrorKind::Other, "{error}");
}

async fn an_endless_answer_is_not_read_to_its_end() {
    const MIB: usize = 1024 * 1024;
    for status in [200, 500] {
        let stub = Stub::always(Answer::Endless { status }).await;
        let key = SharedKey::new("acc", KEY).unwrap();
        let queues = AzureQueues::new(&stub.endpoint(), key).unwrap();
        let error = queues.receive("jobs", 32, LONG).await.unwrap_err();
        assert_eq!(error.kind, QueueErrorKind::Other, "{error}");
        assert!(stub.bytes() < 32 * MIB, "{}", stub.bytes());
    }
}

async fn text_of_other_clients_is_read_unchanged() {
    let text = |text: &str| {
        format!(
            "<QueueMessage><MessageId>1</MessageId><PopReceipt>p</PopReceipt><DequeueCount>3\
             </DequeueCount><MessageText>{text}</MessageText></QueueMessage>"
        )
    };
    let list = [text("{&quot;job&quot;: 1} &amp; \u{1F3C3}"), text("dGV4dA=="), text("")];
    let (queues, _stub) = answered([messages(&list.concat())]).await;
    let received = queues.receive("jobs", 3, LONG).await.unwrap();
    let texts: Vec<_> = received.iter().map(|message| &*message.text).collect();
    assert_eq!(texts, ["{\"job\": 1} & \u{1F3C3}", "text", ""]);
    assert!(received.iter().all(|message| message.dequeue_count == 3));
}

async fn messages_do_not_expire() {
    let sent = Answer::new(201, "<QueueMessagesList/>");
    let (queues, stub) = answered([sent]).await;
    queues.send("jobs", "text", Duration::from_millis(1500)).await.unwrap();
    let requests = stub.requests();
    let target = "POST /jobs/messages?messagettl=-1&visibilitytimeout=2 HTTP/1.1\r\n";
    assert!(requests[0].starts_with(target), "{requests:?}");
    assert!(requests[0].ends_with("<MessageText>dGV4dA==</MessageText></QueueMessage>"));
}

/// The service answers 411 to a request without a length.
async fn each_request_is_signed_and_dated_and_has_a_length() {
    let renewed = Answer::new(204, "").with("x-ms-popreceipt", "new");
    let (queues, stub) = answered([Answer::new(201, ""), renewed]).await;
    queues.create("jobs").await.unwrap();
    let receipt = queues.renew("jobs", &message().receipt, Duration::ZERO).await.unwrap();
    assert_eq!(receipt, Receipt::new(message().receipt.id, "new"));
    let requests = stub.requests();
    assert!(requests[0].starts_with("PUT /jobs HTTP/1.1\r\n"));
    assert!(requests[1].starts_with(
        "PUT /jobs/messages/5974b586-0df3-4e2d-ad0c-18e3892bfca2?popreceipt=a%2B%2F%3D\
         &visibilitytimeout=0 HTTP/1.1\r\n"
    ));
    for request in requests {
        let request = request.to_ascii_lowercase();
        for header in ["authorization: sharedkeylite acc:", "x-ms-date: ", "content-length: 0"] {
            assert!(request.contains(&format!("\r\n{header}")), "{header} of {request}");
        }
    }
}

async fn requests_share_connections() {
    let (queues, stub) = answered((0..20).map(|_| messages(""))).await;
    for queue in ["jobs", "jobs-poison"].into_iter().cycle().take(20) {
        assert!(!queues.clone().peek(queue).await.unwrap());
    }
    assert_eq!(stub.requests().len(), 20);
    // A second one may be opened while the first is on its way back to the pool.
    assert!(stub.connections() <= 2, "{}", stub.connections());
}

async fn what_no_queue_takes_is_not_sent() {
    let (queues, stub) = answered([]).await;
    let mut message = message();
    let second = Duration::from_secs(1);
    queues.create("Jobs").await.unwrap_err();
    queues.receive("jobs", 33, second).await.unwrap_err();
    queues.send("jobs", &"x".repeat(64 * 1024), second).await.unwrap_err();
    message.receipt.id = "../../others".into();
    let error = queues.remove("jobs", &message.receipt).await.unwrap_err();
    assert_eq!(error.kind, QueueErrorKind::MessageLost);
    queues.renew("jobs", &message.receipt, second).await.unwrap_err();
    assert_eq!(stub.requests().len(), 0);
}

async fn a_signature_shows_up_nowhere() {
    let sas = Credential::sas("?sv=2020-12-06&sig=SeCrEt%3D").unwrap();
    let stub = Stub::start([messages(""), error(403, "AuthenticationFailed"), Answer::Close]).await;
    let queues = AzureQueues::new(&stub.endpoint(), sas.clone()).unwrap();
    queues.peek("jobs").await.unwrap();
    let request = stub.requests().remove(0);
    let signed = request.starts_with("GET /jobs/messages?")
        && request.contains("&sv=2020-12-06&sig=SeCrEt%3D ");
    assert!(signed, "{request}");
    let mut text = format!("{queues:?}");
    for _ in 0..2 {
        text.push_str(&everything(&queues.peek("jobs").await.unwrap_err()));
    }

    let mut options = ConnectOptions::default();
    options.client.transport = Some(Transport::new(Arc::new(Talkative)));
    let endpoint = "https://acc.queue.core.windows.net";
    let queues = AzureQueues::with_options(endpoint, sas, options).unwrap();
    text.push_str(&everything(&queues.peek("jobs").await.unwrap_err()));
    assert!(!text.contains("SeCrEt"), "{text}");

    let queues = AzureQueues::new(endpoint, SharedKey::new("acc", KEY).unwrap()).unwrap();
    assert!(!format!("{queues:?}").contains(KEY), "{queues:?}");
}

async fn tokens_are_not_sent_over_http() {
    let error = AzureQueues::new("http://127.0.0.1:1", Arc::new(Tokens::default())).unwrap_err();
    assert!(matches!(error, ConnectError::TokenOverHttp));
}
