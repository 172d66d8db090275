//! `TableEntity`: the templates, and an entity's keys and properties.

use super::{Expansion, codec, located, names, properties};
use crate::ast::{Field, Role, Unique};
use crate::check::known_units;
use crate::model::{Encoder, Key, Model, Part, Source, Width};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Path;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

pub fn impls(model: &Model<'_>, expansion: &Expansion<'_>) -> TokenStream {
    let entity = model.entity;
    let Expansion { ty, where_clause, .. } = expansion;
    let params = expansion.params();
    let table = &entity.table;
    let partition = &model.partition.template.text;
    let encode = entity.encode.then(|| {
        quote!(
            const ESCAPE: _orm::Escape = _orm::Escape::Encode;
        )
    });
    let rows = model.rows().map(|(row, key)| {
        let make = if row.is_full() { quote!(full) } else { quote!(partial) };
        let name = row.name.unraw().to_string();
        let first = key.parts.first().filter(|_| key.template.start.is_empty());
        let digits = first.map_or(0, Part::digits);
        let (key, start) = (&key.template.text, &key.template.start);
        // Without a literal of their own, digits tell a row's keys from other types'.
        let digits = match digits {
            0 => None,
            digits => {
                let digits = Literal::usize_unsuffixed(digits);
                Some(quote!(.digits(#digits)))
            }
        };
        quote!(_orm::RowTemplate::#make(#name, #key, #start) #digits)
    });
    let guards = entity.uniques.iter().map(|unique| {
        let Unique { name, template, .. } = unique;
        let (key, start) = (&template.text, &template.start);
        quote!(_orm::GuardTemplate::new(#name, #key, #start))
    });
    let guards = (!entity.uniques.is_empty())
        .then(|| quote!(const GUARDS: &'static [_orm::GuardTemplate] = &[#(#guards),*];));
    let follow = model.keys_follow_canonical().then(|| {
        quote!(
            const KEYS_FOLLOW_CANONICAL: bool = true;
        )
    });
    let blind = model.patch_is_one_row().then(|| {
        quote!(
            const PATCHES_ONE_ROW: bool = true;
        )
    });
    let canonical = expansion.row(entity, &entity.rows[model.canonical]);
    let partition_key = partition_key(&model.partition);
    let row_key = row_key(model);
    let properties = codec::encode_properties(model);
    let set_version = set_version(&entity.fields);
    let assertions = assertions(model);
    let (assertions, used) = if expansion.is_generic() {
        // What hangs on the parameters is known where a key of the type is written.
        let assertions = quote! {
            const {
                let _ = <Self as _orm::TableEntity>::LONGEST_KEYS;
                #(#assertions)*
            }
        };
        (Vec::new(), Some(assertions))
    } else {
        (assertions, None)
    };
    let (constants, longest) = longest_keys(model, expansion.is_generic());
    let full_rows = model.rows().filter(|(row, _)| row.is_full()).map(|(row, _)| {
        let params = expansion.params_and(quote!(__S));
        let row = expansion.row_in(entity, row, quote!(__S));
        quote! {
            #[diagnostic::do_not_recommend]
            impl #params _orm::FromRow<#row> for #ty #where_clause {}
        }
    });
    hygienic! {
        #(const _: () = #assertions)*
        #constants
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl #params _orm::TableEntity for #ty #where_clause {
            const TABLE: &'static str = #table;
            const PARTITION: &'static str = #partition;
            #encode
            const ROWS: &'static [_orm::RowTemplate] = &[#(#rows),*];
            #guards
            const LONGEST_KEYS: &'static [_orm::Option<usize>] = &[#(#longest),*];
            #follow
            #blind
            type Canonical = #canonical;
            fn encode_partition_key(
                &self,
                key: &mut _orm::KeyText,
            ) -> _orm::KeyResult {
                #used
                #partition_key
                _orm::Ok(())
            }
            fn encode_row_key(
                &self,
                row: usize,
                key: &mut _orm::KeyText,
            ) -> _orm::KeyResult<bool> {
                #row_key
                _orm::Ok(true)
            }
            fn encode_properties(
                &self,
                row: usize,
                out: &mut _orm::PropertiesWriter,
            ) -> _orm::Written {
                #properties
                _orm::Ok(())
            }
            #set_version
        }
        #(#full_rows)*
    }
}

/// `TableEntity::set_version`, where fields hold the version.
fn set_version(fields: &[Field<'_>]) -> Option<TokenStream> {
    let versions: Vec<_> = fields
        .iter()
        .filter_map(|field| {
            let value = match field.role {
                Role::ETag => codec::version(field, "ETagField", hygienic!(etag.clone())),
                Role::Timestamp => codec::version(field, "TimestampField", hygienic!(_orm::None)),
                _ => return None,
            };
            let ident = field.ident;
            Some(hygienic!(self.#ident = #value;))
        })
        .collect();
    (!versions.is_empty()).then(|| {
        hygienic! {
            fn set_version(&mut self, etag: &_orm::ETag) {
                #(#versions)*
            }
        }
    })
}

pub fn escape(model: &Model<'_>) -> TokenStream {
    if model.entity.encode { quote!(_orm::Escape::Encode) } else { quote!(_orm::Escape::Reject) }
}

/// What only the types of the components can tell, checked where the template stands.
fn assertions(model: &Model<'_>) -> Vec<TokenStream> {
    let mut assertions = Vec::new();
    for key in model.keys() {
        let span = key.template.literal.span();
        for part in unknown(model, key) {
            if part.then.is_empty() && key.parts.last().is_some_and(|last| last.name != part.name) {
                let width = width(part);
                assertions.push(quote_spanned! {span=>
                    _orm::assert_fixed_width(#width);
                });
            }
        }
    }
    if let Some(open) = model.entity.fields.iter().rfind(|field| properties::is_open(field)) {
        let declared = properties::declared(&model.entity.fields);
        assertions.push(quote_spanned! {open.ty.span()=>
            _orm::assert_properties(#declared);
        });
    }
    assertions
}

fn width(part: &Part<'_>) -> TokenStream {
    let part = part.tokens();
    quote!(#part::WIDTH)
}

/// The components whose width only their types can tell.
fn unknown<'k, 'a>(model: &Model<'_>, key: &'k Key<'a>) -> impl Iterator<Item = &'k Part<'a>> {
    let encode = model.entity.encode;
    key.parts.iter().filter(move |part| part.width(encode) == Width::Unknown)
}

/// The longest key of each template, and the constants they are computed in, which stand where the
/// template does.
fn longest_keys(model: &Model<'_>, generic: bool) -> (TokenStream, Vec<TokenStream>) {
    let encode = model.entity.encode;
    let mut constants = TokenStream::new();
    let mut longest = Vec::new();
    for (index, key) in model.keys().enumerate() {
        let known = Literal::usize_unsuffixed(known_units(key, encode));
        let widths: Vec<_> = unknown(model, key).map(width).collect();
        longest.push(if key.parts.iter().any(|part| part.width(encode) == Width::Unbounded) {
            quote!(_orm::None)
        } else if widths.is_empty() {
            quote!(_orm::Some(#known))
        } else if generic {
            quote!(_orm::longest_key(#known, &[#(#widths),*]))
        } else {
            let name = format_ident!("__KEY_{index}");
            constants.extend(quote_spanned! {key.template.literal.span()=>
                const #name: _orm::Option<usize> = _orm::longest_key(#known, &[#(#widths),*]);
            });
            quote!(#name)
        });
    }
    (constants, longest)
}

fn partition_key(key: &Key<'_>) -> TokenStream {
    let start = literal(&key.template.start);
    let parts = key.parts.iter().map(part);
    quote!(#start #(#parts)*)
}

fn row_key(model: &Model<'_>) -> TokenStream {
    let rows = model.rows().map(|(row, key)| row_body(row.when.as_ref(), key));
    let guards = model.guards.iter().map(|key| row_body(None, key));
    let bodies: Vec<_> = rows.chain(guards).collect();
    match &bodies[..] {
        [only] => quote!(#only),
        [others @ .., last] => {
            let index = (0..others.len()).map(Literal::usize_unsuffixed);
            hygienic! {
                match row {
                    #(#index => { #others })*
                    _ => { #last }
                }
            }
        }
        [] => TokenStream::new(),
    }
}

fn row_body(when: Option<&Path>, key: &Key<'_>) -> TokenStream {
    let when = when.map(|path| {
        quote_spanned! {located(path)=>
            if !#path(self) {
                return _orm::Ok(false);
            }
        }
    });
    let start = literal(&key.template.start);
    let parts = key.parts.iter().map(part);
    quote!(#when #start #(#parts)*)
}

fn literal(text: &str) -> Option<TokenStream> {
    (!text.is_empty()).then(|| hygienic!(key.literal(#text);))
}

fn part(part: &Part<'_>) -> TokenStream {
    let Part { name, then, .. } = part;
    let part_of = part.tokens();
    let write = |value: TokenStream| hygienic!(#part_of::write(#value, key, #name, #then)?;);
    match part.source {
        Source::With(path) => write(quote_spanned!(located(path)=> &#path(self))),
        Source::Field(Field { ident, .. }) if part.sparse().is_some() => {
            let write = write(hygienic!(value));
            hygienic! {
                let _orm::Some(value) = &self.#ident else {
                    return _orm::Ok(false);
                };
                #write
            }
        }
        Source::Field(field) if matches!(part.encoder, Encoder::Shard(_)) => {
            let Field { ident, .. } = field;
            let shard = shard_of(field, &hygienic!(&self.#ident));
            write(hygienic!(&#shard))
        }
        Source::Field(Field { ident, .. }) => write(hygienic!(&self.#ident)),
    }
}

/// The shard of a field's value. A type that has none is one error, which shows the field.
fn shard_of(field: &Field<'_>, value: &TokenStream) -> TokenStream {
    quote_spanned!(located(field.ty)=> _orm::Shard::of(#value))
}

/// `Entity::partition(..)`, which asks for every component.
pub fn partition_fn(model: &Model<'_>, expansion: &Expansion<'_>) -> TokenStream {
    let entity = model.entity;
    let input = entity.input;
    let Expansion { ty, where_clause, .. } = expansion;
    let (params, args) = (expansion.params(), expansion.args());
    let vis = &input.vis;
    let partition = names::partition(entity);
    let name = input.ident.unraw().to_string();
    let escape = escape(model);
    let start = &model.partition.template.start;
    // Hygienic: a component may have the same name.
    let key = Ident::new("key", Span::mixed_site());
    // Errors about its arguments show the template.
    let at = model.partition.template.literal.span();
    let method = Ident::new("partition", at);
    let parameters = model.partition.parts.iter().map(|part| {
        let (mut ident, ty) = (part.ident.clone(), part.value_type());
        ident.set_span(ident.span().located_at(at));
        quote_spanned!(at=> #ident: impl _orm::Value<#ty>)
    });
    let parts = model.partition.parts.iter().map(|part| {
        let ident = &part.ident;
        match (part.encoder, part.source) {
            (Encoder::Shard(_), Source::Field(field)) => {
                let ty = field.value_type();
                let value = quote!(&_orm::Value::<#ty>::into_value(#ident));
                push(part, &key, &shard_of(field, &value))
            }
            _ => push(part, &key, &quote!(#ident)),
        }
    });
    let partitions = partitions_fn(model, expansion);
    let phantom = expansion.phantom_value();
    let doc = super::doc(format!(
        "The partition {}, whose rows can be asked for by key. Sends nothing.",
        super::query::such(&model.partition)
    ));
    quote! {
        impl #params #ty #where_clause {
            #doc
            #vis fn #method(#(#parameters),*) -> #partition #args {
                let #key = _orm::PartitionKey::new(#name, #escape, #start);
                #(#parts)*
                #partition(#key #phantom)
            }
            #partitions
        }
    }
}

fn push(part: &Part<'_>, key: &Ident, value: &TokenStream) -> TokenStream {
    let Part { name, then, .. } = part;
    let part = part.tokens();
    quote!(let #key = #part::push_partition(#key, #name, #value, #then);)
}

/// `Entity::partitions(..)`, where the partition has a shard: one for each of them.
fn partitions_fn(model: &Model<'_>, expansion: &Expansion<'_>) -> Option<TokenStream> {
    let parts = &model.partition.parts;
    let shards = parts.iter().find_map(|part| match part.encoder {
        Encoder::Shard(shards) => Some(shards),
        _ => None,
    })?;
    let entity = model.entity;
    let (vis, partition) = (&entity.input.vis, names::partition(entity));
    let name = entity.input.ident.unraw().to_string();
    let (escape, start) = (escape(model), &model.partition.template.start);
    let (args, phantom) = (expansion.args(), expansion.phantom_value());
    let [key, shard] = ["key", "shard"].map(|name| Ident::new(name, Span::mixed_site()));
    let others = parts.iter().filter(|part| !matches!(part.encoder, Encoder::Shard(_)));
    let parameters = others.clone().map(|part| {
        let (ident, ty) = (&part.ident, part.value_type());
        quote!(#ident: impl _orm::Value<#ty>)
    });
    let values = others.map(|part| {
        let (ident, ty) = (&part.ident, part.value_type());
        quote!(let #ident = _orm::Value::<#ty>::into_value(#ident);)
    });
    let parts = parts.iter().map(|part| {
        let Part { ident, name, then, .. } = part;
        let value = if matches!(part.encoder, Encoder::Shard(_)) { &shard } else { ident };
        let part = part.tokens();
        quote!(let #key = #part::push_ref(&#value, #key, #name, #then);)
    });
    let doc = super::doc(format!(
        "The {shards} partitions `{}` that share a load, to be read by `Repo::list_many`.",
        model.partition.template.text
    ));
    Some(quote! {
        #doc
        #vis fn partitions(#(#parameters),*) -> _orm::Vec<#partition #args> {
            #(#values)*
            _orm::Shard::all()
                .map(|#shard| {
                    let #key = _orm::PartitionKey::new(#name, #escape, #start);
                    #(#parts)*
                    #partition(#key #phantom)
                })
                .collect()
        }
    })
}
