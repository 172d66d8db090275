//! Reads of entities that have expired.

use super::Repo;
use crate::entity::TableEntity;

impl<E: TableEntity> Repo<E> {
    /// Returns the same repository, whose calls treat expired entities as existing ones: reads include them,
    /// and `update` and `merge` change them.
    ///
    /// The key and the unique values of an expired entity are still free for another one.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # use time::{Duration, OffsetDateTime};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "sessions", partition = "{user}", row = "{id:05}", expires = until)]
    /// # struct Session { user: String, id: u32, until: OffsetDateTime }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let sessions = Tables::in_memory()?.repo::<Session>();
    /// # sessions.create_table().await?;
    /// let until = OffsetDateTime::now_utc() - Duration::MINUTE;
    /// sessions.insert(&Session { user: "ann".into(), id: 1, until }).await?;
    /// let ann = Session::partition("ann");
    /// assert_eq!(sessions.list(&ann).count().await?, 0);
    /// assert_eq!(sessions.including_expired().list(&ann).count().await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn including_expired(&self) -> Self {
        let mut repo = self.clone();
        repo.client.expiry.included = true;
        repo
    }
}
