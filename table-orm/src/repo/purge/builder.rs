//! The call that starts a purge, and its settings.

use crate::entity::{
    ReadRow as _, RowHead, TableEntity, expiry_keys, expiry_row, has_expiry_row, name_of,
};
use crate::model::DateTime;
use crate::plan::{Bounds, Cost, PlacedCost, Plan, Step, TableClient};
use crate::query::{ReadMark, RowQuery};
use crate::repo::{Repo, entity_costs};
use std::marker::PhantomData;

/// The rows of the index that are read at once, and so the most entities that are held in memory.
const PAGE_ROWS: u16 = 100;

/// A purge: `.await` runs it, `.plan()` shows its first requests.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Purge<E> {
    pub(super) client: TableClient,
    pub(super) before: Option<DateTime>,
    pub(super) limit: Option<u64>,
    pub(super) rate: Option<u32>,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity> Repo<E> {
    /// Deletes the entities that have expired, with all their rows. The type must have `purge_index`, whose rows
    /// find them without a scan.
    ///
    /// Sends 16 queries, one for each partition of the index. Each entity takes at most 6 requests, and 2 more
    /// for each further partition with its rows. Deletes of one partition share transactions. An entity that is
    /// extended while the purge runs stays. Several purges may run at once.
    ///
    /// ```
    /// use table_orm::{TableEntity, Tables};
    /// use time::{Duration, OffsetDateTime};
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "sessions", partition = "{user}", row = "ID:{id:05}", expires = until, purge_index)]
    /// struct Session { user: String, id: u32, until: Option<OffsetDateTime> }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let sessions = Tables::in_memory()?.repo::<Session>();
    /// sessions.create_table().await?;
    /// let until = OffsetDateTime::now_utc() - Duration::MINUTE;
    /// sessions.insert(&Session { user: "ann".into(), id: 1, until: Some(until) }).await?;
    /// sessions.insert(&Session { user: "ann".into(), id: 2, until: None }).await?;
    /// // As a job, as often as rows may stay.
    /// let report = sessions.purge().limit(10_000).await.all()?;
    /// assert_eq!((report.purged, report.is_limited), (1, false));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// When the index cannot be read, or the store cannot be reached, the purge ends with the error in
    /// [`PurgeReport::ended`](super::PurgeReport::ended). An entity that cannot be deleted is in
    /// [`failures`](super::PurgeReport::failures). [`all`](super::PurgeReport::all) turns either into an error.
    pub fn purge(&self) -> Purge<E> {
        const {
            assert!(
                has_expiry_row::<E>(),
                "`purge` finds entities by the rows of `purge_index`: add it to `#[table(expires = .., purge_index)]`, \
                 and run `backfill` if entities are stored"
            );
        }
        let client = self.client.clone();
        Purge { client, before: None, limit: None, rate: None, entity: PhantomData }
    }
}

impl<E: TableEntity> Purge<E> {
    /// Deletes only what expired at this instant or earlier, so that entities can be read for some time with
    /// [`including_expired`](Repo::including_expired). An instant later than the clock's counts as the clock's.
    pub const fn before(mut self, instant: DateTime) -> Self {
        self.before = Some(instant);
        self
    }

    /// Sets how many entities it deletes at most. The next purge goes on with the others.
    pub const fn limit(mut self, entities: u64) -> Self {
        self.limit = Some(entities);
        self
    }

    /// Sets the most entities that it reads in a second, on average; 0 counts as 1. These reads are most of the
    /// purge's requests. Without a rate, up to 100 entities are read and deleted at once, and only the
    /// connection's layers slow it down.
    pub const fn rate(mut self, entities_per_second: u32) -> Self {
        self.rate = Some(if entities_per_second == 0 { 1 } else { entities_per_second });
        self
    }

    /// Returns the queries of the index, and what the deletes cost for each entity that one finds. Sends nothing.
    ///
    /// A purge that reaches its [limit](Self::limit) sends fewer queries than the plan has.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let read = PlacedCost::from(Cost::point_queries(Bounds::exactly(1)));
        let deletes = read + entity_costs::deleting::<E>(&self.client);
        // Those beyond the limit are left.
        let of_each = if self.limit.is_some() { deletes.or_nothing() } else { deletes };
        let steps = self.queries(self.until()).into_iter().flat_map(|query| {
            let table = query.table.clone();
            [Step::read(query), Step::WriteFound { table, of_each }]
        });
        Plan { steps: steps.collect() }
    }

    /// The last instant at which a purged entity expired.
    pub(super) fn until(&self) -> DateTime {
        let now = self.client.connection.clock.now();
        self.before.map_or(now, |before| before.min(now))
    }

    /// The query of each partition of the index.
    pub(super) fn queries(&self, until: DateTime) -> Vec<RowQuery> {
        let keys = expiry_keys::<E>(until).into_iter();
        let row = expiry_row::<E>().map(name_of::<E>);
        let mark = ReadMark { entity: Some(E::NAME), row, ..ReadMark::NONE };
        keys.map(|keys| {
            let select = RowHead::select();
            RowQuery { select, mark, top: Some(PAGE_ROWS), ..self.client.query(keys) }
        })
        .collect()
    }
}
