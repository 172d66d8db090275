//! Bounds the time in which the line and the headers of a request arrive. hyper has one limit for them and for the wait
//! before them, in which a client may keep a connection for a later request.
//!
//! Invariant: at most the given time passes from the first byte that comes after the answer before, or at the start of
//! the connection, to the last header of a request. Otherwise the connection is closed. A client may send the first
//! bytes of a request before it has the answer to the one before: they do not start the time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Counts when a connection begins to answer a request, and when it has answered it: odd while it answers.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswerCount(Arc<AtomicU64>);

impl AnswerCount {
    /// An answer begins or ends.
    pub(super) fn advance(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stream that fails when the headers of a request take too long.
pub(super) struct HeadTimeStream<S> {
    stream: S,
    most: Duration,
    answers: AnswerCount,
    /// When the headers that have begun to arrive must be here, and the count when they began.
    due: Option<(u64, Pin<Box<Sleep>>)>,
}

impl<S> HeadTimeStream<S> {
    pub(super) fn new(stream: S, most: Duration, answers: AnswerCount) -> Self {
        Self { stream, most, answers, due: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HeadTimeStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let count = this.answers.get();
        this.due.take_if(|(begun, _)| *begun != count);
        if let Some((_, due)) = &mut this.due
            && due.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        let is_head = count.is_multiple_of(2);
        if is_head && this.due.is_none() && buffer.filled().len() > before {
            this.due = Some((count, Box::pin(sleep(this.most))));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HeadTimeStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
