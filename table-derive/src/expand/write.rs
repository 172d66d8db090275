//! `TableEntity`: the templates of an entity, and how it is written into rows.

use crate::ast::{Entity, Field, Role};
use crate::case::pascal;
use crate::expand::key::{self, parts};
use crate::expand::property;
use crate::expand::scope::{hygienic, located};
use crate::expand::types::Types;
use crate::growing::{FEW, Few, Growing, Growth, Values, few_partitions, growing};
use crate::model::{Key, KeyedRow, Model, Width};
use crate::tokens::*;

pub fn impls(model: &Model<'_>, types: &Types<'_>) -> TokenStream {
    let assertions = assertions(model, types);
    // Assertions about a type parameter run where a key of that type is written.
    let (outside, inside) = if types.is_generic() {
        (vec![], (!assertions.is_empty()).then(|| quote!(const { #(#assertions)* })))
    } else {
        (assertions, None)
    };
    let table_entity =
        types.implement(quote!(_orm::TableEntity), table_entity(model, types, inside));
    let bucketed = model.entity.bucket.as_ref();
    let bucketed = bucketed.map(|_| types.implement(quote!(_orm::Bucketed), TokenStream::new()));
    let migrates = migrates(model, types);
    quote! {
        #(const _: () = #outside)*
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        #table_entity
        #bucketed
        #migrates
    }
}

/// `Migrates`, of a type that has an old form.
fn migrates(model: &Model<'_>, types: &Types<'_>) -> Option<TokenStream> {
    let (old, ty) = (model.entity.migrate_from.as_ref()?, &types.ty);
    let implement = types.implement(quote!(_orm::Migrates), quote!(type Old = #old;));
    // After a mistake there are no rows.
    let is_checked = model.rows.get(model.canonical).is_some() && !types.is_generic();
    let check = is_checked
        .then(|| quote_spanned!(old.span()=> const _: () = _orm::check_migration::<#ty>();));
    Some(quote!(#implement #check))
}

fn table_entity(
    model: &Model<'_>,
    types: &Types<'_>,
    assertions: Option<TokenStream>,
) -> TokenStream {
    let (table, partition) = (&model.entity.table, &model.partition.template.text);
    let (start, encode) = (&model.partition.template.start, model.entity.encode);
    let parts = parts(&model.partition, encode);
    let at = model.partition.template.literal.span();
    let key_template = quote_spanned!(at=> _orm::key(#start)#parts);
    let rows = model.own_rows().map(|row| row_template(model.entity, row));
    let options = options(model);
    let canonical = types.row(&model.entity.rows[model.canonical]);
    let fields = property::declared(&model.entity.fields);
    // After a mistake, the types of fields may be wrong.
    let fields = (!model.rows.is_empty())
        .then(|| quote!(const PROPERTIES: &'static [_orm::Declared] = #fields;));
    let (partition_key, row_key) = (key::write(None, &model.partition), key::write_row_key(model));
    let eventual = key::write_eventual_keys(model);
    let (properties, set_version) = (write_properties(model), set_version(&model.entity.fields));
    hygienic! {
        const TABLE: &'static _orm::str = #table;
        const PARTITION: &'static _orm::str = #partition;
        const PARTITION_KEY: _orm::KeyTemplate<'static> = #key_template;
        const ROWS: &'static [_orm::RowTemplate] = &[#(#rows),*];
        #fields
        #options
        type Canonical = #canonical;
        fn encode_partition_key(&self, key: &mut _orm::KeyText) -> _orm::KeyResult {
            #assertions
            #partition_key
            _orm::Ok(())
        }
        fn encode_row_key(&self, row: _orm::usize, key: &mut _orm::KeyText) -> _orm::RowWritten {
            #row_key
            _orm::Ok(true)
        }
        #eventual
        fn encode_properties(&self, row: _orm::usize, out: &mut _orm::Writer) -> _orm::Written {
            #properties
            _orm::Ok(())
        }
        #set_version
    }
}

fn row_template(entity: &Entity<'_>, KeyedRow { row, key, .. }: &KeyedRow<'_>) -> TokenStream {
    let stored = entity.fields.iter().filter(|field| row.has_property(field));
    let fields: Vec<_> = stored.map(|field| &field.property).collect();
    let (make, fields) =
        if row.is_full() { ("full", None) } else { ("partial", Some(quote!(, &[#(#fields),*]))) };
    let template = template((make, fields), &row.name.unraw().to_string(), key, entity.encode);
    let each = row.each.iter().map(|each| each.field.unraw().to_string());
    let sparse = (row.when.is_some() || key.is_sparse()).then(|| quote!(.sparse()));
    quote_spanned!(key.template.literal.span()=> #template #sparse #(.each(#each))*)
}

/// A row or guard row as data. The span is the template, where an error is shown.
fn template(
    (make, fields): (&str, Option<TokenStream>),
    name: &str,
    key: &Key<'_>,
    encode: bool,
) -> TokenStream {
    let at = key.template.literal.span();
    let (make, parts) = (Ident::new(make, at), parts(key, encode));
    let (text, start) = (&key.template.text, &key.template.start);
    quote_spanned!(at=> _orm::#make(#name, #text, #start #fields)#parts)
}

/// The sums, with a check of their names, and the names for a check of several types. The check is an item, which
/// the compiler evaluates even if nobody uses it. A generic type has no value outside of itself.
fn sums(input: &DeriveInput, sums: &Path) -> TokenStream {
    let (check, names) = if input.generics.params.is_empty() {
        let names = quote!(_orm::sum_names::<_, { #sums.len() }>(&#sums));
        (
            quote_spanned!(sums.span()=> const _: () = _orm::check_sums(&#sums);),
            Some(quote!(const SUM_NAMES: &'static [&'static _orm::str] = &#names;)),
        )
    } else {
        (quote_spanned!(sums.span()=> const { _orm::check_sums(&#sums) }), None)
    };
    quote_spanned! {sums.span()=>
        const HAS_SUMS: _orm::bool = true;
        #names
        fn sums() -> _orm::Vec<_orm::Sum<Self>> {
            #check
            _orm::From::from(#sums)
        }
    }
}

/// The constants that differ from the trait's defaults: `ESCAPE`, `KIND`, `GUARDS`, `EVENTUAL`, those that
/// allow cheaper writes, the sums, the outbox and the periods.
fn options(model: &Model<'_>) -> TokenStream {
    let Model { entity, guards, .. } = model;
    let escape = entity.encode.then(|| quote!(_orm::Escape::Encode)).into_iter();
    let kind = entity.kind.iter();
    let sums = entity.sums.iter().map(|path| sums(entity.input, path));
    let cached_for = |time: &LitStr| quote_spanned!(time.span()=> _orm::cached_for(#time));
    let cache = entity.cache.iter().map(cached_for);
    let outbox = entity.outbox.iter().map(
        |[before, after]| quote!(_orm::Some(_orm::EventValues { before: #before, after: #after })),
    );
    let expires = entity.expires.iter().filter_map(|name| {
        let field = entity.field(&name.unraw().to_string())?;
        let (property, ty) = (&field.property, field.value_type());
        Some(quote_spanned!(located(ty)=> _orm::expires::<#ty>(#property)))
    });
    let guards = entity.uniques.iter().zip(guards);
    let guards = guards.map(|(unique, key)| {
        let guard = template(("guard", None), &unique.name, key, entity.encode);
        let (across, table) = (unique.across.map(|_| quote!(.across())), unique.table.iter());
        quote_spanned!(key.template.literal.span()=> #guard #across #(.table(#table))*)
    });
    let large = entity.fields.iter().filter(|field| field.overflow.is_some());
    let large = large.map(|Field { ty, property, .. }| quote!(_orm::overflow::<#ty>(#property)));
    let eventual = model.eventual().map(|(keyed, partition)| {
        let table = keyed.row.eventual.as_ref().and_then(|place| place.table.as_ref());
        let table = table.map(|table| quote!(.table(#table)));
        let sparse = partition.is_sparse().then(|| quote!(.sparse()));
        let row = row_template(entity, keyed);
        let (text, start) = (&partition.template.text, &partition.template.start);
        let parts = parts(partition, entity.encode);
        quote_spanned!(partition.template.literal.span()=>
            _orm::eventual(#row #sparse, #text, _orm::key(#start)#parts)#table)
    });
    let lists = [
        list("GUARDS", quote!(_orm::GuardTemplate), guards),
        list("EVENTUAL", quote!(_orm::EventualTemplate), eventual),
        list("OVERFLOW", quote!(&'static _orm::str), large),
    ];
    // After a mistake, the names may be wrong.
    let bucket = entity.bucket.as_deref().filter(|_| !model.rows.is_empty()).into_iter();
    let bucket = bucket.filter_map(|names| {
        if let [unit, field] = names { bucketing(entity, unit, field) } else { None }
    });
    // A row of another kind may have the key: only a read shows it.
    let sure = entity.kind.is_none();
    let follow = (sure && model.keys_follow_canonical()).then(|| quote!(KEYS_FOLLOW_CANONICAL));
    let one_row = (sure && model.patch_is_one_row()).then(|| quote!(PATCHES_ONE_ROW));
    let migrates = entity.migrate_from.as_ref().map(|_| quote!(MIGRATES));
    let flags = follow.iter().chain(&one_row).chain(&migrates);
    quote! {
        #(const ESCAPE: _orm::Escape = #escape;)*
        #(const KIND: _orm::Option<&'static str> = _orm::Some(#kind);)*
        #(#sums)*
        #(const OUTBOX: _orm::Option<_orm::EventValues> = #outbox;)*
        #(const CACHED_FOR: _orm::Option<_orm::Duration> = {
            // The compiler evaluates a constant in a block even if nobody uses it.
            const TIME: _orm::Duration = #cache;
            _orm::Some(TIME)
        };)*
        #(const EXPIRES: _orm::Option<&'static str> = #expires;)*
        #(#lists)*
        #(const BUCKET: _orm::Option<_orm::Bucketing<Self>> = _orm::Some(#bucket);)*
        #(const #flags: _orm::bool = true;)*
    }
}

/// A constant with a list, if there is anything in it.
pub fn list(
    name: &str,
    of: TokenStream,
    items: impl Iterator<Item = TokenStream>,
) -> Option<TokenStream> {
    let (name, items) = (format_ident!("{name}"), Vec::from_iter(items));
    (!items.is_empty()).then(|| quote!(const #name: &'static [#of] = &[#(#items),*];))
}

/// How the entities are spread over tables.
fn bucketing(entity: &Entity<'_>, unit: &Ident, field: &Ident) -> Option<TokenStream> {
    let name = field.unraw().to_string();
    let (ty, unit) = (entity.field(&name)?.ty, format_ident!("{}", pascal(&unit.to_string())));
    let time = hygienic!(|entity| <#ty as _orm::Moment>::moment(&entity.#field));
    Some(quote!(_orm::Bucketing::new(_orm::Bucket::#unit, #name, #time)))
}

/// The statements of `encode_properties`. Fields that the same rows store share one `if`.
fn write_properties(model: &Model<'_>) -> TokenStream {
    let mut groups: Vec<(Vec<usize>, Vec<TokenStream>)> = Vec::new();
    for field in &model.entity.fields {
        let Some(write) = property::write(field) else { continue };
        let rows = model.rows.iter();
        let rows = rows.filter(|keyed| keyed.row.stores(field) || field.key_only.is_some());
        let rows: Vec<usize> = rows.map(|keyed| keyed.index).collect();
        match groups.last_mut() {
            Some((same, writes)) if *same == rows => writes.push(write),
            _ => groups.push((rows, vec![write])),
        }
    }
    let writes = groups.into_iter().map(|(rows, writes)| {
        if rows.len() == model.rows.len() {
            return quote!(#(#writes)*);
        }
        let rows = rows.into_iter().map(Literal::usize_unsuffixed);
        hygienic!(if _orm::matches!(row, #(#rows)|*) { #(#writes)* })
    });
    let fields = &model.entity.fields;
    // A map and another field may both write a property.
    let check = fields.iter().any(|field| field.role == Role::Flatten).then(
        || hygienic!(_orm::Writer::check_open(out, <Self as _orm::TableEntity>::PROPERTIES)?;),
    );
    quote!(#(#writes)* #check)
}

/// `TableEntity::set_version`, where fields hold the version.
fn set_version(fields: &[Field<'_>]) -> Option<TokenStream> {
    let versions = fields.iter().filter_map(|field| {
        let value = match field.role {
            Role::ETag => {
                property::version(field, "ETagField", hygienic!(_orm::Clone::clone(etag)))
            }
            Role::Timestamp => property::version(field, "TimestampField", hygienic!(_orm::None)),
            _ => return None,
        };
        let ident = field.ident;
        Some(hygienic!(self.#ident = #value;))
    });
    let versions: Vec<_> = versions.collect();
    (!versions.is_empty()).then(|| {
        hygienic! {
            fn set_version(&mut self, etag: &_orm::ETag) {
                #(#versions)*
            }
        }
    })
}

/// What only the types of components and fields know.
fn assertions(model: &Model<'_>, types: &Types<'_>) -> Vec<TokenStream> {
    let (mut assertions, ty) = (Vec::new(), &types.ty);
    let unknown = |key: &Key<'_>| {
        key.parts.iter().any(|part| part.width(model.entity.encode) == Width::Unknown)
    };
    let templates = [
        (unknown(&model.partition), quote!(PARTITION_KEY)),
        (model.own_rows().any(|row| unknown(&row.key)), quote!(ROWS)),
        (model.guards.iter().any(unknown), quote!(GUARDS)),
        (model.eventual().any(|(row, key)| unknown(&row.key) || unknown(key)), quote!(EVENTUAL)),
    ];
    for (_, templates) in templates.iter().filter(|(unknown, _)| *unknown) {
        assertions.push(quote!(_orm::evaluate(&<#ty as _orm::TableEntity>::#templates);));
    }
    assertions.extend(partition_assertions(model, types));
    if let Some(open) = model.entity.fields.iter().rfind(|field| property::is_open(field)) {
        let declared = quote_spanned!(open.ty.span()=> <#ty as _orm::TableEntity>::PROPERTIES);
        assertions.push(quote_spanned!(open.ty.span()=> _orm::assert_properties(#declared);));
    }
    if let Some(alias) = model.entity.fields.iter().flat_map(|field| &field.aliases).next() {
        let (aliases, all) = (
            quote!(<#ty as _orm::ReadRow>::ALIASES),
            quote!(<#ty as _orm::TableEntity>::PROPERTIES),
        );
        assertions.push(quote_spanned!(alias.span()=> _orm::assert_aliases(#aliases, #all);));
    }
    assertions
}

/// How many values the components before one have, and whether it grows, where only their types know. The derive knows
/// the other types by their names. A newtype may be called `Uuid`, too.
fn partition_assertions(model: &Model<'_>, types: &Types<'_>) -> Vec<TokenStream> {
    let at = model.partition.template.literal.span();
    let parts = &model.partition.parts;
    let has_few = |values: &[Values], limit: u64| {
        let values = values.iter().zip(parts).map(|(values, part)| match values {
            Some(number) => Literal::u64_unsuffixed(*number).to_token_stream(),
            None => {
                let part = part.tokens();
                quote!(_orm::values_of(#part::SHAPE))
            }
        });
        let limit = Literal::u64_unsuffixed(limit);
        quote!(_orm::has_few_values(&[#(#values),*], #limit))
    };
    let candidates = growing(model);
    let is_sure = candidates.iter().any(Growing::is_sure);
    let grows = candidates.iter().map(|Growing { part, growth, before }| {
        let part = part.tokens();
        let grows =
            if matches!(growth, Growth::Unknown) { quote!(#part::GROWS) } else { quote!(true) };
        if before.is_empty() {
            return ("assert_spreads", grows);
        }
        let few = has_few(before, FEW);
        ("assert_spreads_after", quote!(#few && #grows))
    });
    let mut assertions = Vec::new();
    match model.entity.allow_append_only {
        None => assertions.extend(grows.filter(|_| !is_sure).map(|(assert, grows)| {
            let assert = Ident::new(assert, at);
            quote_spanned!(at=> _orm::#assert(#grows);)
        })),
        Some(mark) if !(candidates.is_empty() || is_sure || types.is_generic()) => {
            let grows = grows.map(|(_, grows)| grows);
            assertions.push(quote_spanned!(mark=> _orm::assert_append_only(false #(|| #grows)*);));
        }
        Some(_) => {}
    }
    if let Few::Unknown(values, limit) = few_partitions(model) {
        let few = has_few(&values, limit);
        match model.entity.allow_single_partition {
            None => assertions.push(quote_spanned!(at=> _orm::assert_many_partitions(#few);)),
            Some(mark) if !types.is_generic() => {
                assertions.push(quote_spanned!(mark=> _orm::assert_single_partition(#few);));
            }
            Some(_) => {}
        }
    }
    assertions
}
