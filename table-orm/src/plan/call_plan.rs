//! The requests of a call, in order.

use super::step::Step;
use crate::query::QueryClass;
use crate::store::Operation;

/// The requests of one call, in order.
///
/// `Display` lists them with their query class, keys, filter and operations, for a log or a test.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
/// # struct Invoice { customer: String, number: u32, cents: u32, paid: bool }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let invoices = Tables::in_memory()?.repo::<Invoice>();
/// # invoices.create_table().await?;
/// let acme = invoices.list(Invoice::partition("acme").row().number_in(10..));
/// let plan = acme.filter(|row| row.paid.eq(false)).plan()?;
/// println!("{plan}");
/// let text = plan.to_string();
/// assert!(text.starts_with("row range query on `invoices`"));
/// assert!(text.contains("RowKey ge '00010'") && text.contains("Paid eq false"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// The requests.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Returns the writes that the call is sure to send, in order. Leaves out writes that depend on a read.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// let track = |number| Track { album: "Blue".into(), number, title: "-".into() };
    /// let blue = tracks.transaction(Track::partition("Blue")).insert(&track(1)).insert(&track(2));
    /// let plan = blue.plan()?;
    /// let keys: Vec<_> = plan.operations().map(|operation| operation.row_key.as_str()).collect();
    /// assert_eq!(keys, ["01", "02"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.steps.iter().flat_map(|step| match step {
            Step::Write { operation, .. } => std::slice::from_ref(operation),
            Step::Commit { batch, .. } => &batch.operations,
            _ => &[],
        })
    }

    /// Returns the costliest query class among the reads; `None` when the call only writes.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// use table_orm::query::QueryClass;
    /// let blue = Track::partition("Blue");
    /// let point = tracks.get(blue.row().number(1)).plan()?;
    /// assert_eq!(point.class(), Some(QueryClass::Point));
    /// let some = tracks.list(blue.row().number_in(..5)).plan()?;
    /// assert_eq!(some.class(), Some(QueryClass::RowRange));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn class(&self) -> Option<QueryClass> {
        self.steps
            .iter()
            .filter_map(|step| match step {
                Step::Read { query, .. } => Some(query.keys.class()),
                Step::ReadCanonical { .. } => Some(QueryClass::Point),
                _ => None,
            })
            .max()
    }
}

impl From<Option<Step>> for Plan {
    fn from(step: Option<Step>) -> Self {
        Self { steps: step.into_iter().collect() }
    }
}

impl From<Step> for Plan {
    fn from(step: Step) -> Self {
        Some(step).into()
    }
}

impl FromIterator<Self> for Plan {
    /// Joins the requests of several calls.
    fn from_iter<I: IntoIterator<Item = Self>>(plans: I) -> Self {
        Self { steps: plans.into_iter().flat_map(|plan| plan.steps).collect() }
    }
}
