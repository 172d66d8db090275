//! The derive macros of `table-orm`. Apps use them through that crate, which documents them.
//!
//! The way of a struct: `ast` holds what the user wrote, read by `attr` and `template`; `model`
//! resolves the placeholders of its key templates; `check` holds every rule over the whole;
//! `expand` writes code. After a mistake, `fallback` writes code that lets the rest of the app
//! compile, so that the mistake is the only error.

#[cfg(test)]
mod agreement;
mod ast;
mod attr;
mod case;
mod check;
mod errors;
mod expand;
mod fallback;
mod kind;
mod model;
mod nearest;
mod symbol;
mod template;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `TableEntity`: a struct stored as one or more rows of a table.
///
/// ```text
/// #[derive(TableEntity)]
/// #[table(name = "registrations", partition = "{event}__{distance}", unique(bib))]
/// #[row(by_bib, key = "BIB:{bib:05}__{name}__{sex}__{age}")]
/// #[row(by_age, key = "AGE:{age:03}__{bib}__{name}__{sex}")]
/// #[row(by_time, key = "NEW:{newest}__{bib:05}", include(name))]
/// #[component(newest = desc(registered_at))]
/// pub struct Registration { .. }
/// ```
///
/// generates `Registration::partition(event, distance)`, which gives a `RegistrationPartition` with
/// a method for each row: `by_bib()` gives a `RegistrationByBib`, to which components are given from
/// left to right: `.bib(1234)`, then `.name("John")`, and so on; the last may be a range
/// (`.bib_in(1000..2000)`) or what text starts with (`.name_starts_with("Jo")`). A key given whole
/// is a point query, one given in part a row range query, the partition by itself a partition query.
/// Each of these shows its template, a sample of the stored key and its cost where it is hovered.
///
/// # Generated types
///
/// They have the entity's visibility and stand beside it. Two that would have one name are an error.
///
/// | Type | Is |
/// |---|---|
/// | `RegistrationPartition` | one partition, with a method for each row |
/// | `RegistrationByBib<S>` | a key of row `by_bib`; `RegistrationRow<S>` for `table(row = "..")` |
/// | `RegistrationColumns` | the properties that a filter of full rows can name |
/// | `RegistrationByTimeColumns` | those of the partial row `by_time` |
/// | `RegistrationPatch` | for `Repo::merge`: a setter for each field of one property that no key is made of, and for one slot of a series that is an array, `.splits_at(3, ..)`. A flattened group, a whole series and a `Vec` have none: `Repo::update` changes those. Not generated without any setter |
/// | `RegistrationComponents` | a hidden module with a type for each component, for the states below |
///
/// Setters are called as their fields: for a field called `default`, a patch starts from
/// `<RegistrationPatch as Default>::default()`.
///
/// What the struct allows by `#[allow(..)]` or `#[expect(..)]` is allowed of these types too.
///
/// The state `S` of a key shows in error messages: `Needs<name>` is a key of which `name` comes next,
/// `Open<name>` the same of a row that starts with no literal (its query is the whole partition),
/// `Complete` a key given whole.
///
/// # On the struct
///
/// | Attribute | Meaning |
/// |---|---|
/// | `table(name = "..")` | the table |
/// | `table(partition = "..")` | template of the PartitionKey |
/// | `table(row = "..")` | template of the RowKey, for an entity of one row |
/// | `table(unique(a, b))` | no two entities of a partition have the same values: a guard row under `UNQ:a_b:{a}__{b}`. For entities stored before, once `Repo::backfill` has written it |
/// | `table(unique(a, key = ".."))` | the same, under another RowKey |
/// | `table(escape = encode)` | text that keys cannot hold is escaped; `escape = reject`, the default, refuses it |
/// | `table(rename_all = "..")` | case of property names: `PascalCase` (the default), `camelCase`, `snake_case`, `SCREAMING_SNAKE_CASE`, `lowercase` or `UPPERCASE` |
/// | `table(allow_append_only)` | lets the PartitionKey start with a clock or a counter |
/// | `table(crate = path)` | where `table_orm` is, when renamed |
/// | `row(name, key = "..")` | a row, with the template of its RowKey; the first one is canonical |
/// | `row(.., include(a, b))` | stores those fields alone; `include()` none: a projection reads what the keys tell |
/// | `row(.., exclude(a, b))` | stores all other fields |
/// | `row(.., when = path)` | is there when `fn(&Entity) -> bool` says so, which may read stored fields only |
/// | `row(.., canonical)` | is the row whose ETag guards the entity |
/// | `component(x = desc(f))` | largest or newest first; `{x}` or `{x:0N}` |
/// | `component(x = asc(f))` | smallest or oldest first, in full width; `{x}` or `{x:0N}` |
/// | `component(x = biased(f))` | a signed integer that sorts |
/// | `component(x = lower(f))` | text in lower case |
/// | `component(x = shard(f, N))` | the number of one of N partitions over which values of `f` spread |
/// | `component(x = with(path))` | what `fn(&Entity) -> String` computes, which may read stored fields only |
///
/// Where a PartitionKey has a shard, `Registration::partition(..)` takes the field's value and finds
/// its shard, and `Registration::partitions(..)` takes none and gives all of them, to be read by
/// `Repo::list_many`.
///
/// `component` takes several, with commas between, and may stand several times.
///
/// A template is a format string of fields and components. `{f:05}` writes an unsigned integer in
/// exactly five digits, and so sorts; `{f}` does not, and is asked for by equality alone. Text sorts
/// only at the end of a key. Between two components stands a literal, unless the first is of fixed
/// width. Where an entity has several rows, each starts with a literal of its own. A row with a
/// component of type `Option<T>` is there when it has a value.
///
/// # On fields: `#[table(..)]`
///
/// | Attribute | Meaning |
/// |---|---|
/// | `rename = ".."` | the property's name |
/// | `skip` | is not stored, and read as `Default` |
/// | `default`, `default = path` | what stands for a property that the row lacks. With a path on no `Option` that stands in a key, whose `None` would read back as a value |
/// | `json` | any serde type, as JSON text in one property; a NaN or an infinity in it is refused |
/// | `series` | `[Option<T>; N]` or `Vec<T>`, as numbered properties |
/// | `flatten` | a struct with `#[derive(Properties)]`, or a `BTreeMap<String, Edm>` of all that no other field declares; may be in an `Option` |
/// | `key_only` | is stored in the keys alone, and read back from them. Rows of other programs mostly want it: they lack a property for what their keys tell (guide: "Adopting an existing table") |
/// | `max_len = N` | refuses longer text, in UTF-16 units; bounds the keys it stands in |
/// | `max = N` | refuses larger numbers |
/// | `etag` | the entity's version when it was read or saved: `Option<ETag>`; `None` from an index row |
/// | `timestamp` | when the row was last written, as it was read: `Option<DateTime>` or another instant; `None` after a write, of which the service does not tell it. No property: a filter compares it as `Column::<DateTime>::new("Timestamp")` |
///
/// A flattened struct's properties keep their own names. There is no prefix for them: where two
/// groups of one type are wanted in one row, give the second a type of its own with
/// `rename_all` or `rename`, or store it as `json`.
#[proc_macro_derive(TableEntity, attributes(table, row, component))]
pub fn table_entity(input: TokenStream) -> TokenStream {
    expand::entity(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `KeyPart` and `Property`, for an enum whose variants have codes or for a newtype.
///
/// A variant's code is `#[key("M")]`, or its name. Codes differ, hold no character that keys cannot,
/// and are of one length, or none is the start of another. Where they ascend in the order of the
/// variants, ranges of variants can be asked for.
///
/// A struct of one field is stored as that field is, and sorts as it does.
///
/// Keys in another form, and enums stored as numbers, are written by hand: the trait `KeyPart` and
/// the guide's chapter "Adopting an existing table" have an example of each.
///
/// `#[key(crate = path)]` on the type says where `table_orm` is, when renamed.
#[proc_macro_derive(KeyPart, attributes(key))]
pub fn key_part(input: TokenStream) -> TokenStream {
    expand::key_part(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `Properties` for a struct, whose fields are then properties of the entity that has it
/// in a field with `#[table(flatten)]`.
///
/// Its fields take the attributes of an entity's, except `key_only`, `etag` and `timestamp`. On the
/// struct, `#[table(rename_all = "..")]` and `#[table(crate = path)]` are as an entity's.
#[proc_macro_derive(Properties, attributes(table))]
pub fn properties(input: TokenStream) -> TokenStream {
    expand::properties(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `TableUnion`, for an enum with one entity type in each variant: a partition in which
/// entities of several types stand is read into it.
///
/// ```text
/// #[derive(TableUnion)]
/// enum Office { Employee(Employee), Department(Department) }
/// ```
///
/// The types are stored in one table, and no row of one can have the RowKey of a row of another:
/// their templates start with different literals, or one with digits where the other has another
/// character.
///
/// `#[table(crate = path)]` on the enum says where `table_orm` is, when renamed.
#[proc_macro_derive(TableUnion, attributes(table))]
pub fn table_union(input: TokenStream) -> TokenStream {
    expand::union(&parse_macro_input!(input as DeriveInput)).into()
}

/// Lets a smaller struct be read from an entity's rows: `#[projection(of = Entity)]`.
///
/// Its fields are named and typed as the entity's. One that the row does not store as a property, for
/// it is `key_only` or left out of a partial row, is read from the row's keys, where a component of
/// theirs gives it back; else the projection of that row does not compile. Its type is a `Property` also
/// where only keys tell it.
///
/// `#[projection(default)]` and `#[projection(default = path)]` on a field say what stands for a property
/// that the row lacks; a field that the entity stores as JSON is `#[projection(json)]` here too.
///
/// `#[projection(of = Entity, crate = path)]` says where `table_orm` is, when renamed.
#[proc_macro_derive(Projection, attributes(projection))]
pub fn projection(input: TokenStream) -> TokenStream {
    expand::projection(&parse_macro_input!(input as DeriveInput)).into()
}
