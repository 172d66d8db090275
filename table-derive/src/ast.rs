//! What the user wrote on an entity and its fields, each attribute correct by itself.

use crate::attr::{Each, Item, Items, Value, method, named, parts};
use crate::case::{CASES, Case, pascal};
use crate::errors::{Errors, mistake};
use crate::kind;
use crate::nearest::suggestion;
use crate::symbol::*;
use crate::template::Template;
use crate::tokens::*;
use syn::parse::{ParseStream, Parser};
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
    /// Whether a row elsewhere finds those that have expired.
    pub purge_index: Option<Span>,
    /// The type of its old form.
    pub migrate_from: Option<Path>,
    pub allow_append_only: bool,
    pub allow_single_partition: bool,
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

pub struct Row {
    pub name: Ident,
    pub template: Template,
    pub copy: Copy,
    pub when: Option<Path>,
    pub canonical: Option<Span>,
    /// The elements that it is written for, if not for the entity.
    pub each: Option<Each>,
    /// Where it is, if not in the entity's own partition.
    pub elsewhere: Option<Elsewhere>,
}

/// A place outside the entity's own partition.
pub struct Elsewhere {
    /// `None` for the entity's own table.
    pub table: Option<LitStr>,
    /// `None` for the PartitionKey of the entity's own partition.
    pub partition: Option<Template>,
}

/// A `unique(..)`: values that no two entities of a partition share, or with `across` no two at all.
pub struct Unique {
    /// Its fields and components, joined by `_`.
    pub name: String,
    /// The attribute's name, where errors are shown.
    pub at: Ident,
    pub components: Vec<Ident>,
    /// The template of the guard row's RowKey.
    pub template: Template,
    /// Whether the user wrote the template.
    pub given: bool,
    /// Whether its values are unique over all partitions, and the table of its guard rows.
    pub across: Option<Span>,
    pub table: Option<LitStr>,
}

pub enum Copy {
    Full,
    Include(Vec<Ident>),
    Exclude(Vec<Ident>),
}

pub struct Component {
    pub name: Ident,
    pub encoder: Encoder,
    pub argument: Argument,
}

/// What a component encodes: a field, or the text that a function makes of the entity.
pub enum Argument {
    Field(Ident),
    With(Path),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoder {
    Plain,
    Padded(usize),
    Ascending,
    Descending,
    DescendingPadded(usize),
    Biased,
    Lower,
    Shard(u32),
    /// By the second of an instant.
    Spread,
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
    pub slots: Option<(LitInt, LitInt)>,
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
    pub fn parse(input: &'a DeriveInput, errors: &mut Errors) -> Option<Self> {
        let fields = named_fields(input, "an entity", errors)?.iter();
        let mut items = Items::of(&input.attrs, ON_ENTITY, errors);
        // A malformed attribute has its own error already.
        let complete = errors.is_empty();
        let mut required = |name, wrong, text| {
            if !items.has(name) && complete {
                mistake!(errors, input.ident => "{wrong}", help: "add `#[table({name} = \"{text}\")]`");
            }
            items.text(name, errors)
        };
        let table = required("name", "the table has no name", "..");
        let partition = required("partition", "the PartitionKey has no template", "{field}");
        let mut rows = rows(input, items.text("row", errors), complete, errors);
        let keyed = partition.is_some() && !rows.is_empty();
        if rows.is_empty() {
            rows.push(Row::missing());
        }
        let uniques = items.lists("unique", errors).into_iter();
        let uniques: Vec<_> =
            uniques.filter_map(|(at, list)| Unique::parse(at, list, errors)).collect();
        let case = rename_all(&mut items, errors);
        let (components, broken) = components(&input.attrs, errors);
        let mut entity = Self {
            input,
            krate: items.krate(errors),
            table,
            partition: partition.map_or_else(Template::missing, |literal| {
                Template::parse_or_guess(literal, errors)
            }),
            encode: escape(&mut items, errors),
            kind: items.text("kind", errors),
            sums: items.path("sums", errors),
            cache: items.text("cache", errors),
            outbox: items.options(ON_OUTBOX, errors).map(|mut values| {
                ["before", "after"].map(|value| values.flag(value, errors).is_some())
            }),
            expires: items.field("expires", errors),
            purge_index: items.flag("purge_index", errors),
            migrate_from: items.path("migrate_from", errors),
            allow_append_only: items.flag("allow_append_only", errors).is_some(),
            allow_single_partition: items.flag("allow_single_partition", errors).is_some(),
            bucket: items.names("bucket", errors),
            rows,
            uniques: Vec::new(),
            components,
            broken,
            fields: Field::parse_all(fields, (ON_FIELD, case), errors),
            keyed,
        };
        entity.uniques =
            uniques.into_iter().filter(|unique| unique.is_known(&entity, errors)).collect();
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
}

/// The fields of a struct; an error for anything else.
pub fn named_fields<'a>(
    input: &'a DeriveInput,
    what: &str,
    errors: &mut Errors,
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

fn escape(items: &mut Items, errors: &mut Errors) -> bool {
    let Some(path) = items.path("escape", errors) else { return false };
    if !path.is_ident("encode") && !path.is_ident("reject") {
        mistake!(errors, path => "`escape` must be `reject` or `encode`",
            help: "write `escape = encode` to store every text, or remove it to refuse text that keys cannot hold");
    }
    path.is_ident("encode")
}

pub fn rename_all(items: &mut Items, errors: &mut Errors) -> Case {
    let Some(name) = items.text("rename_all", errors) else { return pascal };
    let value = name.value();
    if let Some((_, case)) = CASES.iter().find(|(case, _)| *case == value) {
        return *case;
    }
    let known: Vec<_> = CASES.iter().map(|(case, _)| *case).collect();
    mistake!(errors, name => "`{value}` is not a case of names", help = suggestion(&value, known));
    pascal
}

/// The rows, those of other partitions last. After a malformed attribute the entity is not `complete`, and may seem to have none.
fn rows(
    input: &DeriveInput,
    short: Option<LitStr>,
    complete: bool,
    errors: &mut Errors,
) -> Vec<Row> {
    let attrs: Vec<_> = input.attrs.iter().filter(|attr| attr.path().is_ident("row")).collect();
    if short.is_none() && attrs.is_empty() && complete {
        mistake!(errors, input.ident => "the entity has no rows",
            help: "add `#[row(by_x, key = \"..\")]`, or `row = \"..\"` in `#[table(..)]`");
    }
    let short = short.map(|literal| {
        let name = Ident::new("row", literal.span());
        Row::full(name, Template::parse_or_guess(literal, errors))
    });
    let mut rows = Vec::from_iter(short);
    for attr in attrs {
        let row = errors.keep(named(attr));
        rows.extend(row.map(|(name, items)| Row::parse(name, items, errors)));
    }
    rows.sort_by_key(|row| row.elsewhere.is_some());
    rows
}

impl Row {
    fn full(name: Ident, template: Template) -> Self {
        let (when, canonical, each, elsewhere) = (None, None, None, None);
        Self { name, template, copy: Copy::Full, when, canonical, each, elsewhere }
    }

    /// The placeholder for rows that the user did not write.
    pub fn missing() -> Self {
        Self::full(Ident::new("row", Span::call_site()), Template::missing())
    }

    fn parse(name: Ident, given: Vec<Item>, errors: &mut Errors) -> Self {
        let mut items = Items::new(given, ON_ROW, errors);
        let include = items.names("include", errors);
        let exclude = items.names("exclude", errors);
        if include.is_some() && exclude.is_some() {
            mistake!(errors, name => "row `{name}` has both `include` and `exclude`",
                help: "keep the shorter of the two");
        }
        let copy = include.map(Copy::Include).or(exclude.map(Copy::Exclude)).unwrap_or(Copy::Full);
        let when = items.path("when", errors);
        let canonical = items.flag("canonical", errors);
        let each = items.each(errors);
        let elsewhere = Elsewhere::parse(&name, &mut items, errors);
        let template = if let Some(key) = items.text("key", errors) {
            Template::parse_or_guess(key, errors)
        } else {
            mistake!(errors, name => "row `{name}` has no key template",
                help: "write `#[row({name}, key = \"..\")]`");
            Template::guess(LitStr::new("", name.span()))
        };
        Self { name, template, copy, when, canonical, each, elsewhere }
    }
}

impl Elsewhere {
    fn parse(row: &Ident, items: &mut Items, errors: &mut Errors) -> Option<Self> {
        let eventual = items.flag("eventual", errors);
        let (table, partition) = (items.text("table", errors), items.text("partition", errors));
        match (eventual, partition.as_ref().or(table.as_ref())) {
            (None, Some(at)) => {
                mistake!(errors, at => "row `{row}` is in another partition or table, so no transaction can write it together with the entity",
                    help: "add `eventual`: the row then follows each write of the entity in a transaction of its own");
            }
            (Some(at), None) => {
                mistake!(errors, Ident::new("eventual", at) => "row `{row}` is `eventual`, but in the entity's own partition",
                    help: "remove `eventual`: one transaction writes all rows of the partition; or add the row's place: `partition = \"..\"` or `table = \"..\"`");
            }
            _ => {}
        }
        let partition = partition.map(|literal| Template::parse_or_guess(literal, errors));
        (table.is_some() || partition.is_some()).then_some(Self { table, partition })
    }
}

impl Unique {
    fn parse(at: Ident, list: Vec<Item>, errors: &mut Errors) -> Option<Self> {
        let is_name = |item: &Item| matches!(item.value, Value::None) && item.name != "across";
        let (named, options): (Vec<_>, Vec<_>) = list.into_iter().partition(is_name);
        let components: Vec<Ident> = named.into_iter().map(|item| item.name).collect();
        let Some(first) = components.first() else {
            mistake!(errors, at => "`unique` names no field", help: "write `unique(field)`");
            return None;
        };
        let names: Vec<_> = components.iter().map(|name| name.unraw().to_string()).collect();
        let name = names.join("_");
        let mut items = Items::new(options, ON_UNIQUE, errors);
        let (across, table) = (items.flag("across", errors), items.text("table", errors));
        let key = items.text("key", errors);
        if let (Some(key), Some(_)) = (&key, across) {
            mistake!(errors, key => "the guard row of `unique({name}, across)` has a key of its own",
                help: "remove `key`: values that are unique over all partitions are not guarded in the entity's partition");
        }
        if let (Some(table), None) = (&table, across) {
            mistake!(errors, table => "the guard row of `unique({name})` is in the entity's partition",
                help: "remove `table`, or add `across`: the values are then unique over all partitions");
        }
        let given = key.is_some();
        let literal = key.unwrap_or_else(|| {
            LitStr::new(&format!("{GUARD_START}{name}:{{{}}}", names.join("}__{")), first.span())
        });
        let template = Template::parse_or_guess(literal, errors);
        Some(Self { name, at, components, template, given, across, table })
    }

    /// Its fields and components, as written.
    pub fn list(&self) -> String {
        let names: Vec<_> = self.components.iter().map(|name| name.unraw().to_string()).collect();
        names.join(", ")
    }

    /// Whether the entity has the fields and components it names.
    fn is_known(&self, entity: &Entity<'_>, errors: &mut Errors) -> bool {
        let names = entity.names();
        let known = |own: &&Ident| names.iter().any(|name| own.unraw() == name);
        let unknown: Vec<_> = self.components.iter().filter(|own| !known(own)).collect();
        for name in &unknown {
            let unraw = name.unraw().to_string();
            if let Some(Each { field, .. }) = entity.each(&unraw) {
                mistake!(errors, name => "`unique` guards one value of an entity, and `{unraw}` is any of those in `{field}`",
                    help: "remove it here, or store each element of `{field}` as an entity with a value of its own");
            } else if !entity.broken.contains(&unraw) {
                mistake!(errors, name => "no field or component is called `{unraw}`",
                    help = suggestion(&unraw, names.iter().map(String::as_str)));
            }
        }
        unknown.is_empty()
    }
}

/// The components, and the names of those with errors.
fn components(attrs: &[syn::Attribute], errors: &mut Errors) -> (Vec<Component>, Vec<String>) {
    let mut components: Vec<Component> = Vec::new();
    let mut broken = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("component")) {
        for item in errors.keep(attr.parse_args_with(parts)).into_iter().flatten() {
            let name = item.name.clone();
            if components.iter().any(|other| other.name == name) {
                mistake!(errors, name => "component `{name}` is declared twice", help: "rename one of them");
            } else if let Some(component) = errors.keep(Component::parse(item)) {
                components.push(component);
            } else {
                broken.push(name.unraw().to_string());
            }
        }
    }
    (components, broken)
}

impl Component {
    fn parse(item: Item) -> syn::Result<Self> {
        let name = method(item.name)?;
        let Value::Call(encoder, argument) = item.value else {
            return Err(mistake!(name => "component `{name}` has no encoder",
                help: "write `{name} = desc(field)`"));
        };
        let known = encoder.get_ident().map(ToString::to_string).unwrap_or_default();
        let field = |by| {
            let field = Ident::parse_any.parse2(argument.clone());
            field.map(|field| (by, Argument::Field(field))).map_err(|_| {
                mistake!(encoder => "`{known}` takes one field", help: "write `{known}(field)`")
            })
        };
        let parsed = match known.as_str() {
            "desc" => field(Encoder::Descending),
            "asc" => field(Encoder::Ascending),
            "biased" => field(Encoder::Biased),
            "lower" => field(Encoder::Lower),
            "shard" => shard(&encoder, argument),
            "spread" => spread(&encoder, argument),
            "with" => syn::parse2(argument)
                .map(|path| (Encoder::Plain, Argument::With(path)))
                .map_err(|_| {
                    mistake!(encoder => "`with` takes a function from `&Entity` to `String`",
                    help: "write `with(path)`")
                }),
            _ => {
                let path = encoder.to_token_stream();
                let help = suggestion(&known, "desc asc biased lower shard spread with".split(' '));
                Err(mistake!(encoder => "`{path}` is not an encoder", help = help))
            }
        };
        parsed.map(|(encoder, argument)| Self { name, encoder, argument })
    }

    pub fn field(&self) -> Option<&Ident> {
        match &self.argument {
            Argument::Field(field) => Some(field),
            Argument::With(_) => None,
        }
    }
}

fn shard(encoder: &Path, argument: TokenStream) -> syn::Result<(Encoder, Argument)> {
    let parse = |input: ParseStream<'_>| {
        let field = Ident::parse_any(input)?;
        input.parse::<Token![,]>()?;
        Ok((field, input.parse::<LitInt>()?))
    };
    let wrong = |at: &dyn ToTokens| {
        mistake!(at => "`shard` takes a field and a number of partitions from 2 to 10000",
            help: "write `shard(field, N)`, such as `shard(id, 16)`")
    };
    let (field, number) = parse.parse2(argument).map_err(|_| wrong(encoder))?;
    match number.base10_parse() {
        Ok(shards @ 2..=10_000) => Ok((Encoder::Shard(shards), Argument::Field(field))),
        _ => Err(wrong(&number)),
    }
}

fn spread(encoder: &Path, argument: TokenStream) -> syn::Result<(Encoder, Argument)> {
    let parse = |input: ParseStream<'_>| {
        let field = Ident::parse_any(input)?;
        input.parse::<Token![,]>()?;
        Ok((field, input.parse::<Ident>()?))
    };
    match parse.parse2(argument) {
        Ok((field, unit)) if unit == "second" => Ok((Encoder::Spread, Argument::Field(field))),
        _ => Err(mistake!(encoder => "`spread` takes the field of an instant, and `second`",
            help: "write `spread(field, second)`")),
    }
}

impl<'a> Field<'a> {
    /// Named fields, each with its attribute.
    pub fn parse_all(
        fields: impl Iterator<Item = &'a syn::Field>,
        given: (Attribute, Case),
        errors: &mut Errors,
    ) -> Vec<Self> {
        fields.filter_map(|field| Self::parse(field, given, errors)).collect()
    }

    fn parse(
        field: &'a syn::Field,
        (attribute, case): (Attribute, Case),
        errors: &mut Errors,
    ) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        let name = ident.unraw().to_string();
        let mut items = Items::of(&field.attrs, attribute, errors);
        let roles = [
            ("json", Role::Json),
            ("series", Role::Series),
            ("flatten", Role::Flatten),
            ("skip", Role::Skip),
            ("etag", Role::ETag),
            ("timestamp", Role::Timestamp),
        ];
        let slots = items.range("slots", errors);
        let given = roles.iter().filter_map(|(flag, role)| {
            let at = items.flag(flag, errors)?;
            Some((Ident::new(flag, at), *role))
        });
        let given: Vec<_> = given.collect();
        for (flag, _) in given.iter().skip(1) {
            let (first, _) = &given[0];
            mistake!(errors, flag => "field `{name}` cannot be both `{first}` and `{flag}`", help: "keep one of them");
        }
        let alone = if slots.is_some() { Role::Series } else { Role::Property };
        let role = match (
            given.first().map_or(alone, |(_, role)| *role),
            items.flag("chunked", errors),
        ) {
            (Role::Property, Some(_)) => Role::Chunked,
            (Role::Json, Some(_)) => Role::ChunkedJson,
            (role, Some(at)) => {
                let flag = Ident::new("chunked", at);
                mistake!(errors, flag => "`chunked` splits one value, but `{name}` is not stored as one", help: "remove `chunked`");
                role
            }
            (role, None) => role,
        };
        let rename = items.text("rename", errors);
        let property_at =
            rename.as_ref().map_or(ident.to_token_stream(), ToTokens::to_token_stream);
        Some(Self {
            ident,
            vis: &field.vis,
            ty: &field.ty,
            role,
            property: rename.map_or_else(|| case(&name), |name| name.value()),
            property_at,
            aliases: items.texts("alias", errors),
            default: items.flag_or_path("default", errors),
            key_only: items.flag("key_only", errors),
            max_len: items.number("max_len", errors),
            max: items.number("max", errors),
            overflow: items.flag("overflow", errors),
            slots,
            name,
        })
    }

    /// The type of its values: the `T` of an `Option<T>`.
    pub fn value_type(&self) -> &'a Type {
        kind::option(self.ty).unwrap_or(self.ty)
    }
}
