//! Replies that break off in mid-body, on purpose: the length is announced, half of the body comes, and
//! the connection is closed.

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

/// Chooses the replies to cut, by a seed.
#[derive(Debug)]
pub(crate) struct Cuts {
    share: f64,
    state: AtomicU64,
}

impl Cuts {
    /// Cuts this share of the replies that have a body.
    pub(crate) const fn new(seed: u64, share: f64) -> Self {
        Self { share, state: AtomicU64::new(seed) }
    }

    /// The body of the next reply.
    pub(super) fn body(&self, whole: Bytes) -> ReplyBody {
        if whole.is_empty() || self.share <= 0.0 || self.unit() >= self.share {
            return ReplyBody::Whole(Full::new(whole));
        }
        let length = whole.len();
        ReplyBody::Cut { length, half: Some(whole.slice(..length / 2)), sent: false }
    }

    /// The next number of SplitMix64, from 0 up to, not including, 1. That of `table-orm` is private to it.
    fn unit(&self) -> f64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let state = self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The body of a reply.
#[derive(Debug)]
pub(super) enum ReplyBody {
    Whole(Full<Bytes>),
    /// Of `length` bytes, only half come.
    Cut {
        length: usize,
        half: Option<Bytes>,
        sent: bool,
    },
}

/// The reply is cut.
#[derive(Debug, thiserror::Error)]
#[error("the reply is cut")]
pub(super) struct ReplyCut;

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = ReplyCut;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ReplyCut>>> {
        match self.get_mut() {
            Self::Whole(body) => {
                let frame: Option<Result<_, Infallible>> =
                    ready!(Pin::new(body).poll_frame(context));
                Poll::Ready(frame.map(|Ok(frame)| frame).map(Ok))
            }
            Self::Cut { half, sent, .. } => match half.take() {
                Some(half) => Poll::Ready(Some(Ok(Frame::data(half)))),
                // What was given before is sent only when no more is at hand.
                None if !*sent => {
                    *sent = true;
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                None => Poll::Ready(Some(Err(ReplyCut))),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Cut { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Cut { length, .. } => SizeHint::with_exact(*length as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_cuts_the_same_replies_and_about_their_share() {
        let cut = |seed| {
            let cuts = Cuts::new(seed, 0.3);
            let reply = |_| matches!(cuts.body(Bytes::from_static(b"body")), ReplyBody::Cut { .. });
            (0..1000).map(reply).collect::<Vec<_>>()
        };
        assert_eq!(cut(7), cut(7));
        assert_ne!(cut(7), cut(8));
        let count = cut(7).into_iter().filter(|&cut| cut).count();
        assert!((250..350).contains(&count), "{count}");
    }

    #[test]
    fn a_reply_without_a_body_is_whole() {
        assert!(matches!(Cuts::new(1, 1.0).body(Bytes::new()), ReplyBody::Whole(_)));
    }
}
