//! Merges several sorted streams into one.
//!
//! Invariant: it holds one row of each stream, the next one.

use super::get::MAX_PARALLEL_GETS;
use super::pages::RowStream;
use crate::error::{Error, Result};
use crate::sync::Concurrent;
use futures_util::{TryStreamExt as _, stream};

/// The next row of a stream, and the stream after it.
struct StreamHead<T, K> {
    key: K,
    row: T,
    rest: RowStream<T>,
}

impl<T, K> StreamHead<T, K> {
    async fn of(mut rest: RowStream<T>, key: impl Fn(&T) -> K) -> Result<Option<Self>> {
        let row = rest.next().await?;
        Ok(row.map(|row| Self { key: key(&row), row, rest }))
    }
}

/// The rows of all streams in the order of `key`. Of equal rows, that of the earlier stream comes
/// first.
pub(crate) fn merged<T, K>(
    streams: Vec<RowStream<T>>,
    key: impl Fn(&T) -> K + Clone + Send + Sync + 'static,
) -> RowStream<T>
where
    T: Send + 'static,
    K: Ord + Send + 'static,
{
    let first = key.clone();
    let heads = async move {
        let heads = streams.into_iter().map(move |rows| StreamHead::of(rows, first.clone()));
        let heads = Concurrent::in_order(heads, MAX_PARALLEL_GETS).try_all().await?;
        Ok::<_, Error>((heads, key))
    };
    let rows = stream::once(heads).map_ok(|(heads, key)| {
        stream::try_unfold((heads, key), |(mut heads, key)| async move {
            let least = heads.iter_mut().filter(|head| head.is_some());
            let Some(next) = least.min_by(|one, other| order(one).cmp(&order(other))) else {
                return Ok(None);
            };
            let Some(StreamHead { row, rest, .. }) = next.take() else { return Ok(None) };
            *next = StreamHead::of(rest, key.clone()).await?;
            Ok(Some((row, (heads, key))))
        })
    });
    RowStream::new(rows.try_flatten())
}

fn order<T, K>(head: &Option<StreamHead<T, K>>) -> Option<&K> {
    head.as_ref().map(|head| &head.key)
}
