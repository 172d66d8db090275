//! What the user wrote on an entity and its fields, each attribute correct by itself.

mod component;
mod row;
mod unique;

pub use component::{Argument, Component, Encoder};
pub use row::{Copy, Eventual, Row};
pub use unique::Unique;

use crate::attr::{Each, Item, Items};
use crate::case::{CASES, Case, pascal};
use crate::errors::{Errors, mistake};
use crate::kind;
use crate::nearest::suggestion;
use crate::symbol::*;
use crate::template::Template;
use crate::tokens::*;
use std::ops::Range;
use syn::punctuated::Punctuated;
use syn::{Data, Fields, Token};

/// A struct with `#[derive(TableEntity)]`.
pub struct Entity<'a> {
    pub input: &'a DeriveInput,
    pub krate: TokenStream,
    pub table: Option<LitStr>,
    pub partition: Template,
    pub encode: bool,
    /// What its rows are marked with.
    pub kind: Option<LitStr>,
    /// The constant with its sums.
    pub sums: Option<Path>,
    /// How old a cached entity may be.
    pub cache: Option<LitStr>,
    /// Whether its events hold what was stored before, and what is stored after.
    pub outbox: Option<[bool; 2]>,
    /// The field that says when it expires.
    pub expires: Option<Ident>,
    /// Whether a row in another partition finds those that have expired.
    pub purge_index: Option<Span>,
    /// The type of its old form.
    pub migrate_from: Option<Path>,
    pub allow_append_only: Option<Span>,
    pub allow_single_partition: Option<Span>,
    /// The length of its periods, and the field of its time.
    pub bucket: Option<Vec<Ident>>,
    pub rows: Vec<Row>,
    pub uniques: Vec<Unique>,
    pub components: Vec<Component>,
    /// The names of components with an error in their declaration.
    pub broken: Vec<String>,
    pub fields: Vec<Field<'a>>,
    /// Whether it declares a partition and rows. If not, templates without text replace them.
    pub keyed: bool,
}

/// A field and its `#[table(..)]`.
pub struct Field<'a> {
    pub ident: &'a Ident,
    pub vis: &'a syn::Visibility,
    pub ty: &'a Type,
    /// Its name in templates.
    pub name: String,
    pub role: Role,
    /// The stored property's name.
    pub property: String,
    /// The tokens of that name's value.
    pub property_at: TokenStream,
    /// The names of the property in rows of earlier versions of the app.
    pub aliases: Vec<LitStr>,
    pub default: Option<Option<Path>>,
    pub key_only: Option<Span>,
    pub max_len: Option<(u64, LitInt)>,
    pub max: Option<(u64, LitInt)>,
    pub overflow: Option<Span>,
    /// The slots of the entity's series that a field of a projection holds.
    pub slots: Option<Range<LitInt>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Property,
    Json,
    Series,
    Chunked,
    ChunkedJson,
    Flatten,
    Skip,
    ETag,
    Timestamp,
}

/// The roles that a flag gives a field.
const ROLES: [(&str, Role); 6] = [
    ("json", Role::Json),
    ("series", Role::Series),
    ("flatten", Role::Flatten),
    ("skip", Role::Skip),
    ("etag", Role::ETag),
    ("timestamp", Role::Timestamp),
];

impl Field<'_> {
    /// Whether a row's properties hold it.
    pub fn is_stored(&self) -> bool {
        self.key_only.is_none() && !matches!(self.role, Role::Skip | Role::ETag | Role::Timestamp)
    }

    /// Whether it is numbered properties.
    pub fn is_numbered(&self) -> bool {
        matches!(self.role, Role::Series | Role::Chunked | Role::ChunkedJson)
    }

    /// Whether it is one property.
    pub fn is_column(&self) -> bool {
        self.is_stored() && matches!(self.role, Role::Property | Role::Json)
    }
}

impl<'a> Entity<'a> {
    /// The entity, or `None` when it is not a struct with named fields.
    pub fn parse(input: &'a DeriveInput, errors: &Errors) -> Option<Self> {
        let fields = named_fields(input, "an entity", errors)?.iter();
        let mut items = Items::of(&input.attrs, ON_ENTITY, errors);
        // A malformed attribute has its own error already.
        let complete = errors.is_empty();
        let mut required = |name, wrong, text| {
            if !items.has(name) && complete {
                mistake!(errors, input.ident => "{wrong}", help: "add `#[table({name} = \"{text}\")]`");
            }
            items.get::<LitStr>(name)
        };
        let table = required("name", "the table has no name", "..");
        let partition = required("partition", "the PartitionKey has no template", "{field}");
        let mut rows = row::rows(input, items.get("row"), complete, errors);
        let keyed = partition.is_some() && !rows.is_empty();
        if rows.is_empty() {
            rows.push(Row::missing());
        }
        let uniques = items.all("unique").into_iter();
        let uniques: Vec<_> =
            uniques.filter_map(|(at, list)| Unique::parse(at, list, errors)).collect();
        let case = rename_all(&mut items, errors);
        let (components, broken) = component::components(&input.attrs, errors);
        let mut entity = Self {
            input,
            krate: items.krate(),
            table,
            partition: partition.map_or_else(Template::missing, |literal| {
                Template::parse_or_guess(literal, errors)
            }),
            encode: escape(&mut items, errors),
            kind: items.get("kind"),
            sums: items.get("sums"),
            cache: items.get("cache"),
            outbox: items.get("outbox").map(|given: Vec<Item>| {
                let mut values = Items::new(given, ON_OUTBOX, errors);
                ["before", "after"].map(|value| values.get::<Span>(value).is_some())
            }),
            expires: items.get("expires"),
            purge_index: items.get("purge_index"),
            migrate_from: items.get("migrate_from"),
            allow_append_only: items.get("allow_append_only"),
            allow_single_partition: items.get("allow_single_partition"),
            bucket: items.get("bucket"),
            rows,
            uniques: Vec::new(),
            components,
            broken,
            fields: Field::parse_all(fields, (ON_FIELD, case), errors),
            keyed,
        };
        entity.uniques =
            uniques.into_iter().filter(|unique| entity.knows(unique, errors)).collect();
        Some(entity)
    }

    /// The names of fields and components, which a template may use.
    pub fn names(&self) -> Vec<String> {
        let fields = self.fields.iter().map(|field| field.name.clone());
        let components = self.components.iter().map(|component| component.name.unraw().to_string());
        fields.chain(components).collect()
    }

    /// What rows are written for each of.
    pub fn elements(&self) -> impl Iterator<Item = &Each> {
        self.rows.iter().filter_map(|row| row.each.as_ref())
    }

    /// What a row is written for each of, by the name of the elements.
    pub fn each(&self, name: &str) -> Option<&Each> {
        self.elements().find(|each| each.name.unraw() == name)
    }

    pub fn field(&self, name: &str) -> Option<&Field<'a>> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The field that the user names, or `None` after an error.
    pub fn known_field(&self, name: &Ident, errors: &Errors) -> Option<&Field<'a>> {
        let text = name.unraw().to_string();
        let field = self.field(&text);
        if field.is_none() {
            let known = self.fields.iter().map(|field| field.name.as_str());
            mistake!(errors, name => "no field is called `{text}`", help = suggestion(&text, known));
        }
        field
    }

    /// Whether it has the fields and components of a `unique(..)`.
    fn knows(&self, unique: &Unique, errors: &Errors) -> bool {
        let names = self.names();
        let known = |own: &&Ident| names.iter().any(|name| own.unraw() == name);
        let unknown: Vec<_> = unique.components.iter().filter(|own| !known(own)).collect();
        for name in &unknown {
            let unraw = name.unraw().to_string();
            if let Some(Each { field, .. }) = self.each(&unraw) {
                mistake!(errors, name => "`unique` guards one value of an entity, and `{unraw}` is any of those in `{field}`",
                    help: "remove it here, or store each element of `{field}` as an entity with a value of its own");
            } else if !self.broken.contains(&unraw) {
                mistake!(errors, name => "no field or component is called `{unraw}`",
                    help = suggestion(&unraw, names.iter().map(String::as_str)));
            }
        }
        unknown.is_empty()
    }
}

/// The fields of a struct; an error for anything else.
pub fn named_fields<'a>(
    input: &'a DeriveInput,
    what: &str,
    errors: &Errors,
) -> Option<&'a Punctuated<syn::Field, Token![,]>> {
    if let Data::Struct(data) = &input.data
        && let Fields::Named(fields) = &data.fields
    {
        return Some(&fields.named);
    }
    let ident = &input.ident;
    mistake!(errors, ident => "`{ident}` cannot be {what}", help: "derive it on a struct with named fields");
    None
}

fn escape(items: &mut Items<'_>, errors: &Errors) -> bool {
    let Some(path) = items.get::<Path>("escape") else { return false };
    if !path.is_ident("encode") && !path.is_ident("reject") {
        mistake!(errors, path => "`escape` must be `reject` or `encode`",
            help: "write `escape = encode` to store every text, or remove it to refuse text that keys cannot hold");
    }
    path.is_ident("encode")
}

pub fn rename_all(items: &mut Items<'_>, errors: &Errors) -> Case {
    let Some(name) = items.get::<LitStr>("rename_all") else { return pascal };
    let value = name.value();
    if let Some((_, case)) = CASES.iter().find(|(case, _)| *case == value) {
        return *case;
    }
    let known: Vec<_> = CASES.iter().map(|(case, _)| *case).collect();
    mistake!(errors, name => "`{value}` is not a case of names", help = suggestion(&value, known));
    pascal
}

impl<'a> Field<'a> {
    /// Named fields, each with its attribute.
    pub fn parse_all(
        fields: impl Iterator<Item = &'a syn::Field>,
        given: (Attribute, Case),
        errors: &Errors,
    ) -> Vec<Self> {
        fields.filter_map(|field| Self::parse(field, given, errors)).collect()
    }

    fn parse(
        field: &'a syn::Field,
        (attribute, case): (Attribute, Case),
        errors: &Errors,
    ) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        let name = ident.unraw().to_string();
        let mut items = Items::of(&field.attrs, attribute, errors);
        let slots: Option<Range<LitInt>> = items.get("slots");
        let given = ROLES.iter().filter_map(|(flag, role)| {
            let at = items.get(flag)?;
            Some((Ident::new(flag, at), *role))
        });
        let given: Vec<_> = given.collect();
        for (flag, _) in given.iter().skip(1) {
            let (first, _) = &given[0];
            mistake!(errors, flag => "field `{name}` cannot be both `{first}` and `{flag}`", help: "keep one of them");
        }
        let alone = if slots.is_some() { Role::Series } else { Role::Property };
        let mut role = given.first().map_or(alone, |(_, role)| *role);
        if let Some(at) = items.get("chunked") {
            role = match role {
                Role::Property => Role::Chunked,
                Role::Json => Role::ChunkedJson,
                other => {
                    let flag = Ident::new("chunked", at);
                    mistake!(errors, flag => "`chunked` splits one value, but `{name}` is not stored as one", help: "remove `chunked`");
                    other
                }
            };
        }
        let rename: Option<LitStr> = items.get("rename");
        let property_at =
            rename.as_ref().map_or(ident.to_token_stream(), ToTokens::to_token_stream);
        Some(Self {
            ident,
            vis: &field.vis,
            ty: &field.ty,
            role,
            property: rename.map_or_else(|| case(&name), |name| name.value()),
            property_at,
            aliases: items.all("alias"),
            default: items.get("default"),
            key_only: items.get("key_only"),
            max_len: items.get("max_len"),
            max: items.get("max"),
            overflow: items.get("overflow"),
            slots,
            name,
        })
    }

    /// The type of its values: the `T` of an `Option<T>`.
    pub fn value_type(&self) -> &'a Type {
        kind::option(self.ty).unwrap_or(self.ty)
    }
}
