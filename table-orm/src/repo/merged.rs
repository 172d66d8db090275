//! Several streams as one, in an order that each of them has.
//!
//! Invariant: of each stream the first row that was not given is held, and no other.

use super::get::MAX_PARALLEL_GETS;
use super::pages::RowStream;
use crate::error::{Error, Result};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

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

/// The rows of all streams by `key`; of equal ones, those of the earlier stream first.
pub(super) fn merged<T, K>(
    streams: Vec<RowStream<T>>,
    key: impl Fn(&T) -> K + Clone + Send + Sync + 'static,
) -> RowStream<T>
where
    T: Send + 'static,
    K: Ord + Send + 'static,
{
    let first = key.clone();
    let heads = async move {
        let heads = stream::iter(streams).map(|rows| StreamHead::of(rows, first.clone()));
        let heads: Vec<_> = heads.buffered(MAX_PARALLEL_GETS).try_collect().await?;
        Ok::<_, Error>((heads, key))
    };
    let rows = stream::once(heads).map_ok(|(heads, key)| {
        stream::try_unfold((heads, key), |(mut heads, key)| async move {
            let least = heads.iter_mut().filter(|head| head.is_some());
            let Some(place) = least.min_by(|one, other| order(one).cmp(&order(other))) else {
                return Ok(None);
            };
            let Some(StreamHead { row, rest, .. }) = place.take() else { return Ok(None) };
            *place = StreamHead::of(rest, key.clone()).await?;
            Ok(Some((row, (heads, key))))
        })
    });
    RowStream::new(rows.try_flatten())
}

fn order<T, K>(head: &Option<StreamHead<T, K>>) -> Option<&K> {
    head.as_ref().map(|head| &head.key)
}
