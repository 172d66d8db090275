//! The parts of an attribute: `name`, `name = value`, `name(..)`.

use crate::errors::{Errors, mistake, text};
use crate::nearest::suggestion;
use crate::symbol::Attribute;
use crate::tokens::*;
use std::fmt::Display;
use std::ops::Range;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Ident, Lit, Token, parenthesized, token};

pub struct Item {
    pub name: Ident,
    pub value: Value,
}

pub enum Value {
    None,
    Literal(Lit),
    Path(Path),
    /// `path(..)`.
    Call(Path, TokenStream),
    List(TokenStream),
}

/// `each(name in field)`: each element of a field, and its name.
pub struct Each {
    pub name: Ident,
    pub field: Ident,
}

impl Parse for Each {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![in]>()?;
        Ok(Self { name, field: input.parse()? })
    }
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = ident(input, "`name`, `name = value` or `name(..)`, without quotes")?;
        let value = if input.peek(token::Paren) {
            Value::List(parenthesized_tokens(input)?)
        } else if input.parse::<Option<Token![=]>>()?.is_none() {
            Value::None
        } else if input.peek(Lit) {
            Value::Literal(input.parse()?)
        } else {
            let no_value = |_| mistake!(name => "`{name}` has no literal or path", help: "write it after `=`, as in `table(name = \"orders\")` or `row(.., when = Order::is_open)`");
            let path = input.parse().map_err(no_value)?;
            if input.peek(token::Paren) {
                Value::Call(path, parenthesized_tokens(input)?)
            } else {
                Value::Path(path)
            }
        };
        ends(input, &name, "`name = value`, with a comma before the next")?;
        Ok(Self { name, value })
    }
}

/// A name, or an error with `instead` as its help.
fn ident(input: ParseStream<'_>, instead: &str) -> syn::Result<Ident> {
    let there = input.call(Ident::parse_any);
    there.map_err(|_| wrong_here(input, "expected a name", instead))
}

/// Whether a part ends here, or an error with `instead` as its help.
fn ends(input: ParseStream<'_>, name: &Ident, instead: &str) -> syn::Result<()> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(());
    }
    Err(wrong_here(input, format!("unexpected text after `{name}`"), instead))
}

/// The name, if a method can have it.
pub fn method(name: Ident) -> syn::Result<Ident> {
    let text = name.to_string();
    if syn::parse_str::<Ident>(&text).is_ok() {
        return Ok(name);
    }
    let help = match syn::parse_str::<Ident>(&format!("r#{text}")) {
        Ok(raw) => format!("write `{raw}`, or another name"),
        Err(_) => "write another name".to_owned(),
    };
    Err(mistake!(name => "`{text}` is a keyword of Rust, so no method can have that name",
        help = help))
}

fn wrong_here(input: ParseStream<'_>, wrong: impl Display, instead: &str) -> syn::Error {
    let next = input.cursor().token_tree().map(|(next, _)| next);
    let span = next.map_or_else(|| input.span(), |next| next.span());
    syn::Error::new(span, text(wrong, format_args!("write {instead}")))
}

fn parenthesized_tokens(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let content;
    parenthesized!(content in input);
    content.parse()
}

/// Parts of an attribute, separated by commas.
pub fn parts(input: ParseStream<'_>) -> syn::Result<Vec<Item>> {
    Ok(input.parse_terminated(Item::parse, Token![,])?.into_iter().collect())
}

/// What a part of an attribute is read as.
pub trait Given: Sized {
    /// What is wrong with another form, and what the help says to write after the name.
    const FORM: (&'static str, &'static str);

    /// The value, or `None` where the form is another one.
    fn read(name: &Ident, value: Value) -> syn::Result<Option<Self>>;
}

/// For each type what is wrong with another form, what follows the name, and how the value is read.
macro_rules! given {
    ($($ty:ty: $wrong:literal, $after:literal, |$name:ident| { $($pattern:pat => $value:expr,)+ })+) => {$(
        impl Given for $ty {
            const FORM: (&'static str, &'static str) = ($wrong, $after);

            fn read($name: &Ident, value: Value) -> syn::Result<Option<Self>> {
                Ok(match value { $($pattern => $value,)+ _ => None })
            }
        }
    )+};
}

given! {
    Span: "takes no value", "", |name| { Value::None => Some(name.span()), }
    LitStr: "takes another kind of value", " = \"..\"", |_name| {
        Value::Literal(Lit::Str(text)) => Some(text),
    }
    Path: "takes another kind of value", " = path", |_name| { Value::Path(path) => Some(path), }
    Option<Path>: "takes another kind of value", " = path", |_name| {
        Value::None => Some(None),
        Value::Path(path) => Some(Some(path)),
    }
    // A field.
    Ident: "takes another kind of value", " = field", |_name| {
        Value::Path(path) => path.get_ident().cloned(),
    }
    // A number, and how it is written.
    (u64, LitInt): "takes another kind of value", " = N", |_name| {
        Value::Literal(Lit::Int(number)) => Some((number.base10_parse()?, number)),
    }
    Range<LitInt>: "needs a range of numbers", "(a..b)", |_name| {
        Value::List(tokens) => range.parse2(tokens).ok(),
    }
    Each: "names one field, and its elements", "(element in field)", |_name| {
        Value::List(tokens) => syn::parse2(tokens).ok(),
    }
    Vec<Ident>: "needs a list of fields", "(field, ..)", |_name| {
        Value::List(tokens) => Some(idents(tokens)?),
    }
    // The parts of a `unique(..)`.
    (Ident, Vec<Item>): "needs a list of fields", "(field, ..)", |name| {
        Value::List(tokens) => Some((name.clone(), parts.parse2(tokens)?)),
    }
    // The options of `outbox`.
    Vec<Item>: "takes no value", "` or `outbox(..)", |_name| {
        Value::None => Some(Vec::new()),
        Value::List(tokens) => Some(parts.parse2(tokens)?),
    }
}

/// The parts of all attributes of one name on one item. Each part may occur once; only `unique` and
/// `alias` may be repeated.
pub struct Items<'e> {
    items: Vec<Item>,
    errors: &'e Errors,
}

impl<'e> Items<'e> {
    pub fn of(attrs: &[syn::Attribute], attribute: Attribute, errors: &'e Errors) -> Self {
        let attrs = attrs.iter().filter(|attr| attr.path().is_ident(attribute.0));
        let parts = attrs.filter_map(|attr| errors.keep(attr.parse_args_with(parts)));
        Self::new(parts.flatten(), attribute, errors)
    }

    pub fn new(
        parts: impl IntoIterator<Item = Item>,
        (attribute, known): Attribute,
        errors: &'e Errors,
    ) -> Self {
        let mut items: Vec<Item> = Vec::new();
        for item in parts {
            let name = item.name.to_string();
            if !known.split(' ').any(|known| known == name) {
                mistake!(errors, item.name => "`{name}` is not an attribute of `#[{attribute}(..)]` here",
                    help = suggestion(&name, known.split(' ')));
            } else if !["unique", "alias"].contains(&&*name)
                && items.iter().any(|other| other.name == item.name)
            {
                mistake!(errors, item.name => "`{name}` is given twice", help: "remove one of them");
            } else {
                items.push(item);
            }
        }
        Self { items, errors }
    }

    pub fn has(&self, name: &str) -> bool {
        self.items.iter().any(|item| item.name == name)
    }

    /// The part of that name, or `None` without it or after an error.
    pub fn get<T: Given>(&mut self, name: &str) -> Option<T> {
        let at = self.items.iter().position(|item| item.name == name)?;
        let (Item { name, value }, errors) = (self.items.remove(at), self.errors);
        let given = errors.keep(T::read(&name, value))?;
        if given.is_none() {
            let (wrong, form) = T::FORM;
            let form = if name == "bucket" { "(month, at)" } else { form };
            mistake!(errors, name => "`{name}` {wrong}", help: "write `{name}{form}`");
        }
        given
    }

    /// Every part of that name.
    pub fn all<T: Given>(&mut self, name: &str) -> Vec<T> {
        let mut all = Vec::new();
        while self.has(name) {
            all.extend(self.get::<T>(name));
        }
        all
    }

    /// `crate = a::path`: the path of `table_orm` from the user's crate.
    pub fn krate(&mut self) -> TokenStream {
        self.get("crate").map_or_else(|| quote!(::table_orm), |path: Path| quote!(#path))
    }
}

fn range(input: ParseStream<'_>) -> syn::Result<Range<LitInt>> {
    let start = input.parse()?;
    input.parse::<Token![..]>()?;
    Ok(start..input.parse()?)
}

fn idents(tokens: TokenStream) -> syn::Result<Vec<Ident>> {
    let name = |input: ParseStream<'_>| {
        let name = ident(input, "names without quotes, separated by commas")?;
        ends(input, &name, "names separated by commas")?;
        Ok(name)
    };
    let parse =
        |input: ParseStream<'_>| Punctuated::<Ident, Token![,]>::parse_terminated_with(input, name);
    parse.parse2(tokens).map(|names| names.into_iter().collect())
}

/// `#[row(NAME, ..)]`: the name, which a method can have, and the other parts.
pub fn named(attr: &syn::Attribute) -> syn::Result<(Ident, Vec<Item>)> {
    const EXAMPLE: &str = "`#[row(by_x, key = \"..\")]`";
    attr.parse_args_with(|input: ParseStream<'_>| {
        let name = ident(input, EXAMPLE)?;
        if input.peek(Token![=]) || input.peek(token::Paren) {
            return Err(mistake!(name => "the row has no name", help: "write {EXAMPLE}"));
        }
        if !input.is_empty() && !input.peek(Token![,]) {
            return Err(wrong_here(input, "a comma is missing before this", EXAMPLE));
        }
        let name = method(name)?;
        input.parse::<Option<Token![,]>>()?;
        Ok((name, parts(input)?))
    })
}
