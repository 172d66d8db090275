//! The partitions that a typed scan reads.

use super::scan::Scan;
use crate::entity::{InvalidEntity, Query, ReadRow as _, Row, TableEntity, partition_at};
use crate::key::{KeyError, KeyFault};
use crate::query::{Span, class};
use std::ops::{Bound, RangeBounds};

impl<T, R: Row> Scan<T, R> {
    /// Reads only the partitions whose keys lie in a range between those of two partitions. The method that
    /// runs the scan fails if the range is empty, or a key cannot hold one of the values.
    ///
    /// Keys compare as text, and so does the range. It has exactly the values between its bounds if each
    /// component sorts as text: a number with a width, a date, text at the end. Components that both bounds
    /// start with in common need not sort. A [`KeyPart`](crate::key::KeyPart) of your own is assumed to sort.
    /// If any other component does not sort, such as a `shard` or `spread`, the range would leave out some of its
    /// values, so the scan fails with [`KeyFault::Unsorted`].
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, TableEntity)]
    /// # #[table(name = "bills", partition = "{year:04}{month:02}", row = "{number:08}", allow_append_only)]
    /// # struct Bill { year: u16, month: u8, number: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let bills = Tables::in_memory()?.repo::<Bill>();
    /// # bills.create_table().await?;
    /// # for (year, month) in [(2025, 9), (2025, 10), (2026, 1), (2026, 2)] {
    /// #     bills.insert(&Bill { year, month, number: 1 }).await?;
    /// # }
    /// // From October to January.
    /// let winter = Bill::partition(2025, 10)..=Bill::partition(2026, 1);
    /// let scan = bills.scan(ScanPermit::because("winter report")).partitions_in(winter);
    /// assert_eq!(scan.collect().await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn partitions_in<P>(mut self, partitions: impl RangeBounds<P>) -> Self
    where
        P: Query<Class = class::Partition> + Clone,
        P::Row: Row<Entity = R::Entity>,
    {
        let bounds = key_of(partitions.start_bound())
            .and_then(|start| Ok((start, key_of(partitions.end_bound())?)));
        self.query = self.query.and_then(|mut query| {
            query.keys.partition = bounds.and_then(span::<P>).map_err(InvalidEntity::from)?;
            Ok(query)
        });
        self
    }
}

/// The PartitionKeys between two keys of `P`.
fn span<P: Query>((start, end): (Bound<String>, Bound<String>)) -> Result<Span, KeyError> {
    let (from, to) = (key_in(&start), key_in(&end));
    if from.is_none() && to.is_none() {
        return Ok(Span::All);
    }
    let template = partition_at::<<P::Row as Row>::Entity>(<P::Row as Row>::INDEX);
    match template.unsorted(from, to, <P::Row as Row>::Entity::ESCAPE) {
        None => Ok(Span::Between(start, end)),
        Some(part) => Err(KeyError {
            entity: <P::Row as Row>::Entity::NAME,
            component: part.name,
            value: [from, to].into_iter().flatten().collect::<Vec<_>>().join(".."),
            fault: KeyFault::Unsorted,
        }),
    }
}

fn key_in(bound: &Bound<String>) -> Option<&str> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

fn key_of<P: Query + Clone>(bound: Bound<&P>) -> Result<Bound<String>, KeyError> {
    match bound {
        Bound::Included(partition) => bound_at(partition, Bound::Included),
        Bound::Excluded(partition) => bound_at(partition, Bound::Excluded),
        Bound::Unbounded => Ok(Bound::Unbounded),
    }
}

fn bound_at<P: Query + Clone>(
    partition: &P,
    bound: fn(String) -> Bound<String>,
) -> Result<Bound<String>, KeyError> {
    Ok(match partition.clone().into_keys()?.partition {
        Span::Exact(key) => bound(key),
        _ => Bound::Unbounded,
    })
}
