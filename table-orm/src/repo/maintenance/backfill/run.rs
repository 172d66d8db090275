//! A backfill in progress.

use super::builder::Backfill;
use super::filling::Filling;
use super::report::BackfillReport;
use crate::entity::{TOTAL, TableEntity, Total, has_sum_copies};
use crate::error::Result;
use crate::plan::CanonicalKey;
use crate::repo::maintenance::MaintainedType;
use crate::repo::maintenance::repair::{SkipReason, Skipped};
use crate::repo::maintenance::verify::{Finding, Problem};
use crate::repo::{Repo, SumProblem, WrongSum};
use crate::store::Page;
use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use std::sync::Arc;

impl<E: TableEntity> Backfill<'_, E> {
    async fn run(mut self) -> BackfillReport {
        let mut report = BackfillReport::default();
        report.progress.token = self.pages.token.clone();
        if let Err(error) = self.pages(&mut report).await {
            report.ended = Some(error.repeatable());
        }
        report
    }

    async fn pages(&mut self, report: &mut BackfillReport) -> Result<()> {
        loop {
            let (page, next) = self.pages.read().await?;
            self.page(&page, report).await?;
            self.pages.token.clone_from(&next);
            report.progress.token = next;
            if let Some(progress) = &mut self.progress {
                progress(&report.progress);
            }
            if report.progress.token.is_none() {
                return Ok(());
            }
        }
    }

    /// Writes the rows of one page's entities.
    async fn page(&mut self, page: &Page, report: &mut BackfillReport) -> Result<()> {
        let of = MaintainedType::of::<E>();
        let filling = Filling { of, client: &self.pages.client, only: self.only };
        let filled = filling.page(page, self.parallelism, report).await?;
        if const { E::HAS_SUMS } {
            let (corrected, changing) = self.count_sums(filled.homes).boxed().await?;
            report.skipped.extend(changing);
            report.progress.rows += corrected;
        }
        report.progress.entities += filled.entities;
        report.progress.rows += filled.rows;
        Ok(())
    }

    /// Corrects the totals of these entities' partitions, and their copies, once for each partition. Returns how
    /// many were wrong, and those that changed during each count.
    async fn count_sums(&mut self, homes: Vec<CanonicalKey>) -> Result<(u64, Vec<Skipped>)> {
        let (mut corrected, mut changing) = (0, Vec::new());
        if self.only.is_some() || !has_sum_copies::<E>() {
            return Ok((corrected, changing));
        }
        let client = &self.pages.client;
        let repo = Repo::<E>::new(Arc::clone(&client.connection), client.table.clone());
        for CanonicalKey { partition_key, .. } in homes {
            if self.counted.as_ref() != Some(&partition_key) {
                for wrong in repo.count_again(&partition_key, true).await? {
                    if wrong.problem == SumProblem::Pending {
                        let finding = of_total(E::NAME, &partition_key, wrong);
                        changing.push(Skipped { finding, reason: SkipReason::Changed });
                    } else {
                        corrected += 1;
                    }
                }
                self.counted = Some(partition_key);
            }
        }
        Ok((corrected, changing))
    }
}

impl<'a, E: TableEntity + 'a> IntoFuture for Backfill<'a, E> {
    type Output = BackfillReport;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// The finding of a total in that partition.
fn of_total(entity: &str, partition_key: &str, wrong: WrongSum) -> Finding {
    let total = Total { name: wrong.name, group: wrong.group, shards: 1 };
    Finding {
        entity: entity.to_owned(),
        row: wrong.name.to_owned(),
        partition_key: partition_key.to_owned(),
        row_key: total.row_key(0).unwrap_or_default(),
        canonical: None,
        location: None,
        etag: None,
        problem: Problem::Stale { properties: vec![TOTAL.to_owned()] },
    }
}
