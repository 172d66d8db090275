//! Numbers from blocks that are taken ahead.

use super::Sequence;
use crate::error::{Error, Result};
use crate::plan::{Attempts, CanonicalKey};
use crate::store::Batch;
use crate::sync::Permit;
use std::ops::Range;
use std::time::Duration;

/// The most numbers that [`Sequence::next`] takes at once: 10,000.
pub const MAX_BLOCK: u64 = 10_000;

/// A block that is used up in a shorter time is followed by one twice as large.
const SHORT_TIME: Duration = Duration::from_secs(10);

/// The block that numbers are given from, and how large the next one will be.
#[derive(Debug)]
pub(super) struct Blocks {
    numbers: Range<u64>,
    size: u64,
    /// When the block was taken.
    taken: Option<Duration>,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { numbers: 0..0, size: 1, taken: None }
    }
}

impl Blocks {
    /// The size of the block to take now.
    fn next_size(&self, now: Duration) -> u64 {
        let was_short = self.taken.is_some_and(|taken| now.saturating_sub(taken) < SHORT_TIME);
        if was_short { (2 * self.size).min(MAX_BLOCK) } else { self.size }
    }
}

impl Sequence {
    /// Gives the next number of a block. Takes a new block when there is no number left. Most numbers need no
    /// request. A block needs one write, and a read before it if other processes take blocks too.
    ///
    /// The first block has one number. If a block lasts less than 10 s, the next one is twice as large, up to
    /// [`MAX_BLOCK`](crate::repo::MAX_BLOCK). When a process ends, the numbers of its block that it has not
    /// given are lost.
    ///
    /// ```
    /// # use table_orm::{TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let numbers = TableName::new("numbers")?;
    /// # tables.create(&numbers).await?;
    /// # let table = tables.table(numbers);
    /// let (here, there) = (table.sequence("all", "users"), table.sequence("all", "users"));
    /// let mut given = Vec::new();
    /// for _ in 0..10 {
    ///     given.extend([here.next().await?, there.next().await?]);
    /// }
    /// given.sort();
    /// given.dedup();
    /// assert_eq!(given.len(), 20); // No number twice.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the store fails or does not answer, it returns the store's error, and the numbers that were
    /// asked for are never given: call again. [`SequenceError`](crate::repo::SequenceError) when the
    /// numbers reach `i64::MAX`. [`Error::Conflict`] when other processes were faster for all the time.
    pub async fn next(&self) -> Result<u64> {
        let key = self.key.as_ref().map_err(Clone::clone)?;
        if let Some(number) = self.next_of_block() {
            return Ok(number);
        }
        let permit = self.connection().write_lock(&self.client.table, key).await;
        // The call that held the lock may have taken a block.
        if let Some(number) = self.next_of_block() {
            return Ok(number);
        }
        let mut attempts = Attempts::begin(self.connection(), self.limits);
        let mut known = self.shared().known.take();
        loop {
            let was_kept = known.is_some();
            match self.take_block(key, known.take()).await {
                // Another process has written the row since: a read shows how.
                Err(error) if was_kept && is_race(&error, key) => {}
                Err(error) if is_race(&error, key) && attempts.next().await => {}
                Err(error) => return Err(error),
                Ok(mut numbers) => {
                    let shared = &mut *self.shared();
                    let number = numbers.next();
                    shared.blocks.numbers = numbers;
                    if let Some(number) = number {
                        return Ok(number);
                    }
                }
            }
            permit.iter().for_each(Permit::goes_on);
        }
    }

    fn next_of_block(&self) -> Option<u64> {
        self.shared().blocks.numbers.next()
    }

    /// Takes a block from the row, by the version that is known or read.
    async fn take_block(
        &self,
        key: &CanonicalKey,
        known: Option<super::Version>,
    ) -> Result<Range<u64>> {
        let version = match known {
            Some(version) => version,
            None => self.read(key).await?,
        };
        let now = self.connection().now();
        let size = self.shared().blocks.next_size(now);
        let count = size.min(version.left()).max(1);
        let taking = self.take(version, count)?;
        let operations = vec![taking.operation(key)?];
        let batch = Batch { partition_key: key.partition_key.clone(), operations };
        let etag = self.client.send(batch).await?.into_iter().next().flatten();
        let etag = self.client.version(key, etag)?;
        let numbers = taking.numbers.clone();
        let shared = &mut *self.shared();
        shared.known = Some(taking.written(etag));
        shared.blocks.size = size;
        shared.blocks.taken = Some(now);
        Ok(numbers)
    }
}

/// Whether another write came in between. A write that may have taken effect counts as one of another:
/// its block is given up.
fn is_race(error: &Error, key: &CanonicalKey) -> bool {
    matches!(error, Error::Ambiguous(_)) || Sequence::is_lost_race(error, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_double_while_they_last_less_than_ten_seconds() {
        let mut blocks = Blocks::default();
        let second = Duration::from_secs;
        assert_eq!(blocks.next_size(second(0)), 1);
        blocks.taken = Some(second(100));
        assert_eq!(blocks.next_size(second(109)), 2);
        assert_eq!(blocks.next_size(second(110)), 1);
        blocks.size = MAX_BLOCK - 1;
        assert_eq!(blocks.next_size(second(100)), MAX_BLOCK);
    }
}
