//! Sums over entities: what is added up, the totals of a partition, and their copies for the sum over all partitions.

mod copy;
mod declaration;
mod schema;
mod summed_type;
mod total;

pub(crate) use copy::{
    COPIES, changed_copies, copied_total, copies_partition, copy_of_total, has_sum_copies,
    is_canonical_or_total,
};
pub use declaration::{Sum, check_names, sum_names};
pub use schema::{Counts, SumSchema};
pub(crate) use summed_type::{Contributions, SummedType, differences};
pub(crate) use total::{TOTAL, Total, TotalRow, is_total};
