//! The entities of rows that are not canonical, page by page.

use super::confirm::{Candidate, Check};
use super::found_row::FoundRow;
use crate::entity::{Loaded, Row, TableEntity};
use crate::error::{Error, Result};
use crate::model::MAX_PAGE_ROWS;
use crate::plan::{CanonicalKey, Plan};
use crate::query::{PageToken, RowQuery};
use crate::repo::get::MAX_PARALLEL_GETS;
use crate::repo::listing::Listing;
use crate::repo::pages::{PageReader, Pages, RowPage};
use crate::sync::Concurrent;
use std::collections::BTreeSet;
use std::marker::PhantomData;

/// The pages of a query of rows that are not canonical.
#[derive(Debug)]
pub struct OtherRows<R> {
    rows: Pages<FoundRow>,
    check: Check<R>,
    /// The entities that were yielded, where each comes once.
    taken: Option<BTreeSet<CanonicalKey>>,
    /// Rows that are found and not checked yet.
    found: Option<RowPage<FoundRow>>,
    /// The most entities still to yield.
    left: Option<usize>,
}

impl<R> OtherRows<R> {
    /// `ask` is the query of the rows as `reader` reads them.
    pub fn new(
        listing: Listing,
        size: Option<usize>,
        reader: PageReader<FoundRow>,
        ask: impl FnOnce(RowQuery) -> RowQuery,
    ) -> Self {
        let Listing { client, query, limit, skip, .. } = listing;
        let filter = query.as_ref().ok().and_then(|query| query.filter.clone());
        let query = query.map(ask).map_err(Error::from);
        // Some rows may be left out, so a small limit asks for some more.
        let most = usize::from(MAX_PAGE_ROWS);
        let size = size.or(limit.map(|limit| limit.clamp(MAX_PARALLEL_GETS, most)));
        let nothing = (limit == Some(0)).then_some(0);
        let rows = Pages::read_by(client.clone(), reader, query, nothing, size);
        let check = Check { client, filter, skip: skip.clone(), settles: false, row: PhantomData };
        Self { rows: rows.skipping(skip), check, taken: None, found: None, left: limit }
    }

    /// Yields an entity of several rows once.
    pub fn once(self) -> Self {
        Self { taken: Some(BTreeSet::new()), ..self }
    }

    /// Brings rows in other partitions that their entity does not have in step.
    pub fn settling(mut self) -> Self {
        self.check.settles = true;
        self
    }

    pub fn first_request(self) -> Result<Plan> {
        self.rows.first_request()
    }

    /// An earlier page has entities that were yielded already.
    pub fn resume(self, token: PageToken) -> Self {
        let taken = self.taken.map(|_| BTreeSet::new());
        Self { rows: self.rows.resume(token), taken, found: None, ..self }
    }
}

impl<E, R> OtherRows<R>
where
    E: TableEntity + 'static,
    R: Row<Entity = E> + 'static,
{
    pub async fn next(&mut self) -> Result<Option<RowPage<Loaded<E>>>> {
        if self.left == Some(0) {
            return Ok(None);
        }
        if self.found.is_none() {
            self.found = self.rows.next().await?;
        }
        let Some(found) = &self.found else { return Ok(None) };
        let confirmed = self.confirmed(&found.items).await?;
        let found = self.found.take();
        let (next, previous) = found.map_or((None, None), |found| (found.next, found.previous));
        if let Some(left) = &mut self.left {
            *left -= confirmed.len();
        }
        let mut items = Vec::with_capacity(confirmed.len());
        for (home, loaded) in confirmed {
            items.push(loaded);
            if let Some(taken) = &mut self.taken {
                taken.insert(home);
            }
        }
        Ok(Some(RowPage { items, next: next.filter(|_| self.left != Some(0)), previous }))
    }

    /// The entities that have one of the rows, in the order of these rows.
    async fn confirmed(&self, found: &[FoundRow]) -> Result<Vec<(CanonicalKey, Loaded<E>)>> {
        let candidates = match &self.taken {
            Some(taken) => Candidate::each_entity(found, taken),
            None => Candidate::each_row(found),
        };
        let (check, most) = (&self.check, self.left.unwrap_or(usize::MAX));
        let places: Vec<_> = candidates.iter().map(Candidate::first_place).collect();
        let confirming = candidates.into_iter().map(|candidate| check.confirm(candidate));
        let mut answers = Concurrent::in_order(confirming, most.min(MAX_PARALLEL_GETS));
        // In the order of their places.
        let mut confirmed = Vec::new();
        let mut answered = 0;
        while let Some(answer) = answers.next().await {
            if let Some((place, found)) = answer? {
                let at = confirmed.partition_point(|(earlier, _)| *earlier < place);
                confirmed.insert(at, (place, found));
            }
            answered += 1;
            // An entity whose first row was stale stands after others.
            let next = places.get(answered).copied().unwrap_or(usize::MAX);
            if confirmed.partition_point(|(place, _)| *place < next) >= most {
                break;
            }
        }
        Ok(confirmed.into_iter().map(|(_, found)| found).take(most).collect())
    }
}
