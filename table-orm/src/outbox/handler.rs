//! The contract of a handler, which takes events.

use super::event::Event;
use crate::error::HandlerError;

/// What [`Outbox::dispatch`](super::Outbox::dispatch) hands events to: a function from an [`Event`] to a
/// future, or with the feature `distributed` a queue, [`SendTo`](super::SendTo).
///
/// It gets the events of one partition one after the other, in order, and those of several partitions at a
/// time. It may get an event again: after an error, and when a process ends before the event is removed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not take events",
    label = "not a handler",
    note = "pass a function from `outbox::Event` to a future of a `Result<(), E>`, such as \
            `async |event: Event| Ok::<_, table_orm::Error>(())`, or `outbox::SendTo`"
)]
pub trait Handler: Send + Sync {
    /// Takes an event. It is removed when this returns `Ok`. After an error it stays.
    fn handle(&self, event: Event) -> impl Future<Output = Result<(), HandlerError>> + Send;
}

#[diagnostic::do_not_recommend]
impl<H, F, X> Handler for H
where
    H: Fn(Event) -> F + Send + Sync,
    F: Future<Output = Result<(), X>> + Send,
    X: Into<HandlerError>,
{
    fn handle(&self, event: Event) -> impl Future<Output = Result<(), HandlerError>> + Send {
        let handled = self(event);
        async move { handled.await.map_err(Into::into) }
    }
}
