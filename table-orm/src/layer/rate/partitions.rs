//! The bucket of all requests, and one for each partition.

use super::bucket::{Bucket, Taken};
use super::hot::Meter;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// How many partitions are kept, at least, before idle ones are removed.
const KEPT_PARTITIONS: usize = 1024;

/// A partition of a table.
pub(super) type Partition = (String, String);

#[derive(Debug)]
pub(super) struct Buckets {
    all: Bucket,
    per_partition: u32,
    partitions: BTreeMap<Partition, (Bucket, Meter)>,
    /// How many partitions there may be before idle ones are removed.
    kept: usize,
}

impl Buckets {
    pub(super) const fn new(all: Bucket, per_partition: u32) -> Self {
        Self { all, per_partition, partitions: BTreeMap::new(), kept: KEPT_PARTITIONS }
    }

    fn partition(&mut self, partition: Partition, now: Instant) -> &mut (Bucket, Meter) {
        if self.partitions.len() >= self.kept {
            self.partitions.retain(|_, (bucket, meter)| {
                bucket.raise(now);
                !(bucket.is_idle(now) && meter.is_idle(now))
            });
            // Twice what is left, so that the cost of looking through them, spread over requests,
            // stays constant.
            self.kept = KEPT_PARTITIONS.max(2 * self.partitions.len());
        }
        let rate = self.per_partition;
        let new = || (Bucket::new(rate, now), Meter::new(now));
        self.partitions.entry(partition).or_insert_with(new)
    }

    pub(super) fn take(&mut self, units: usize, partition: Option<Partition>) -> Share {
        let now = Instant::now();
        let of_all = self.all.take(units, now);
        let target = self.per_partition;
        let mut near = None;
        let of_partition = partition.map(|partition| {
            let (bucket, meter) = self.partition(partition.clone(), now);
            near = meter.count(units, target, now);
            (partition, bucket.take(units, now))
        });
        Share { of_all, of_partition, near }
    }

    pub(super) fn give_back(&mut self, share: &Share) {
        self.all.give_back(share.of_all.time);
        if let Some((partition, taken)) = &share.of_partition
            && let Some((bucket, _)) = self.partitions.get_mut(partition)
        {
            bucket.give_back(taken.time);
        }
    }

    pub(super) fn cut(&mut self, retry_after: Option<Duration>, partition: Option<Partition>) {
        let now = Instant::now();
        match partition {
            Some(partition) => self.partition(partition, now).0.cut(retry_after, now),
            None => self.all.cut(retry_after, now),
        }
    }
}

/// What a request takes from the bucket of all requests and from its partition's.
#[derive(Debug)]
pub(super) struct Share {
    of_all: Taken,
    pub(super) of_partition: Option<(Partition, Taken)>,
    /// The rate of the partition, if it has come near its target.
    pub(super) near: Option<u32>,
}

impl Share {
    pub(super) fn wait(&self) -> Duration {
        let of_partition = self.of_partition.as_ref().map(|(_, taken)| taken.wait);
        self.of_all.wait.max(of_partition.unwrap_or_default())
    }
}
