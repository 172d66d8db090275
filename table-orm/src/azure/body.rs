//! Reads the bodies of answers, up to a largest size.

use azure_core::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use futures_core::Stream;
use futures_util::TryStreamExt as _;

/// The error of an answer that is longer than any of the service's.
#[derive(Debug, thiserror::Error)]
#[error("the answer has more than {0} bytes")]
pub(crate) struct TooLong(pub(crate) usize);

impl From<TooLong> for Error {
    fn from(error: TooLong) -> Self {
        Self::with_error(ErrorKind::Io, error, "the answer is too long")
    }
}

/// Reads a body to its end. A body in one piece, as from this crate's own HTTP client, is not
/// copied.
pub(crate) async fn whole(
    mut body: impl Stream<Item = Result<Bytes>> + Unpin,
    most: usize,
) -> Result<Bytes> {
    let mut whole = body.try_next().await?.unwrap_or_default();
    let mut rest = Vec::new();
    loop {
        if whole.len() + rest.len() > most {
            return Err(TooLong(most).into());
        }
        let Some(next) = body.try_next().await? else { break };
        rest.extend_from_slice(&next);
    }
    if !rest.is_empty() {
        whole = [&*whole, &*rest].concat().into();
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt as _, StreamExt as _, stream};
    use proptest::prelude::*;
    use std::cell::Cell;

    async fn read(pieces: &[&'static str], most: usize) -> Result<Bytes> {
        let pieces =
            pieces.iter().map(|piece| Ok::<_, Error>(Bytes::from_static(piece.as_bytes())));
        whole(stream::iter(pieces), most).await
    }

    #[tokio::test]
    async fn a_body_is_read_whole_up_to_the_limit() {
        assert_eq!(read(&[], 0).await.unwrap(), "");
        assert_eq!(read(&["ab"], 2).await.unwrap(), "ab");
        assert_eq!(read(&["ab", "", "c", "de"], 5).await.unwrap(), "abcde");
        for (pieces, most) in [(&["abc"][..], 2), (&["ab", "cd"], 3), (&["a", "b", "c"], 2)] {
            let error = read(pieces, most).await.unwrap_err();
            assert_eq!(error.downcast_ref::<TooLong>().unwrap().0, most);
        }
    }

    proptest! {
        #[test]
        fn a_body_in_any_pieces_is_read_exactly_where_it_is_not_too_long(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..9),
            most in 0..100_usize,
        ) {
            let body = pieces.concat();
            let pieces = pieces.into_iter().map(|piece| Ok(Bytes::from(piece)));
            let read = whole(stream::iter(pieces), most).now_or_never().unwrap();
            prop_assert_eq!(read.ok(), (body.len() <= most).then(|| Bytes::from(body)));
        }
    }

    #[tokio::test]
    async fn no_more_than_the_limit_is_read_of_an_endless_body() {
        let read = Cell::new(0);
        let endless = stream::repeat(Bytes::from_static(&[b' '; 100])).map(Ok::<_, Error>);
        let counted = endless.inspect(|piece| read.set(read.get() + piece.as_ref().unwrap().len()));
        assert!(whole(counted, 1000).await.is_err());
        assert_eq!(read.get(), 1100);
    }
}
