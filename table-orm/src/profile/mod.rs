//! What a table stores: one scan that counts partitions, sizes, kinds of rows and properties, and says what
//! stands out.
//!
//! [`Repo::profile`](crate::Repo::profile) knows the rows of its type: entities, index rows, guards, rows that
//! help writes. [`Table::profile`](crate::repo::Table::profile) names rows by how their RowKeys begin.
//!
//! ```
//! use table_orm::profile::AdviceKind;
//! use table_orm::{ScanPermit, TableEntity, Tables};
//!
//! #[derive(TableEntity)]
//! #[table(name = "results", partition = "{race}", row = "{bib:05}")]
//! struct Finisher { race: String, bib: u32, country: String }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> table_orm::Result<()> {
//!     let results = Tables::in_memory()?.repo::<Finisher>();
//!     results.create_table().await?;
//!     let finisher = |bib| Finisher { race: "Boston".into(), bib, country: "USA".into() };
//!     results.insert_many((1..=1200).map(finisher)).await.all()?;
//!
//!     let profile = results.profile(ScanPermit::because("a look at the keys")).await?;
//!     assert_eq!((profile.rows, profile.partitions.count), (1200, 1));
//!     assert_eq!(profile.property("Country").unwrap().constant.as_deref(), Some("'USA'"));
//!     assert!(profile.advice.iter().any(|advice| advice.kind == AdviceKind::SinglePartition));
//!     println!("{profile}");
//!     Ok(())
//! }
//! ```
//!
//! Memory does not grow with the table: the scan needs its [buffer](crate::scan::Scan::buffer) for the rows that it
//! reads ahead, 64 MiB by default, and the counters need some 2 MiB. The guide's chapter
//! [What a table stores](crate::guide::run::profile) explains each number and the rules behind the advice. All
//! numbers are exact, with three exceptions:
//!
//! | Number | Error |
//! |---|---|
//! | [`Percentiles`]: `p50` to `p999` | at most 1 %, or at most 1 |
//! | [`Distinct`] | exact up to 100 values, then "more than 100"; of components of keys, then within 5 % |
//! | [`WriteOrder::correlation`] | of a sample of up to 2,000 partitions: about 0.05 in 95 of 100 tables |

mod advice;
mod builder;
mod components;
mod distinct;
mod kinds;
mod known_type;
mod partitions;
mod properties;
mod report;
mod rules;
mod sizes;
mod tally;
#[cfg(test)]
mod tests;
mod text;
mod write_order;

pub use crate::figures::Percentiles;
pub use advice::{Advice, AdviceKind};
pub use builder::{MAX_TOP, Profile, ProfileProgress};
pub use report::{
    ComponentProfile, Distinct, KindProfile, PartitionProfile, PartitionSize, ProfileReport,
    PropertyProfile, RowRole, SizeBucket, SizeProfile, WriteOrder,
};

pub(crate) use known_type::{KnownProperty, KnownRow, KnownType, RowPlace};
