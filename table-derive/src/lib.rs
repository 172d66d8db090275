//! The derive macros of `table-orm`. Apps use them through that crate.
//!
//! A derive parses what the user wrote, checks rules over it, and expands it into code. After a
//! mistake it reports every error and writes a fallback, so that the rest of the app compiles and the
//! mistake is the only error.
//!
//! # Modules
//!
//! A module imports only modules above it in this list.
//!
//! ```text
//! symbol             the names of attributes
//! case               the case of names
//! nearest            the known name nearest to a mistyped one
//! kind               what a field's type is, by its spelling
//! errors             the errors found so far
//! template           key templates
//! attr               the parts of an attribute
//! ast                what the user wrote on an entity and its fields
//! variants           what the user wrote on the enums and newtypes of the smaller derives
//! model              an entity whose key templates are resolved
//! names              the names of generated types and methods
//! check::table       rules over the table, its partitions and its transactions
//! check::fields      rules over fields and their properties
//! check::rows        rules over rows
//! check::keys        rules over key templates and their components
//! check::generated   rules over the names of generated types and methods
//! check::codes       rules over the codes of an enum
//! check              the lists of rules
//! expand::scope      the scope of generated code: hygiene and spans
//! expand::types      the generated types as code names them
//! expand::signature  the signature of everything generated
//! expand::sample     sample keys for documentation
//! expand::property   one field as properties
//! expand::key        keys: written and read
//! expand::write      an entity written into rows
//! expand::read       an entity read from a row
//! expand::columns    a row's columns
//! expand::row        a row's key, given from left to right
//! expand::partition  the partition
//! expand::projected  what a projection may ask for
//! expand::patch      the patch
//! expand::entity     all code of an entity
//! expand::key_part   the code of an enum or newtype in keys
//! expand::properties the code of a group of properties
//! expand::union      the code of a union
//! expand::projection the code of a projection
//! expand             the list of these
//! fallback           what is written after a mistake, with the signatures of `expand`
//! derive             each derive from input to code
//! ```

mod ast;
mod attr;
mod case;
mod check;
mod derive;
mod errors;
mod expand;
mod fallback;
mod kind;
mod model;
mod names;
mod nearest;
mod symbol;
mod template;
#[cfg(test)]
mod tests;
mod variants;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `TableEntity`: a struct that is stored as one or more rows of a table.
///
/// ```
/// use table_orm::{KeyPart, TableEntity};
/// use time::OffsetDateTime;
///
/// #[derive(KeyPart)]
/// enum Sex {
///     #[key("F")]
///     Female,
///     #[key("M")]
///     Male,
/// }
///
/// #[derive(TableEntity)]
/// #[table(name = "registrations", partition = "{event}__{distance}", unique(bib))]
/// #[row(by_bib, key = "BIB:{bib:05}__{name}__{sex}")]
/// #[row(by_name, key = "NAM:{name}__{bib:05}")]
/// #[row(by_time, key = "NEW:{newest}__{bib:05}", include(name))]
/// #[component(newest = desc(registered_at))]
/// struct Registration {
///     event: String,
///     distance: u32,
///     #[table(max = 99_999)]
///     bib: u32,
///     name: String,
///     sex: Sex,
///     registered_at: OffsetDateTime,
/// }
///
/// // A partition query, a row range query and a point query.
/// let marathon = Registration::partition("Berlin", 42u32);
/// let range = marathon.by_bib().bib_in(1000..2000);
/// let point = marathon.by_name().name("Jo").bib(1234);
/// ```
///
/// `Registration::partition(event, distance)` returns a `RegistrationPartition`, which has a method for
/// each row: `by_bib()` returns a `RegistrationByBib`. Its components are given from left to right:
/// `.bib(1234)`, then `.name("John")`, and so on. The last one given may be a range,
/// `.bib_in(1000..2000)`, or a prefix, `.name_starts_with("Jo")`. A whole key is a point query, the
/// start of a key is a row range query, and the partition itself is a partition query. The
/// documentation of each method shows its template, a sample of the stored key and its cost.
///
#[doc = include_str!("table_entity.md")]
#[proc_macro_derive(TableEntity, attributes(table, row, component))]
pub fn table_entity(input: TokenStream) -> TokenStream {
    derive::table_entity(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `KeyPart` and `Property` for an enum whose variants have codes, or for a newtype.
///
/// ```
/// use table_orm::KeyPart;
///
/// #[derive(Debug, PartialEq, KeyPart)]
/// enum Sex {
///     #[key("F")]
///     Female,
///     #[key("M")]
///     Male,
/// }
///
/// #[derive(KeyPart)]
/// struct Bib(u32);
///
/// assert_eq!(<Sex as KeyPart>::decode("M"), Ok(Sex::Male));
/// ```
///
/// A variant's code is `#[key("M")]`, or its name. Codes differ, contain no character that keys forbid,
/// and have one length, or none is a prefix of another. If they ascend in the order of the variants,
/// queries can ask for ranges of variants.
///
/// A struct of one field is stored as the field is, and sorts the same.
///
/// Implement `KeyPart` by hand for keys of another form and for enums stored as numbers: the trait and
/// the guide's chapter "Types of your own" have an example of each.
///
/// `#[key(crate = path)]` on the type names the path of `table_orm`, if renamed.
#[proc_macro_derive(KeyPart, attributes(key))]
pub fn key_part(input: TokenStream) -> TokenStream {
    derive::key_part(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `Properties` for a struct. An entity with a field of it and `#[table(flatten)]` stores
/// the struct's fields as its own properties.
///
/// ```
/// use table_orm::{Properties, TableEntity};
///
/// #[derive(Properties)]
/// struct Address {
///     street: String,
///     city: Option<String>,
/// }
///
/// #[derive(TableEntity)]
/// #[table(name = "customers", partition = "{tenant}", row = "{id}")]
/// struct Customer {
///     tenant: String,
///     id: u32,
///     #[table(flatten)]
///     address: Address,
/// }
/// ```
///
/// Fields take the attributes of an entity's fields, except `key_only`, `etag` and `timestamp`. The
/// struct takes `#[table(rename_all = "..")]` and `#[table(crate = path)]`, as an entity does.
#[proc_macro_derive(Properties, attributes(table))]
pub fn properties(input: TokenStream) -> TokenStream {
    derive::properties(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `TableUnion` for an enum with one entity type in each variant. A partition that holds
/// entities of several types is read into it.
///
/// ```
/// use table_orm::{TableEntity, TableUnion};
///
/// #[derive(TableEntity)]
/// #[table(name = "office", partition = "{office}", row = "E:{id:05}")]
/// struct Employee {
///     office: String,
///     id: u32,
/// }
///
/// #[derive(TableEntity)]
/// #[table(name = "office", partition = "{office}", row = "D:{name}")]
/// struct Department {
///     office: String,
///     name: String,
/// }
///
/// #[derive(TableUnion)]
/// enum Office {
///     Employee(Employee),
///     Department(Department),
/// }
/// ```
///
/// The compiler checks that the types are stored in one table and that no query of one can match rows
/// of another: their templates start with different literals, or one starts with digits and the other
/// with another character.
///
/// `#[table(crate = path)]` on the enum names the path of `table_orm`, if renamed.
#[proc_macro_derive(TableUnion, attributes(table))]
pub fn table_union(input: TokenStream) -> TokenStream {
    derive::table_union(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `FromRow`: reads a smaller struct from the rows of the entity in
/// `#[projection(of = Entity)]`.
///
/// ```
/// use table_orm::{Projection, TableEntity};
///
/// #[derive(TableEntity)]
/// #[table(name = "readings", partition = "{sensor}", row = "{day:05}")]
/// struct Reading {
///     sensor: String,
///     day: u32,
///     celsius: f64,
/// }
///
/// #[derive(Projection)]
/// #[projection(of = Reading)]
/// struct Celsius {
///     day: u32,
///     celsius: f64,
/// }
/// ```
///
/// Fields have the names and types of the entity's fields. A field that a row does not store as a
/// property, because it is `key_only` or not in a partial row, is read from the row's keys. If they do
/// not hold it, the projection of that row does not compile. Every field's type is a `Property`, even
/// if only keys hold the field.
///
/// On a field, `#[projection(default)]` and `#[projection(default = path)]` give the value if the row
/// lacks the property, and `#[projection(json)]` reads a field that the entity stores as JSON.
///
/// `#[projection(of = Entity, crate = path)]` names the path of `table_orm`, if renamed.
#[proc_macro_derive(Projection, attributes(projection))]
pub fn projection(input: TokenStream) -> TokenStream {
    derive::projection(&parse_macro_input!(input as DeriveInput)).into()
}
