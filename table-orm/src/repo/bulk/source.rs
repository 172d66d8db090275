//! What a bulk write reads.
//!
//! Invariant: a stream that has ended is not polled again.

use futures_core::Stream;
use futures_util::StreamExt as _;
use futures_util::stream::Fuse;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A stream as the input of a bulk write.
pub struct Streamed<S> {
    pub(super) stream: Fuse<Pin<Box<S>>>,
}

impl<S> fmt::Debug for Streamed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streamed").finish_non_exhaustive()
    }
}

/// The input of a bulk write: an iterator or a [`Stream`] of `T`.
///
/// The compiler finds `Kind`, unless the type is both: wrap such an input, as with `futures_util::stream::iter`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an iterator nor a stream of `{T}`",
    label = "expected an iterator or a `Stream` of `{T}`",
    note = "a bulk write takes the entities by value, such as a `Vec`, an iterator or a `Stream` of them"
)]
pub trait IntoSource<T, Kind> {
    /// What the write reads, and its [`Remainder`](super::Remainder) goes on with.
    type Source: Source<Item = T>;

    /// Returns what the write reads.
    fn into_source(self) -> Self::Source;
}

/// The kind of iterators.
#[derive(Debug)]
pub enum OfIterator {}

/// The kind of streams.
#[derive(Debug)]
pub enum OfStream {}

impl<T, I: IntoIterator<Item = T>> IntoSource<T, OfIterator> for I {
    type Source = I::IntoIter;

    fn into_source(self) -> I::IntoIter {
        self.into_iter()
    }
}

impl<T, S: Stream<Item = T>> IntoSource<T, OfStream> for S {
    type Source = Streamed<S>;

    fn into_source(self) -> Streamed<S> {
        Streamed { stream: Box::pin(self).fuse() }
    }
}

/// What a bulk write reads, entity by entity: an iterator, or [`Streamed`].
pub trait Source: Input {}

impl<S: Input> Source for S {}

pub(super) use sealed::Input;

mod sealed {
    use std::task::{Context, Poll};

    pub trait Input {
        type Item;

        /// The next entity; `None` at the end.
        fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Self::Item>>;
    }
}

impl<I: Iterator> Input for I {
    type Item = I::Item;

    fn poll_next(&mut self, _context: &mut Context<'_>) -> Poll<Option<I::Item>> {
        Poll::Ready(self.next())
    }
}

impl<S: Stream> Input for Streamed<S> {
    type Item = S::Item;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.poll_next_unpin(context)
    }
}
