//! Types with a table for each period.

use super::Tables;
use crate::entity::{Bucketed, has_one_form};
use crate::error::Result;
use crate::model::TableName;
use crate::periods::Periods;

impl Tables {
    /// Returns the tables of entity type `E`, which has one for each period:
    /// `#[table(name = "readings", bucket(month, at))]`.
    ///
    /// ```
    /// use table_orm::{TableEntity, Tables};
    /// use time::OffsetDateTime;
    ///
    /// #[derive(Debug, TableEntity)]
    /// #[table(name = "readings", partition = "{sensor}", row = "{at}", bucket(month, at))]
    /// struct Reading { sensor: String, at: OffsetDateTime }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let readings = Tables::in_memory()?.periods::<Reading>();
    /// let at = OffsetDateTime::UNIX_EPOCH;
    /// readings.insert(&Reading { sensor: "roof".into(), at }).await?; // table `readings197001`
    /// assert_eq!(readings.at(at).table().as_str(), "readings197001");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Such a type has no single table, so [`repo`](Self::repo), [`transaction`](Self::transaction) and
    /// [`union`](Self::union) do not compile for it:
    ///
    /// ```compile_fail,E0080
    /// # use table_orm::{TableEntity, Tables};
    /// # use time::OffsetDateTime;
    /// # #[derive(Debug, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{at}", bucket(month, at))]
    /// # struct Reading { sensor: String, at: OffsetDateTime }
    /// # fn main() -> table_orm::Result<()> {
    /// let readings = Tables::in_memory()?.repo::<Reading>();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn periods<E: Bucketed>(&self) -> Periods<E> {
        const { has_one_form::<E>() };
        Periods::new(&self.connection, TableName::checked(E::TABLE))
    }

    /// Returns the same tables with names that begin in another way than the derive says: `base`, then the digits
    /// of a period.
    ///
    /// # Errors
    /// [`Error::TableName`](crate::Error::TableName) when `base` ends with a digit, or is too long for the digits
    /// of a period after it.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # use time::OffsetDateTime;
    /// # #[derive(Debug, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{at}", bucket(month, at))]
    /// # struct Reading { sensor: String, at: OffsetDateTime }
    /// # fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// let test = tables.periods_in::<Reading>("testreadings".parse()?)?;
    /// let epoch = OffsetDateTime::UNIX_EPOCH;
    /// assert_eq!(test.at(epoch).table().as_str(), "testreadings197001");
    /// assert!(tables.periods_in::<Reading>("readings2".parse()?).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn periods_in<E: Bucketed>(&self, base: TableName) -> Result<Periods<E>> {
        const { has_one_form::<E>() };
        let bucket = Periods::<E>::BUCKETING.bucket();
        Ok(Periods::new(&self.connection, base.checked_base(bucket.digits())?))
    }
}
