//! Entities that expire, while their keys change: in either form they are gone at the same instant.

use super::migrates::Migrates;
use super::migrating::Migrating;
use crate::query::Filter;

impl<E: Migrates> Migrating<E> {
    /// Returns the same client, whose reads include entities that have expired. Use it to delete them in either form:
    /// their rows stay until then, and the mover moves them as the others.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # use time::{Duration, OffsetDateTime};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "links", partition = "{user}", row = "L:{n:03}", expires = until)]
    /// # struct LinkV1 { user: String, n: u32, until: Option<OffsetDateTime> }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "links2", partition = "{user}", row = "LINK:{n:08}", expires = until, migrate_from = LinkV1)]
    /// # struct Link { user: String, n: u32, until: Option<OffsetDateTime> }
    /// # impl From<LinkV1> for Link { fn from(LinkV1 { user, n, until }: LinkV1) -> Self { Self { user, n, until } } }
    /// # impl From<Link> for LinkV1 { fn from(Link { user, n, until }: Link) -> Self { Self { user, n, until } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<LinkV1>();
    /// # old.create_table().await?;
    /// # let until = Some(OffsetDateTime::now_utc() - Duration::HOUR);
    /// # old.insert(&LinkV1 { user: "ann".into(), n: 1, until }).await?;
    /// let links = tables.migrating::<Link>()?;
    /// # links.create_table_if_not_exists().await?;
    /// let ann = Link::partition("ann");
    /// assert_eq!(links.list(&ann).count().await?, 0);
    /// let all = links.clone().including_expired();
    /// assert_eq!(all.list(&ann).count().await?, 1);
    /// if let Some(expired) = all.load(ann.row().n(1_u32)).await? {
    ///     all.delete(expired).await?;
    /// }
    /// # assert_eq!(all.list(&ann).count().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn including_expired(mut self) -> Self {
        self.new.client.expiry.included = true;
        self.old.client.expiry.included = true;
        self
    }

    /// That condition, and that of entities which have not expired.
    pub(super) fn only_alive(&self, filter: Option<&Filter>) -> Option<Filter> {
        let client = &self.new.client;
        let time = client.expiry.property.zip(client.read_time());
        let alive = time.map(|(property, now)| property.alive_filter(now));
        filter.cloned().into_iter().chain(alive).reduce(Filter::and)
    }
}
