//! A property in a filter, with its type.

use super::{Comparison, Filter};
use crate::codec::is_property_name;
use crate::key::IntoValue;
use crate::model::{Edm, EdmType};
use crate::property::{Ordered, Property, PropertyError, PropertyFault};
use std::cmp::Ordering;
use std::fmt;

/// A stored property of type `T`, which a filter compares with values of that type.
///
/// A field with a `default` is compared as it is read: a row that lacks the property has the default.
pub struct Column<T> {
    property: &'static str,
    /// Its former names. The value under the first that a row has counts.
    aliases: &'static [&'static str],
    /// What is read where a row lacks the property.
    default: Option<fn() -> Option<T>>,
}

impl<T> Clone for Column<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Column<T> {}

impl<T> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Column").field(&self.property).finish()
    }
}

impl<T> Column<T> {
    /// The property of that name, whether or not the entity has a field for it: such as the
    /// service's own `Timestamp`, or a property that other programs store as another type. A
    /// comparison matches only rows that store the property as `T` is stored: `i32` matches only
    /// `Edm.Int32`. A call with a name that no property can have fails with
    /// [`Error::Property`](crate::Error::Property).
    ///
    /// ```
    /// use table_orm::model::DateTime;
    /// use table_orm::query::Column;
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "runners", partition = "{race}", row = "{bib:05}")]
    /// # struct Runner { race: String, bib: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// # runners.insert(&Runner { race: "Boston".into(), bib: 7 }).await?;
    /// let written = Column::<DateTime>::new("Timestamp");
    /// let since: DateTime = "2011-11-06T00:00:00Z".parse()?;
    /// let boston = runners.list(Runner::partition("Boston"));
    /// assert_eq!(boston.filter(|_| written.ge(since)).count().await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn new(property: &'static str) -> Self {
        Self { property, aliases: &[], default: None }
    }

    /// Returns the same property, which rows may store under these names.
    #[doc(hidden)]
    #[must_use]
    pub const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Returns the same property, with the value that is read where a row lacks it.
    #[doc(hidden)]
    #[must_use]
    pub const fn or_default(self, default: fn() -> Option<T>) -> Self {
        Self { default: Some(default), ..self }
    }
}

/// A typed condition. Keeps the error of a value that no property can store, and of a name that none can have; the call
/// that uses the condition returns it.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition(Result<Filter, (String, PropertyFault)>);

/// A condition on properties of any name, if filters can express it.
impl From<Filter> for Condition {
    fn from(filter: Filter) -> Self {
        let is_no_name = |name: &&str| !is_property_name(name);
        let fault = match (filter.properties().into_iter().find(is_no_name), filter.not_finite()) {
            (Some(name), _) => Some((name, PropertyFault::Name)),
            (None, Some((name, value))) => {
                Some((name, PropertyFault::NotFinite(value.to_string())))
            }
            (None, None) => None,
        };
        let fault = fault.map(|(name, fault)| (name.to_owned(), fault));
        Self(fault.map_or(Ok(filter), Err))
    }
}

impl Condition {
    /// The filter of a query of rows of that entity.
    pub(crate) fn of(self, entity: &'static str) -> Result<Filter, PropertyError> {
        self.0.map_err(|(property, fault)| PropertyError {
            entity,
            property,
            partition_key: String::new(),
            row_key: String::new(),
            fault,
        })
    }
}

/// Whether either the comparison or its opposite holds for every stored value: neither holds for a NaN.
const fn has_complement(comparison: Comparison, value: &Edm) -> bool {
    matches!(comparison, Comparison::Equal | Comparison::NotEqual)
        || !matches!(value, Edm::Double(_))
}

impl<T: Property> Column<T> {
    fn compare(&self, comparison: Comparison, value: &T) -> Condition {
        match self.compared(comparison, value) {
            Ok(filter) => filter.into(),
            Err(fault) => Condition(Err((self.property.to_owned(), fault))),
        }
    }

    /// The comparison, which also holds for rows without the property where it holds for the default.
    fn compared(self, comparison: Comparison, value: &T) -> Result<Filter, PropertyFault> {
        let value = value.edm()?.ok_or(PropertyFault::Missing)?;
        let default = self.default.and_then(|default| default());
        let default = default.map_or(Ok(None), |default| default.edm())?;
        let stored = |comparison| self.stored(comparison, &value);
        Ok(match default {
            Some(default) if comparison.holds(default.order(&value)) => {
                if has_complement(comparison, &value) {
                    !stored(comparison.negated())
                } else {
                    stored(comparison).or(!self.present(EdmType::Double))
                }
            }
            _ => stored(comparison),
        })
    }

    /// The comparison of the value that counts: that under the first name that the row has, of the aliases in
    /// their order and then the present name.
    fn stored(self, comparison: Comparison, value: &Edm) -> Filter {
        let compare = |name, comparison| Filter::compare(name, comparison, value.clone());
        let present = compare(self.property, comparison);
        self.aliases.iter().rev().fold(present, |rest, alias| {
            // Where the comparison does not hold, its opposite does, unless the row lacks the property.
            let absent = if has_complement(comparison, value) {
                !compare(*alias, comparison.negated())
            } else {
                !Filter::is_present(*alias, EdmType::Double)
            };
            compare(*alias, comparison).or(absent.and(rest))
        })
    }

    /// The row has the property under one of its names.
    fn present(self, edm: EdmType) -> Filter {
        let present = Filter::is_present(self.property, edm);
        let aliases = self.aliases.iter();
        aliases.fold(present, |some, alias| some.or(Filter::is_present(*alias, edm)))
    }

    /// The row has the property: an `Option` that is `Some`. A default counts for nothing here.
    ///
    /// The service has no such operator, so this asks for any value of the property's type: one
    /// comparison; two for numbers with a fraction, truth values, UUIDs and bytes.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "runners", partition = "{race}", row = "{bib:05}")]
    /// # struct Runner { race: String, bib: u32, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// for (bib, city) in [(1, Some("Oslo")), (2, None)] {
    ///     let city = city.map(str::to_owned);
    ///     runners.insert(&Runner { race: "Boston".into(), bib, city }).await?;
    /// }
    /// let boston = || runners.list(Runner::partition("Boston"));
    /// assert_eq!(boston().filter(|row| row.city.is_present()).one().await?.bib, 1);
    /// assert_eq!(boston().filter(|row| row.city.is_absent()).one().await?.bib, 2);
    /// assert_eq!(boston().filter(|row| row.city.ne("Oslo")).count().await?, 0);
    /// assert_eq!(boston().filter(|row| !row.city.eq("Oslo")).one().await?.bib, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_present(self) -> Condition {
        let edm = const {
            match T::TYPE {
                Some(edm) => edm,
                None => panic!(
                    "this property type does not say how it is stored; give its `Property` a `TYPE`"
                ),
            }
        };
        Condition(Ok(self.present(edm)))
    }

    /// The row lacks the property: an `Option` that is `None`, or a property that the type had not yet
    /// when the row was written. The opposite of [`is_present`](Self::is_present), with its cost.
    /// (Cosmos DB for Table finds no row by what the row lacks.)
    pub fn is_absent(self) -> Condition {
        !self.is_present()
    }

    /// Equal, as stored: instants rounded down to 100 ns, and decimal numbers by their text, so that `1.5`
    /// does not match a stored `1.50`.
    pub fn eq(&self, value: impl IntoValue<T>) -> Condition {
        self.compare(Comparison::Equal, &value.into_value())
    }

    /// Not equal. A row that lacks the property does not match, unless the field has a default that is
    /// not equal; `!column.eq(value)` matches every row that `eq` does not.
    pub fn ne(&self, value: impl IntoValue<T>) -> Condition {
        self.compare(Comparison::NotEqual, &value.into_value())
    }

    /// Greater, in the service's order: numbers by value, `false` before `true`, instants, dates
    /// and times of day by time, UUIDs by their text, and text by its UTF-16 code units, so that
    /// `Z` comes before `a`. A `NaN` is neither greater nor less than anything.
    ///
    /// Only for [`Ordered`](crate::property::Ordered) properties: the stored form of others does
    /// not sort as their values do.
    pub fn gt(&self, value: impl IntoValue<T>) -> Condition
    where
        T: Orders,
    {
        self.compare(Comparison::Greater, &value.into_value())
    }

    /// Greater or equal, in the order of [`gt`](Self::gt).
    pub fn ge(&self, value: impl IntoValue<T>) -> Condition
    where
        T: Orders,
    {
        self.compare(Comparison::GreaterOrEqual, &value.into_value())
    }

    /// Less, in the order of [`gt`](Self::gt).
    pub fn lt(&self, value: impl IntoValue<T>) -> Condition
    where
        T: Orders,
    {
        self.compare(Comparison::Less, &value.into_value())
    }

    /// Less or equal, in the order of [`gt`](Self::gt).
    pub fn le(&self, value: impl IntoValue<T>) -> Condition
    where
        T: Orders,
    {
        self.compare(Comparison::LessOrEqual, &value.into_value())
    }
}

impl<T> Column<T> {
    /// Does not compile: a row has the property or not.
    #[doc(hidden)]
    #[must_use]
    pub fn is_none(&self) -> Condition
    where
        Self: ComparesAbsence,
    {
        self.never()
    }

    /// Does not compile: a row has the property or not.
    #[doc(hidden)]
    #[must_use]
    pub fn is_some(&self) -> Condition
    where
        Self: ComparesAbsence,
    {
        self.never()
    }
}

/// No column has it.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a filter has no `is_none` and `is_some`: use `is_absent` and `is_present`",
    label = "write `.is_absent()` or `.is_present()`",
    note = "a field that is `None` is not stored, so the filter asks for rows without the property, and \
            reads every row of its range; an index row with `when` finds them by key"
)]
pub trait ComparesAbsence {
    fn never(&self) -> Condition;
}

/// Whether anything can compare a column with `==`. Nothing can, which the compiler finds out only when
/// `T` is known: it evaluates what does not depend on a type even where nothing calls it.
const fn is_comparable<T>() -> bool {
    size_of::<T>() > isize::MAX.unsigned_abs()
}

/// Lets `==` compile only as far as the filter, whose message says what to write.
#[doc(hidden)]
impl<T, V: ?Sized> PartialEq<V> for Column<T> {
    fn eq(&self, _: &V) -> bool {
        const {
            assert!(is_comparable::<T>(), "a column compares by methods, such as `.eq(..)`");
        }
        false
    }
}

#[doc(hidden)]
impl<T, V: ?Sized> PartialOrd<V> for Column<T> {
    fn partial_cmp(&self, _: &V) -> Option<Ordering> {
        const {
            assert!(is_comparable::<T>(), "a column compares by methods, such as `.ge(..)`");
        }
        None
    }
}

/// What a filter's function returns: a [`Condition`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition of a filter",
    label = "not a condition",
    note = "the store evaluates a filter, so a column compares by methods: `row.city.eq(\"Boston\")` \
            for `==`, and `ne`, `gt`, `ge`, `lt` or `le` for the other signs",
    note = "join conditions with `.and(..)` for `&&` and `.or(..)` for `||`; `!` negates one"
)]
pub trait IntoCondition {
    /// The condition.
    fn into_condition(self) -> Condition;
}

impl IntoCondition for Condition {
    fn into_condition(self) -> Condition {
        self
    }
}

/// [`Ordered`], with an error message that does not list every such type.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not stored in the order of its values, so a filter cannot compare it \
               with `gt`, `ge`, `lt` or `le`",
    label = "equality only",
    note = "filter by `eq` or `ne`, or compare the entities after reading them; an enum is ordered \
            if its codes ascend in the order of its variants, and a type of your own if it \
            implements `Ordered`"
)]
pub trait Orders {}

#[diagnostic::do_not_recommend]
impl<T: Ordered> Orders for T {}

impl Condition {
    /// Both conditions hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.both(other, Filter::and)
    }

    /// At least one condition holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.both(other, Filter::or)
    }

    fn both(self, other: Self, join: impl FnOnce(Filter, Filter) -> Filter) -> Self {
        Self(self.0.and_then(|left| other.0.map(|right| join(left, right))))
    }
}

/// The condition does not hold: either it is false, or the row lacks what it compares.
impl std::ops::Not for Condition {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0.map(|filter| !filter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_property_can_have_is_an_error() {
        for name in ["", "a b", "V eq 1 or V", "1a", "V)"] {
            let one = Column::<i32>::new(name);
            let other = Column::<i32>::new("Other");
            for condition in [one.eq(1), !one.lt(1), other.eq(2).or(one.eq(1))] {
                let error = condition.of("Runner").unwrap_err();
                assert_eq!((&*error.property, &error.fault), (name, &PropertyFault::Name));
                let text = error.to_string();
                assert!(
                    text.starts_with(&format!("property `{name}` of `Runner` has a name")),
                    "{text}"
                );
            }
        }
        for name in ["V", "_v", "Timestamp", "RowKey", "Ä1"] {
            assert!(Column::<i32>::new(name).eq(1).of("Runner").is_ok(), "{name}");
        }
    }
}
