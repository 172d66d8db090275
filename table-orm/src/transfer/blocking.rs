//! Blocking readers and writers as asynchronous ones, so that exports and imports have one code path.

use std::io::{self, BufRead, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

/// Asks to be polled again after a signal: callers of asynchronous readers and writers do not call again.
fn ready<T>(done: io::Result<T>, context: &Context<'_>) -> Poll<io::Result<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
        done => Poll::Ready(done),
    }
}

/// A reader or writer that is ready whenever it is polled.
pub(super) struct Blocking<T>(pub T);

// The value is never pinned.
impl<T> Unpin for Blocking<T> {}

impl<W: Write> AsyncWrite for Blocking<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready(self.0.write(bytes), context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready(self.0.flush(), context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

impl<R: Read> AsyncRead for Blocking<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.0.read(buffer.initialize_unfilled());
        ready(read.map(|bytes| buffer.advance(bytes)), context)
    }
}

impl<R: BufRead> AsyncBufRead for Blocking<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        ready(self.get_mut().0.fill_buf(), context)
    }

    fn consume(mut self: Pin<&mut Self>, bytes: usize) {
        self.0.consume(bytes);
    }
}
