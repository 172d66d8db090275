//! Bounds the time in which the line and the headers of a request arrive. hyper has one limit for them and for the wait
//! before them, in which a client may keep a connection for a later request.
//!
//! Invariant: from the first byte of a request to its last header pass at most the given seconds, or the connection
//! ends.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How often a connection has begun to answer a request, or has answered it: odd while it answers.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns(Arc<AtomicU64>);

impl Turns {
    /// The headers of a request are here, or its answer is.
    pub(super) fn next(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stream that fails when the headers of a request take too long.
pub(super) struct HeadTimeStream<S> {
    stream: S,
    most: Duration,
    turns: Turns,
    /// When the headers that have begun to arrive must be here, and in which turn.
    due: Option<(u64, Pin<Box<Sleep>>)>,
}

impl<S> HeadTimeStream<S> {
    pub(super) fn new(stream: S, most: Duration, turns: Turns) -> Self {
        Self { stream, most, turns, due: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HeadTimeStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let turn = this.turns.now();
        this.due.take_if(|(begun, _)| *begun != turn);
        if let Some((_, due)) = &mut this.due
            && due.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        let is_head = turn.is_multiple_of(2);
        if is_head && this.due.is_none() && buffer.filled().len() > before {
            this.due = Some((turn, Box::pin(sleep(this.most))));
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
