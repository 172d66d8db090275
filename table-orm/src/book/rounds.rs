//! Which requests of a call wait for one another.

use super::estimate::Estimate;
use crate::plan::{Plan, Step};
use crate::query::{QueryClass, ReadMark};
use crate::repo::MAX_PARALLEL_GETS;

/// How many requests of a call are sent one after another. Reads of one kind that follow each other, and the point
/// queries for canonical rows, are in flight together; the pages of a range are not.
pub(super) fn rounds(plan: &Plan, steps: &[Estimate]) -> u64 {
    let mut rounds = 0_u64;
    let mut together: Option<(QueryClass, ReadMark, Together)> = None;
    for (step, estimate) in plan.steps.iter().zip(steps) {
        if let Step::Read { query, .. } = step {
            let (class, mark) = (query.keys.class(), query.mark);
            match &mut together {
                Some((of_class, of_mark, reads)) if (*of_class, *of_mark) == (class, mark) => {
                    reads.add(estimate.requests);
                }
                _ => {
                    let reads = Together::of(estimate.requests);
                    let before = together.replace((class, mark, reads));
                    rounds += before.map_or(0, |(_, _, reads)| reads.rounds());
                }
            }
            continue;
        }
        rounds += together.take().map_or(0, |(_, _, reads)| reads.rounds());
        rounds += match step {
            Step::ReadCanonical { .. } => estimate.requests.div_ceil(MAX_PARALLEL_GETS as u64),
            _ => estimate.requests,
        };
    }
    rounds + together.map_or(0, |(_, _, reads)| reads.rounds())
}

/// Reads that are in flight together.
struct Together {
    requests: u64,
    /// Those of the one with most of them.
    most: u64,
}

impl Together {
    const fn of(requests: u64) -> Self {
        Self { requests, most: requests }
    }

    fn add(&mut self, requests: u64) {
        self.requests += requests;
        self.most = self.most.max(requests);
    }

    fn rounds(&self) -> u64 {
        self.requests.div_ceil(MAX_PARALLEL_GETS as u64).max(self.most)
    }
}
