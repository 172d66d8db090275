//! The behaviours of every `Queues`.

use crate::Run;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use table_orm::queue::{
    MAX_MESSAGE_BYTES, MAX_RECEIVED, MAX_VISIBILITY, Message, QueueError, QueueErrorKind, Queues,
    Receipt,
};

/// One behaviour of every `Queues`.
pub struct Case {
    pub name: &'static str,
    pub run: fn(Arc<dyn Queues>) -> Run,
}

/// Names functions as cases.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub fn all() -> Vec<Case> {
            vec![$(Case {
                name: concat!("queues::", stringify!($name)),
                run: |queues| Box::pin(async move { $name(Subject::new(queues).await).await }),
            }),+]
        }
    };
}

cases! {
    are_created_twice_and_deleted_once,
    that_are_absent_are_not_found,
    with_invalid_names_are_refused,
    deliver_what_was_sent_until_it_is_removed,
    deliver_text_as_it_was_sent,
    refuse_text_that_is_too_long,
    refuse_counts_and_times_over_the_limits,
    deliver_up_to_32_messages_at_once,
    deliver_again_what_was_not_removed_in_time,
    hide_what_is_renewed_and_void_its_receipt,
    deliver_at_once_what_is_released,
    show_what_is_visible_to_a_peek_and_keep_it,
    deliver_delayed_messages_later,
    refuse_to_remove_what_another_received,
    deliver_a_visible_message_to_one_receiver,
}

/// The case of that name.
pub fn case(name: &str) -> Case {
    all().into_iter().find(|case| case.name == name).unwrap()
}

/// Longer than the test takes.
const LONG: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// Queues under test, with a queue of its own.
struct Subject {
    queues: Arc<dyn Queues>,
    queue: String,
}

/// A queue name that no other test has.
fn fresh_name() -> String {
    format!("q-{}", uuid::Uuid::new_v4().simple())
}

impl Subject {
    async fn new(queues: Arc<dyn Queues>) -> Self {
        let queue = fresh_name();
        queues.create(&queue).await.unwrap();
        Self { queues, queue }
    }

    async fn send(&self, text: &str) {
        self.queues.send(&self.queue, text, Duration::ZERO).await.unwrap();
    }

    async fn receive(&self, most: usize, visibility: Duration) -> Vec<Message> {
        self.queues.receive(&self.queue, most, visibility).await.unwrap()
    }

    async fn receive_one(&self, visibility: Duration) -> Message {
        let [message] = <[_; 1]>::try_from(self.receive(1, visibility).await).unwrap();
        message
    }

    /// The next message, waited for until it is visible.
    async fn await_one(&self) -> Message {
        for _ in 0..50 {
            if let Some(message) = self.receive(1, LONG).await.pop() {
                return message;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("no message became visible");
    }

    async fn renew(&self, receipt: &Receipt, visibility: Duration) -> Result<Receipt, QueueError> {
        self.queues.renew(&self.queue, receipt, visibility).await
    }

    async fn remove(&self, receipt: &Receipt) -> Result<(), QueueError> {
        self.queues.remove(&self.queue, receipt).await
    }

    async fn peek(&self) -> bool {
        self.queues.peek(&self.queue).await.unwrap()
    }

    /// Every call on a queue.
    async fn errors(&self) -> Vec<QueueError> {
        let (queues, queue) = (&self.queues, &*self.queue);
        let receipt = Receipt::new(uuid::Uuid::new_v4().to_string(), "AAAA");
        vec![
            queues.delete(queue).await.unwrap_err(),
            queues.send(queue, "text", Duration::ZERO).await.unwrap_err(),
            queues.receive(queue, 1, LONG).await.unwrap_err(),
            queues.peek(queue).await.unwrap_err(),
            queues.renew(queue, &receipt, LONG).await.unwrap_err(),
            queues.remove(queue, &receipt).await.unwrap_err(),
        ]
    }
}

fn kind<T: std::fmt::Debug>(outcome: Result<T, QueueError>) -> QueueErrorKind {
    outcome.unwrap_err().kind
}

async fn are_created_twice_and_deleted_once(subject: Subject) {
    subject.send("kept").await;
    subject.queues.create(&subject.queue).await.unwrap();
    assert!(subject.peek().await);
    subject.queues.delete(&subject.queue).await.unwrap();
    let again = subject.queues.delete(&subject.queue).await;
    assert_eq!(kind(again), QueueErrorKind::QueueNotFound);
}

async fn that_are_absent_are_not_found(subject: Subject) {
    let nowhere = Subject { queue: fresh_name(), ..subject };
    for error in nowhere.errors().await {
        assert_eq!((error.kind, &error.queue), (QueueErrorKind::QueueNotFound, &nowhere.queue));
    }
}

async fn with_invalid_names_are_refused(subject: Subject) {
    let long = "q".repeat(64);
    for name in ["", "ab", &long, "Jobs", "job_s", "-jobs", "jobs-", "jo--bs", "jobs/a", "../jobs"]
    {
        let nowhere = Subject { queue: name.to_owned(), queues: Arc::clone(&subject.queues) };
        let mut errors = nowhere.errors().await;
        errors.push(nowhere.queues.create(name).await.unwrap_err());
        assert!(errors.iter().all(|error| error.kind == QueueErrorKind::Invalid), "{errors:?}");
    }
    for name in [format!("0{}", &fresh_name()[..7]), fresh_name() + &"a".repeat(29)] {
        subject.queues.create(&name).await.unwrap();
    }
}

async fn deliver_what_was_sent_until_it_is_removed(subject: Subject) {
    assert_eq!(subject.receive(1, LONG).await, []);
    subject.send("paint the door").await;
    let message = subject.receive_one(LONG).await;
    assert_eq!((&*message.text, message.dequeue_count), ("paint the door", 1));
    assert_eq!(subject.receive(1, LONG).await, []);
    subject.remove(&message.receipt).await.unwrap();
    assert_eq!(kind(subject.remove(&message.receipt).await), QueueErrorKind::MessageLost);
    assert_eq!(kind(subject.renew(&message.receipt, LONG).await), QueueErrorKind::MessageLost);
}

async fn deliver_text_as_it_was_sent(subject: Subject) {
    let longest = "é".repeat(MAX_MESSAGE_BYTES / 2);
    for text in [
        "",
        " ",
        "  a  b  ",
        "&<>\"'",
        "&amp;<!-- x -->]]>",
        "<QueueMessage><MessageText>a</MessageText></QueueMessage>",
        r#"{"scan":"s","range":1}"#,
        "a\nb\r\nc\td",
        "é\u{1F3C3}\u{2028}\u{85}",
        "dGV4dA==",
        &longest,
    ] {
        subject.send(text).await;
        let message = subject.receive_one(LONG).await;
        assert!(message.text == text, "{:?} for {text:?}", message.text);
        // A renewal does not change it either.
        let receipt = subject.renew(&message.receipt, Duration::ZERO).await.unwrap();
        let message = subject.receive_one(LONG).await;
        assert!(message.text == text && message.receipt != receipt, "{:?}", message.text);
        subject.remove(&message.receipt).await.unwrap();
    }
}

async fn refuse_text_that_is_too_long(subject: Subject) {
    for length in [MAX_MESSAGE_BYTES + 1, 64 * 1024 + 1] {
        let text = "x".repeat(length);
        let sent = subject.queues.send(&subject.queue, &text, Duration::ZERO).await;
        assert_eq!(kind(sent), QueueErrorKind::Invalid);
    }
    assert!(!subject.peek().await);
}

async fn refuse_counts_and_times_over_the_limits(subject: Subject) {
    let (queues, queue) = (&subject.queues, &*subject.queue);
    subject.send("kept").await;
    let over = MAX_VISIBILITY + SECOND;
    for (most, visibility) in [(0, LONG), (MAX_RECEIVED + 1, LONG), (1, Duration::ZERO), (1, over)]
    {
        let received = queues.receive(queue, most, visibility).await;
        assert_eq!(kind(received), QueueErrorKind::Invalid);
    }
    assert_eq!(kind(queues.send(queue, "late", over).await), QueueErrorKind::Invalid);
    let message = subject.receive_one(MAX_VISIBILITY).await;
    assert_eq!(kind(subject.renew(&message.receipt, over).await), QueueErrorKind::Invalid);
    let receipt = subject.renew(&message.receipt, MAX_VISIBILITY).await.unwrap();
    subject.remove(&receipt).await.unwrap();
    queues.send(queue, "late", MAX_VISIBILITY).await.unwrap();
}

async fn deliver_up_to_32_messages_at_once(subject: Subject) {
    let sent: HashSet<String> = (0..MAX_RECEIVED + 2).map(|index| index.to_string()).collect();
    for text in &sent {
        subject.send(text).await;
    }
    let mut received = subject.receive(MAX_RECEIVED, LONG).await;
    assert_eq!(received.len(), MAX_RECEIVED);
    received.extend(subject.receive(MAX_RECEIVED, LONG).await);
    assert_eq!(received.len(), sent.len());
    assert_eq!(received.into_iter().map(|message| message.text).collect::<HashSet<_>>(), sent);
}

async fn deliver_again_what_was_not_removed_in_time(subject: Subject) {
    subject.send("again").await;
    let first = subject.receive_one(SECOND).await;
    assert_eq!(subject.receive(1, LONG).await, []);
    let second = subject.await_one().await;
    assert_eq!((&*second.text, second.dequeue_count), ("again", 2));
    assert_eq!(second.receipt.id, first.receipt.id);
    subject.remove(&second.receipt).await.unwrap();
}

async fn hide_what_is_renewed_and_void_its_receipt(subject: Subject) {
    subject.send("mine").await;
    let mut message = subject.receive_one(SECOND).await;
    let old = message.clone();
    message.receipt = subject.renew(&message.receipt, LONG).await.unwrap();
    tokio::time::sleep(SECOND + Duration::from_millis(500)).await;
    assert_eq!(subject.receive(1, LONG).await, []);
    assert_eq!(kind(subject.renew(&old.receipt, LONG).await), QueueErrorKind::MessageLost);
    assert_eq!(kind(subject.remove(&old.receipt).await), QueueErrorKind::MessageLost);
    message.receipt = subject.renew(&message.receipt, LONG).await.unwrap();
    subject.remove(&message.receipt).await.unwrap();
}

async fn deliver_at_once_what_is_released(subject: Subject) {
    subject.send("yours").await;
    let mine = subject.receive_one(LONG).await;
    subject.renew(&mine.receipt, Duration::ZERO).await.unwrap();
    let yours = subject.receive_one(LONG).await;
    assert_eq!((yours.receipt.id, yours.dequeue_count), (mine.receipt.id, 2));
}

async fn show_what_is_visible_to_a_peek_and_keep_it(subject: Subject) {
    assert!(!subject.peek().await);
    subject.send("seen").await;
    assert!(subject.peek().await && subject.peek().await);
    let message = subject.receive_one(LONG).await;
    assert_eq!(message.dequeue_count, 1);
    assert!(!subject.peek().await);
}

async fn deliver_delayed_messages_later(subject: Subject) {
    subject.queues.send(&subject.queue, "later", SECOND).await.unwrap();
    assert!(!subject.peek().await);
    assert_eq!(subject.receive(1, LONG).await, []);
    let message = subject.await_one().await;
    assert_eq!((&*message.text, message.dequeue_count), ("later", 1));
}

async fn refuse_to_remove_what_another_received(subject: Subject) {
    subject.send("taken").await;
    let mine = subject.receive_one(SECOND).await;
    let yours = subject.await_one().await;
    assert_eq!(kind(subject.remove(&mine.receipt).await), QueueErrorKind::MessageLost);
    assert_eq!(kind(subject.renew(&mine.receipt, LONG).await), QueueErrorKind::MessageLost);
    for id in ["", "none", "../../x", &uuid::Uuid::new_v4().to_string()] {
        let receipt = Receipt::new(id, &yours.receipt.pop);
        assert_eq!(kind(subject.remove(&receipt).await), QueueErrorKind::MessageLost, "{id}");
    }
    subject.remove(&yours.receipt).await.unwrap();
}

async fn deliver_a_visible_message_to_one_receiver(subject: Subject) {
    const MESSAGES: usize = 40;
    for index in 0..MESSAGES {
        subject.send(&index.to_string()).await;
    }
    let subject = Arc::new(subject);
    let receivers: Vec<_> = (0..4)
        .map(|_| {
            let subject = Arc::clone(&subject);
            tokio::spawn(async move {
                let mut received = Vec::new();
                loop {
                    let messages = subject.receive(3, LONG).await;
                    if messages.is_empty() {
                        return received;
                    }
                    received.extend(messages.into_iter().map(|message| message.receipt.id));
                }
            })
        })
        .collect();
    let mut received = Vec::new();
    for receiver in receivers {
        received.extend(receiver.await.unwrap());
    }
    assert_eq!(received.len(), MESSAGES);
    assert_eq!(received.into_iter().collect::<HashSet<_>>().len(), MESSAGES);
}
