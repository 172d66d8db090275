//! Sums over the entities of a partition: what each entity adds.
//!
//! Invariant: what an entity adds follows from its canonical row alone, so that every writer computes the
//! same from what is stored.

use super::total::{START, Total};
use crate::model::is_same;
use std::fmt;

/// The most rows of one total: their numbers have two digits.
const MAX_SHARDS: u8 = 100;

/// A sum or count over the entities of a partition, which every write of an entity keeps exact.
///
/// Name it in `#[table(sums = ..)]`. The total is in the row `SUM:<name>:00` of the partition; the
/// transaction that writes an entity also replaces that row. So the total is exact at any time.
///
/// All sums of a table need different names: two of one name share a total. Two of one type do not compile. A
/// call's `plan()` names what is read for totals, and shows the transaction with the rows of the entity alone.
///
/// ```
/// use table_orm::{Sum, TableEntity, Tables};
///
/// #[derive(Debug, Clone, PartialEq, TableEntity)]
/// #[table(name = "orders", partition = "{customer}", row = "{number:05}", sums = Order::SUMS)]
/// struct Order { customer: String, number: u32, cents: i64 }
///
/// impl Order {
///     const COUNT: Sum<Self> = Sum::count("orders");
///     const CENTS: Sum<Self> = Sum::of("cents", |order| order.cents);
///     const SUMS: &'static [Sum<Self>] = &[Self::COUNT, Self::CENTS];
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// let orders = Tables::in_memory()?.repo::<Order>();
/// orders.create_table().await?;
/// for (number, cents) in [(1, 900), (2, 150)] {
///     orders.insert(&Order { customer: "acme".into(), number, cents }).await?;
/// }
/// let acme = Order::partition("acme");
/// assert_eq!(orders.sum(&acme, &Order::CENTS).await?, 1050);
/// assert_eq!(orders.sum(&acme, &Order::COUNT).await?, 2);
/// # Ok(())
/// # }
/// ```
pub struct Sum<E> {
    name: &'static str,
    shards: u8,
    over_partitions: bool,
    adds: Adds<E>,
}

/// What an entity adds.
pub(super) enum Adds<E> {
    One,
    Value(fn(&E) -> i64),
    InGroup(fn(&E) -> (String, i64)),
}

impl<E> Clone for Sum<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Sum<E> {}

impl<E> Clone for Adds<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Adds<E> {}

impl<E> fmt::Debug for Sum<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, shards, over_partitions, .. } = self;
        f.debug_struct("Sum")
            .field("name", name)
            .field("shards", shards)
            .field("over_partitions", over_partitions)
            .finish_non_exhaustive()
    }
}

/// Does not compile where two sums of a type have one name.
#[track_caller]
pub const fn check_names<E>(sums: &[Sum<E>]) {
    let mut at = 0;
    while at < sums.len() {
        let mut other = at + 1;
        while other < sums.len() {
            assert!(
                !is_same(sums[at].name, sums[other].name),
                "two sums of one name would share a total: give each a name of its own"
            );
            other += 1;
        }
        at += 1;
    }
}

/// The names of a type's sums, whose number is `N`.
#[must_use]
pub const fn sum_names<E, const N: usize>(sums: &[Sum<E>]) -> [&'static str; N] {
    let (mut names, mut at) = ([""; N], 0);
    while at < N {
        names[at] = sums[at].name;
        at += 1;
    }
    names
}

impl<E> Sum<E> {
    /// Counts entities.
    ///
    /// The name becomes part of a RowKey. Does not compile with a name that is empty, or has other
    /// characters than letters, digits, `_` and `-`.
    #[must_use]
    pub const fn count(name: &'static str) -> Self {
        Self::new(name, Adds::One)
    }

    /// Adds up a number of each entity; 0 for those that do not count.
    ///
    /// Before a further step, the function does not know its type: write
    /// `Sum::<Self>::of("cents", |order| order.cents).shards(16)`.
    #[must_use]
    pub const fn of(name: &'static str, value: fn(&E) -> i64) -> Self {
        Self::new(name, Adds::Value(value))
    }

    /// Adds up a number of each entity by group: one total for each text, such as a state or a day.
    ///
    /// Read the totals with [`Repo::sum_by_group`](crate::Repo::sum_by_group). The text becomes part of a
    /// RowKey: it cannot have `/`, `\`, `#`, `?` or control characters. An enum with `#[derive(KeyPart)]` has such a
    /// text: [`code()`](crate::key::Coded::code).
    #[must_use]
    pub const fn by_group(name: &'static str, value: fn(&E) -> (String, i64)) -> Self {
        Self::new(name, Adds::InGroup(value))
    }

    /// Spreads each total over that many rows, 1 to 100. A write changes one of them, at random; a read adds them up.
    ///
    /// With one row, the writes of a partition's entities wait for each other. With `n` rows and `c` writes at
    /// once, a share of about `c / n` of them is repeated: use four times as many rows as there are writes at
    /// the same time. You may raise the number at any time.
    #[must_use]
    pub const fn shards(mut self, shards: u8) -> Self {
        assert!(shards >= 1 && shards <= MAX_SHARDS, "a sum has 1 to 100 shards");
        self.shards = shards;
        self
    }

    /// Copies the totals of all partitions into the partition `SUM:<name>`, where
    /// [`Repo::sum_over_partitions`](crate::Repo::sum_over_partitions) adds them up.
    ///
    /// The copies are `eventual` rows: they follow a write at once, or when
    /// [`Repo::settle`](crate::Repo::settle) runs. Then every write of the type's entities reads first, and
    /// one that changes a total takes 4 more requests.
    ///
    /// ```
    /// use table_orm::{Sum, TableEntity, Tables};
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "orders", partition = "{customer}", row = "{number:05}", sums = Order::SUMS)]
    /// struct Order { customer: String, number: u32, cents: i64 }
    ///
    /// impl Order {
    ///     const CENTS: Sum<Self> = Sum::of("cents", |order: &Self| order.cents).over_partitions();
    ///     const SUMS: &'static [Sum<Self>] = &[Self::CENTS];
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let orders = Tables::in_memory()?.repo::<Order>();
    /// orders.create_table().await?;
    /// for (customer, cents) in [("acme", 900), ("bolt", 150)] {
    ///     orders.insert(&Order { customer: customer.into(), number: 1, cents }).await?;
    /// }
    /// assert_eq!(orders.sum_over_partitions(&Order::CENTS).await?, 1050);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn over_partitions(mut self) -> Self {
        self.over_partitions = true;
        self
    }

    const fn new(name: &'static str, adds: Adds<E>) -> Self {
        assert!(is_name(name), "the name of a sum has letters, digits, `_` and `-` only");
        Self { name, shards: 1, over_partitions: false, adds }
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) const fn adds(&self) -> &Adds<E> {
        &self.adds
    }

    pub(crate) const fn rows_of_a_total(&self) -> u8 {
        self.shards
    }

    /// Whether its totals have copies.
    pub(crate) const fn is_over_partitions(&self) -> bool {
        self.over_partitions
    }

    /// Whether it has a total for each group.
    pub(crate) const fn is_in_groups(&self) -> bool {
        matches!(self.adds, Adds::InGroup(_))
    }

    /// Its total, unless each group has one.
    pub(crate) const fn only_total(&self) -> Option<Total> {
        let &Self { name, shards, .. } = self;
        if self.is_in_groups() { None } else { Some(Total { name, group: None, shards }) }
    }

    /// What the RowKeys of its totals begin with.
    pub(crate) fn start(&self) -> String {
        format!("{START}{}:", self.name)
    }

    /// The total that a RowKey with this start belongs to.
    pub(crate) fn total_of(&self, row_key: &str) -> Option<Total> {
        let rest = row_key.strip_prefix(START)?.strip_prefix(self.name)?.strip_prefix(':')?;
        let group = match self.adds {
            Adds::InGroup(_) => Some(rest.rsplit_once(':')?.0.to_owned()),
            _ => None,
        };
        Some(Total { name: self.name, group, shards: self.shards })
    }

    /// Which of the rows of its total has that RowKey.
    pub(crate) fn shard_of(&self, row_key: &str) -> Option<(Total, u8)> {
        let (total, digits) = (self.total_of(row_key)?, row_key.rsplit_once(':')?.1);
        let shard = digits.parse().ok()?;
        // Only as it is written.
        (total.row_key(shard).ok()? == row_key).then_some((total, shard))
    }

    /// What an entity adds, and to which total.
    pub(crate) fn contribution(&self, entity: &E) -> (Total, i64) {
        let (group, value) = match self.adds {
            Adds::One => (None, 1),
            Adds::Value(value) => (None, value(entity)),
            Adds::InGroup(value) => {
                let (group, value) = value(entity);
                (Some(group), value)
            }
        };
        (Total { name: self.name, group, shards: self.shards }, value)
    }
}

const fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !(bytes[at].is_ascii_alphanumeric() || matches!(bytes[at], b'_' | b'-')) {
            return false;
        }
        at += 1;
    }
    !bytes.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Order {
        state: &'static str,
        cents: i64,
    }

    const CENTS: Sum<Order> = Sum::of("cents", |order: &Order| order.cents).shards(16);
    const BY_STATE: Sum<Order> = Sum::by_group("state", |order| (order.state.to_owned(), 1));

    #[test]
    fn the_rows_of_a_total_are_read_back_as_its_rows() {
        for state in ["", "open", "a:b", "00"] {
            let (total, value) = BY_STATE.contribution(&Order { state, cents: 5 });
            assert_eq!(value, 1);
            let row_key = total.row_key(7).unwrap();
            assert_eq!(row_key, format!("SUM:state:{state}:07"));
            assert_eq!(BY_STATE.total_of(&row_key), Some(total));
        }
        let (total, value) = CENTS.contribution(&Order { state: "", cents: -5 });
        assert_eq!((value, &*total.row_key(0).unwrap()), (-5, "SUM:cents:00"));
        assert_eq!(CENTS.total_of("SUM:cents:15"), Some(total));
        assert_eq!(CENTS.total_of("SUM:centsx:15"), None);
    }

    #[test]
    fn a_group_that_no_key_can_hold_is_an_error() {
        let (total, _) = BY_STATE.contribution(&Order { state: "a/b", cents: 5 });
        assert_eq!(total.row_key(0).unwrap_err().component, "state");
    }

    #[test]
    fn names_are_text_that_every_key_can_hold() {
        assert!(is_name("a-B_9"));
        for wrong in ["", "a:b", "a/b", "ä", "a b"] {
            assert!(!is_name(wrong), "{wrong}");
        }
    }
}
