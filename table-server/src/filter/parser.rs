//! The grammar of a filter: `or` binds weakest, then `and`, `not`, and a comparison.

use super::lexer::{Lexer, Token};
use super::{FilterError, MAX_DEPTH, MAX_TERMS};
use table_orm::model::Edm;
use table_orm::query::{Comparison, Filter};

/// Reads the text of a filter.
///
/// # Errors
/// The text is not a filter, or exceeds a limit.
///
/// ```
/// use table_orm::query::{Comparison, Filter};
/// let filter = table_server::filter::parse("City eq 'O''Brien' and not (Age lt 5L)")?;
/// let city = Filter::compare("City", Comparison::Equal, "O'Brien");
/// assert_eq!(filter, city.and(!Filter::compare("Age", Comparison::Less, 5_i64)));
/// # Ok::<(), table_server::filter::FilterError>(())
/// ```
pub fn parse(text: &str) -> Result<Filter, FilterError> {
    let mut parser = Parser { lexer: Lexer::new(text), depth: 0, terms: 0 };
    let filter = parser.any_of()?;
    let at = parser.lexer.position();
    match parser.lexer.next()? {
        None => Ok(filter),
        Some(_) => Err(expected("`and`, `or` or the end", at)),
    }
}

const fn expected(expected: &'static str, at: usize) -> FilterError {
    FilterError::Syntax { at, expected }
}

const COMPARISON: &str = "`eq`, `ne`, `gt`, `ge`, `lt` or `le`";
const VALUE: &str = "a value, such as 5 or 'Ann',";

struct Parser<'t> {
    lexer: Lexer<'t>,
    depth: usize,
    terms: usize,
}

/// One side of a comparison.
enum Operand<'t> {
    Property(&'t str),
    Value(Edm),
}

impl<'t> Parser<'t> {
    /// Reads `a or b or ..`.
    fn any_of(&mut self) -> Result<Filter, FilterError> {
        let mut filter = self.all_of()?;
        while self.takes_word("or")? {
            filter = filter.or(self.all_of()?);
        }
        Ok(filter)
    }

    /// Reads `a and b and ..`.
    fn all_of(&mut self) -> Result<Filter, FilterError> {
        let mut filter = self.term()?;
        while self.takes_word("and")? {
            filter = filter.and(self.term()?);
        }
        Ok(filter)
    }

    /// Reads `not a`, `(a)` or a comparison.
    fn term(&mut self) -> Result<Filter, FilterError> {
        if self.takes_word("not")? {
            return self.deeper(Self::term).map(|filter| !filter);
        }
        let before = self.lexer.clone();
        if self.lexer.next()? != Some(Token::Open) {
            self.lexer = before;
            return self.comparison();
        }
        let filter = self.deeper(Self::any_of)?;
        let at = self.lexer.position();
        match self.lexer.next()? {
            Some(Token::Close) => Ok(filter),
            _ => Err(expected("`and`, `or` or `)`", at)),
        }
    }

    fn deeper(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Filter, FilterError>,
    ) -> Result<Filter, FilterError> {
        if self.depth == MAX_DEPTH {
            return Err(FilterError::TooDeep);
        }
        self.depth += 1;
        let filter = read(self)?;
        self.depth -= 1;
        Ok(filter)
    }

    fn comparison(&mut self) -> Result<Filter, FilterError> {
        if self.terms == MAX_TERMS {
            return Err(FilterError::TooLong);
        }
        self.terms += 1;
        let left = self.operand()?;
        let at = self.lexer.position();
        let before = self.lexer.clone();
        let next = self.lexer.next()?;
        let comparison = match next {
            Some(Token::Word(word)) => comparison(word),
            Some(Token::Open) => return Err(FilterError::Function),
            _ => None,
        };
        let Some(comparison) = comparison else {
            return match (left, next) {
                // A boolean property alone.
                (
                    Operand::Property(property),
                    None | Some(Token::Close | Token::Word("and" | "or")),
                ) => {
                    self.lexer = before;
                    Ok(compare(property, Comparison::Equal, true.into()))
                }
                _ => Err(expected(COMPARISON, at)),
            };
        };
        let at = self.lexer.position();
        match (left, self.operand()?) {
            (Operand::Property(property), Operand::Value(value)) => {
                Ok(compare(property, comparison, value))
            }
            (Operand::Value(value), Operand::Property(property)) => {
                Ok(compare(property, swapped(comparison), value))
            }
            (Operand::Property(_), Operand::Property(_)) => Err(expected(VALUE, at)),
            (Operand::Value(_), Operand::Value(_)) => Err(expected("the name of a property", at)),
        }
    }

    fn operand(&mut self) -> Result<Operand<'t>, FilterError> {
        let at = self.lexer.position();
        match self.lexer.next()? {
            Some(Token::Literal(value)) => Ok(Operand::Value(value)),
            Some(Token::Word(word)) if !is_reserved(word) => Ok(Operand::Property(word)),
            _ => Err(expected("the name of a property, or a value, such as 5 or 'Ann',", at)),
        }
    }

    /// Moves past the next token if it is this word.
    fn takes_word(&mut self, word: &str) -> Result<bool, FilterError> {
        let before = self.lexer.clone();
        let found = matches!(self.lexer.next()?, Some(Token::Word(found)) if found == word);
        if !found {
            self.lexer = before;
        }
        Ok(found)
    }
}

fn compare(property: &str, comparison: Comparison, value: Edm) -> Filter {
    Filter::compare(property.to_owned(), comparison, value)
}

fn is_reserved(word: &str) -> bool {
    matches!(word, "and" | "or" | "not" | "null") || comparison(word).is_some()
}

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
];

fn comparison(word: &str) -> Option<Comparison> {
    COMPARISONS.into_iter().find(|comparison| comparison.name() == word)
}

/// The comparison with its sides swapped.
const fn swapped(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        same => same,
    }
}
