//! A component: what the user wrote in `#[component(..)]`.

use crate::attr::{Item, Value, method, parts};
use crate::errors::{Errors, mistake};
use crate::nearest::suggestion;
use crate::tokens::*;
use syn::Token;
use syn::parse::{Parse, ParseStream, Parser};

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

/// The components, and the names of those with errors.
pub fn components(attrs: &[syn::Attribute], errors: &Errors) -> (Vec<Component>, Vec<String>) {
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
    let wrong = |at: &dyn ToTokens| {
        mistake!(at => "`shard` takes a field and a number of partitions from 2 to 10000",
            help: "write `shard(field, N)`, such as `shard(id, 16)`")
    };
    let (field, number): (_, LitInt) = field_and(argument).ok_or_else(|| wrong(encoder))?;
    match number.base10_parse() {
        Ok(shards @ 2..=10_000) => Ok((Encoder::Shard(shards), field)),
        _ => Err(wrong(&number)),
    }
}

fn spread(encoder: &Path, argument: TokenStream) -> syn::Result<(Encoder, Argument)> {
    match field_and::<Ident>(argument) {
        Some((field, unit)) if unit == "second" => Ok((Encoder::Spread, field)),
        _ => Err(mistake!(encoder => "`spread` takes the field of an instant, and `second`",
            help: "write `spread(field, second)`")),
    }
}

/// `field, more`.
fn field_and<T: Parse>(argument: TokenStream) -> Option<(Argument, T)> {
    let parse = |input: ParseStream<'_>| {
        let field = Ident::parse_any(input)?;
        input.parse::<Token![,]>()?;
        Ok((Argument::Field(field), input.parse()?))
    };
    parse.parse2(argument).ok()
}
