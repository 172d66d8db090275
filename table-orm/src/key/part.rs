//! The contract of a key component.

use super::encoders::Plain;
use super::{KeyError, KeyFault, KeyText, Shape, Width};

/// A type that can be part of a key, written by encoder `X`.
///
/// Implemented for unsigned and signed integers, text, `bool`, `char`, UUIDs, dates and times;
/// `#[derive(KeyPart)]` implements it for enums with codes and for newtypes.
///
/// Implement it for a type of your own to write keys in another form, such as that of another
/// program. Different values must have different texts, and [`decode`](Self::decode) must read what
/// [`encode`](Self::encode) writes and refuse all other text. (Exceptions are instants and times of
/// day, which are rounded down to the service's ticks of 100 ns, and encoders that lose the value: they read
/// their text as another value.)
/// Implement [`Sorted`] too if the text sorts as the values do, and
/// [`Property`](crate::property::Property) for fields that are not `key_only`.
///
/// ```
/// use table_orm::key::{KeyFault, KeyPart, KeyText, Width};
/// use table_orm::TableEntity;
/// use table_orm::entity::EntityRows;
/// use uuid::Uuid;
///
/// /// A GUID in capitals and without dashes.
/// #[derive(Debug, PartialEq)]
/// struct Capitals(Uuid);
///
/// impl KeyPart for Capitals {
///     const WIDTH: Width = Width::Fixed(32);
///
///     fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
///         key.push_text(&format!("{:X}", self.0.simple()))
///     }
///
///     fn decode(text: &str) -> Result<Self, KeyFault> {
///         let canonical = text.len() == 32 && !text.bytes().any(|byte| byte.is_ascii_lowercase());
///         let id = Uuid::parse_str(text).ok().filter(|_| canonical);
///         id.map(Self).ok_or(KeyFault::Malformed)
///     }
/// }
///
/// #[derive(TableEntity)]
/// #[table(name = "customers", partition = "{tenant}", row = "CUST|{id}")]
/// struct Customer {
///     tenant: String,
///     #[table(key_only)]
///     id: Capitals,
/// }
///
/// let ann = Customer { tenant: "acme".into(), id: Capitals(Uuid::from_u128(0xA1)) };
/// assert_eq!(EntityRows::of(&ann)?.rows[0].row_key, "CUST|000000000000000000000000000000A1");
/// assert_eq!(Capitals::decode("000000000000000000000000000000a1"), Err(KeyFault::Malformed));
/// # Ok::<(), table_orm::InvalidEntity>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a key as `{X}`",
    label = "no `{X}` key text for this type",
    note = "unsigned integers are `{{f}}` or `{{f:0N}}`; signed ones need `#[component(x = \
            biased(f))]`; enums and newtypes need `#[derive(KeyPart)]`; floats and bytes have no \
            key text",
    note = "a type of the crate `chrono` 0.4, `jiff` 0.2 or `ulid` 3 needs the feature of `table-orm` \
            with that crate's name"
)]
pub trait KeyPart<X = Plain>: Sized {
    /// How long the text is.
    const WIDTH: Width;
    /// Whether larger values come first.
    const REVERSED: bool = false;
    /// Whether no value's text is a prefix of another's.
    const PREFIX_FREE: bool = Self::WIDTH.is_fixed();
    /// Whether new values come after all others, or before them, as a clock's and a counter's do. A PartitionKey
    /// that starts with such a component does not compile without `#[table(allow_append_only)]`: one
    /// partition server would get all writes.
    const GROWS: bool = false;
    /// What text it can have. A stored row is one of the entity's rows only if each component of
    /// its key has such text.
    ///
    /// By default, what [`decode`](Self::decode) reads. The compiler cannot ask that, so two types
    /// whose keys only `decode` can distinguish do not share a table without a `kind`.
    const SHAPE: Shape = Shape::of::<X, Self>();

    /// Appends the text of this value.
    ///
    /// # Errors
    /// When a key cannot hold the value: [`KeyFault`].
    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault>;

    /// Reads the text back.
    ///
    /// # Errors
    /// When no value has that text: [`KeyFault::Malformed`].
    fn decode(text: &str) -> Result<Self, KeyFault>;
}

impl Shape {
    /// The shape of a type that states none: text that it [decodes](KeyPart::decode).
    #[must_use]
    pub const fn of<X, T: KeyPart<X>>() -> Self {
        Self::Own(T::WIDTH, |text| T::decode(text).is_ok())
    }
}

impl KeyText {
    /// Appends a component's value. `until` is the literal after it, or empty.
    ///
    /// # Errors
    /// When a key cannot hold the value there. The key is unusable then.
    pub fn part<X, T: KeyPart<X>>(
        &mut self,
        component: &'static str,
        value: &T,
        until: &'static str,
    ) -> Result<(), KeyError> {
        let until = if T::WIDTH.is_fixed() { "" } else { until };
        self.component(component, until, |key| value.encode(key))
    }
}

/// A component whose text sorts as its values do, anywhere in the key. No value's text may be a
/// prefix of another's: a type with texts of several lengths must set
/// [`PREFIX_FREE`](KeyPart::PREFIX_FREE), or ranges of it miss rows.
#[diagnostic::on_unimplemented(
    message = "`{Self}` written as `{X}` does not sort, so a query cannot ask for a range of it \
               here",
    label = "equality only",
    note = "an unsigned integer sorts with a width: `{{f:0N}}`; a signed one as `biased(f)`; text \
            only as the last component of its key"
)]
pub trait Sorted<X = Plain>: SortedLast<X> {}

/// A component whose text sorts as its values do when it is the last of its key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` written as `{X}` does not sort, so a query cannot ask for a range of it",
    label = "equality only",
    note = "an unsigned integer sorts with a width: `{{f:0N}}`; a signed one as `biased(f)`"
)]
pub trait SortedLast<X = Plain>: KeyPart<X> {}

/// A component of which no value's text is a prefix of another's, so that the keys which continue a key
/// that ends with it are keys below that one.
///
/// Implement it for a type of your own that sets [`PREFIX_FREE`](KeyPart::PREFIX_FREE), or has a fixed
/// width.
#[diagnostic::on_unimplemented(
    message = "`{Self}` written as `{X}` does not show where it ends, so keys of other rows can start \
               as this key does",
    label = "no row lies below this one",
    note = "`and_below` needs a key that ends with a component of fixed width, such as `{{f:0N}}` or \
            an enum, or with a literal"
)]
pub trait PrefixFree<X = Plain>: KeyPart<X> {}

/// A text component, which a query can ask for a prefix.
#[diagnostic::on_unimplemented(
    message = "`{Self}` written as `{X}` is not text, so it has no `starts_with`",
    label = "not text"
)]
pub trait TextPart<X = Plain>: KeyPart<X> {
    /// The prefix of the stored text of values that start with `prefix`.
    fn prefix(prefix: &str) -> String;
}
