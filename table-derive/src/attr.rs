//! The parts of an attribute: `name`, `name = value`, `name(..)`.

use crate::errors::{Errors, mistake, text};
use crate::nearest::suggestion;
use crate::symbol::Attribute;
use crate::tokens::*;
use std::fmt::Display;
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
        if !input.is_empty() && !input.peek(Token![,]) {
            let wrong = format!("unexpected text after `{name}`");
            return Err(wrong_here(input, wrong, "`name = value`, with a comma before the next"));
        }
        Ok(Self { name, value })
    }
}

/// A name, or an error with `instead` as its help.
fn ident(input: ParseStream<'_>, instead: &str) -> syn::Result<Ident> {
    let there = input.call(Ident::parse_any);
    there.map_err(|_| wrong_here(input, "expected a name", instead))
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

/// The parts of all attributes of one name on one item. Each part may occur once; only `unique` and
/// `alias` may be repeated.
pub struct Items(Vec<Item>);

impl Items {
    pub fn of(attrs: &[syn::Attribute], attribute: Attribute, errors: &mut Errors) -> Self {
        let attrs = attrs.iter().filter(|attr| attr.path().is_ident(attribute.0));
        let parts = attrs.filter_map(|attr| errors.keep(attr.parse_args_with(parts)));
        let parts: Vec<_> = parts.flatten().collect();
        Self::new(parts, attribute, errors)
    }

    pub fn new(
        parts: impl IntoIterator<Item = Item>,
        (attribute, known): Attribute,
        errors: &mut Errors,
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
        Self(items)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|item| item.name == name)
    }

    fn take(&mut self, name: &str) -> Option<Item> {
        let at = self.0.iter().position(|item| item.name == name)?;
        Some(self.0.remove(at))
    }

    /// `name`, with its span.
    pub fn flag(&mut self, name: &str, errors: &mut Errors) -> Option<Span> {
        let item = self.take(name)?;
        if !matches!(item.value, Value::None) {
            mistake!(errors, item.name => "`{name}` takes no value", help: "write `{name}`");
        }
        Some(item.name.span())
    }

    /// `name` or `name(..)`, with the parts in it.
    pub fn options(&mut self, attribute: Attribute, errors: &mut Errors) -> Option<Self> {
        let item = self.take(attribute.0)?;
        let options = match item.value {
            Value::List(tokens) => errors.keep(parts.parse2(tokens))?,
            Value::None => Vec::new(),
            _ => {
                let name = item.name;
                mistake!(errors, name => "`{name}` takes no value", help: "write `{name}` or `{name}(..)`");
                return None;
            }
        };
        Some(Self::new(options, attribute, errors))
    }

    /// `name = "text"`.
    pub fn text(&mut self, name: &str, errors: &mut Errors) -> Option<LitStr> {
        let item = self.take(name)?;
        match item.value {
            Value::Literal(Lit::Str(text)) => Some(text),
            _ => wrong_value(&item.name, "\"..\"", errors),
        }
    }

    /// Every `name = "text"`.
    pub fn texts(&mut self, name: &str, errors: &mut Errors) -> Vec<LitStr> {
        let mut texts = Vec::new();
        while self.has(name) {
            texts.extend(self.text(name, errors));
        }
        texts
    }

    /// `name = 1`, with the number.
    pub fn number(&mut self, name: &str, errors: &mut Errors) -> Option<(u64, LitInt)> {
        let item = self.take(name)?;
        match item.value {
            Value::Literal(Lit::Int(number)) => {
                errors.keep(number.base10_parse()).map(|value| (value, number))
            }
            _ => wrong_value(&item.name, "N", errors),
        }
    }

    /// `name = a::path`.
    pub fn path(&mut self, name: &str, errors: &mut Errors) -> Option<Path> {
        let item = self.take(name)?;
        match item.value {
            Value::Path(path) => Some(path),
            _ => wrong_value(&item.name, "path", errors),
        }
    }

    /// `name = field`.
    pub fn field(&mut self, name: &str, errors: &mut Errors) -> Option<Ident> {
        let item = self.take(name)?;
        match &item.value {
            Value::Path(path) if path.get_ident().is_some() => path.get_ident().cloned(),
            _ => wrong_value(&item.name, "field", errors),
        }
    }

    /// `crate = a::path`: the path of `table_orm` from the user's crate.
    pub fn krate(&mut self, errors: &mut Errors) -> TokenStream {
        self.path("crate", errors).map_or_else(|| quote!(::table_orm), ToTokens::into_token_stream)
    }

    /// `name` or `name = a::path`.
    pub fn flag_or_path(&mut self, name: &str, errors: &mut Errors) -> Option<Option<Path>> {
        let item = self.take(name)?;
        match item.value {
            Value::None => Some(None),
            Value::Path(path) => Some(Some(path)),
            _ => wrong_value(&item.name, "path", errors),
        }
    }

    /// Every `name(..)`, with its name and its parts.
    pub fn lists(&mut self, name: &str, errors: &mut Errors) -> Vec<(Ident, Vec<Item>)> {
        let mut lists = Vec::new();
        while self.has(name) {
            let Some((at, tokens)) = self.list(name, errors) else { continue };
            lists.extend(errors.keep(parts.parse2(tokens)).map(|parts| (at, parts)));
        }
        lists
    }

    /// `name(a, b)`.
    pub fn names(&mut self, name: &str, errors: &mut Errors) -> Option<Vec<Ident>> {
        let (_, tokens) = self.list(name, errors)?;
        errors.keep(idents(tokens))
    }

    /// `each(name in field)`.
    pub fn each(&mut self, errors: &mut Errors) -> Option<Each> {
        let Item { name, value } = self.take("each")?;
        let each = if let Value::List(tokens) = value { syn::parse2(tokens).ok() } else { None };
        if each.is_none() {
            mistake!(errors, name => "`each` names one field, and its elements", help: "write `each(element in field)`");
        }
        each
    }

    /// `name(a..b)`.
    pub fn range(&mut self, name: &str, errors: &mut Errors) -> Option<(LitInt, LitInt)> {
        let item = self.take(name)?;
        let range = |input: ParseStream<'_>| {
            let from = input.parse()?;
            input.parse::<Token![..]>()?;
            Ok((from, input.parse()?))
        };
        let range = match item.value {
            Value::List(tokens) => range.parse2(tokens).ok(),
            _ => None,
        };
        if range.is_none() {
            mistake!(errors, item.name => "`{name}` needs a range of numbers", help: "write `{name}(a..b)`");
        }
        range
    }

    /// `name(..)`, with its name and its tokens.
    fn list(&mut self, name: &str, errors: &mut Errors) -> Option<(Ident, TokenStream)> {
        let item = self.take(name)?;
        if let Value::List(tokens) = item.value {
            return Some((item.name, tokens));
        }
        let list = if name == "bucket" { "month, at" } else { "field, .." };
        mistake!(errors, item.name => "`{name}` needs a list of fields", help: "write `{name}({list})`");
        None
    }
}

fn wrong_value<T>(name: &Ident, value: &str, errors: &mut Errors) -> Option<T> {
    mistake!(errors, name => "`{name}` takes another kind of value", help: "write `{name} = {value}`");
    None
}

fn idents(tokens: TokenStream) -> syn::Result<Vec<Ident>> {
    let name = |input: ParseStream<'_>| {
        let name = ident(input, "names without quotes, separated by commas")?;
        if input.is_empty() || input.peek(Token![,]) {
            return Ok(name);
        }
        let wrong = format!("unexpected text after `{name}`");
        Err(wrong_here(input, wrong, "names separated by commas"))
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
