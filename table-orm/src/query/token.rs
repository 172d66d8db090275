//! Page tokens: where a page is, as text for a client to send back.
//!
//! Invariant: a token resumes only the query it came from. It has a hash of the table, keys, filter
//! and projection, and a checksum of itself. It hides nothing and grants nothing.

use super::RowQuery;
use super::many_place::ManyPlace;
use super::page_place::PagePlace;
use crate::key::fnv;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The format of a token of one query.
const ONE: u8 = 2;
/// The format of a token of several queries. Format 3 led forward only.
const MANY: u8 = 4;

/// Where the next or the previous page is: URL-safe text, bound to its query.
///
/// `Display` writes the text, `FromStr` reads it, and [`Pages::resume`](crate::repo::Pages::resume)
/// continues there. With `serde` it is that text, too, and what is no token does not deserialize.
///
/// ```
/// use table_orm::query::{PageToken, TokenError};
/// use table_orm::{Error, TableEntity, Tables};
///
/// #[derive(Debug, TableEntity)]
/// #[table(name = "readings", partition = "{sensor}", row = "{day:05}")]
/// struct Reading { sensor: String, day: u32 }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let readings = Tables::in_memory()?.repo::<Reading>();
/// # readings.create_table().await?;
/// # let days = (0..5).map(|day| Reading { sensor: "roof".into(), day });
/// # readings.insert_many(days).await.all()?;
/// let mut pages = readings.list(Reading::partition("roof").row()).pages(3);
/// let page = pages.next().await?.ok_or("no page")?;
/// assert_eq!(page.items.len(), 3);
/// let text = page.next.map(|token| token.to_string()).ok_or("no more pages")?;
///
/// // The client asks for the next page, with the text in its request:
/// let token: PageToken = text.parse()?;
/// let mut pages = readings.list(Reading::partition("roof").row()).pages(3).resume(token);
/// let page = pages.next().await?.ok_or("no page")?;
/// assert_eq!((page.items.len(), page.next), (2, None));
///
/// // It goes back the same way.
/// let back = page.previous.ok_or("no previous page")?;
/// let mut pages = readings.list(Reading::partition("roof").row()).pages(3).resume(back);
/// let page = pages.next().await?.ok_or("no page")?;
/// assert_eq!((page.items.len(), page.previous), (3, None));
///
/// // Another query does not accept it. Nothing is sent.
/// let mut pages = readings.list(Reading::partition("cellar").row()).pages(3).resume(text.parse()?);
/// assert!(matches!(pages.next().await, Err(Error::Token(TokenError::OtherQuery))));
/// # Ok(())
/// # }
/// ```
///
/// The text contains keys: those at which its page starts, as the store sent them, and those at which
/// earlier pages start, in at most 1,366 characters. They are base64 that everybody can read:
/// [seal](crate::guide::work::pages#sealed-tokens) the token where keys are secret. The checks are
/// against accidents, such as a text cut short or a token of another query. The token is not signed: a
/// client that knows the format can make one that starts at another key. It still reads only rows of
/// the query that it resumes, because the table, keys and filter come from the query. A token shows a
/// client no more than the query does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageToken {
    query: u64,
    place: TokenPlace,
}

/// Where the page of a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TokenPlace {
    One(PagePlace),
    Many(ManyPlace),
}

/// A page token that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The text is not a page token, or is cut short.
    #[error("this text is not a page token; pass the token of a page unchanged")]
    Malformed,
    /// The token has another version of the format.
    #[error(
        "this page token has format {0}, which this program cannot read; start from the first page"
    )]
    Version(u8),
    /// The token is of another query.
    #[error(
        "this page token belongs to another query; resume the same query, or start from the first \
         page"
    )]
    OtherQuery,
}

impl PageToken {
    /// The page of a query with this [`fingerprint`].
    pub(crate) const fn new(query: u64, place: PagePlace) -> Self {
        Self { query, place: TokenPlace::One(place) }
    }

    /// The page of several queries with this [fingerprint](fingerprint_of_many).
    pub(crate) const fn of_many(queries: u64, place: ManyPlace) -> Self {
        Self { query: queries, place: TokenPlace::Many(place) }
    }

    /// The page, if the token came from that query.
    pub(crate) fn open(self, query: &RowQuery) -> Result<PagePlace, TokenError> {
        match self.place {
            TokenPlace::One(place) if self.query == fingerprint(query) => Ok(place),
            _ => Err(TokenError::OtherQuery),
        }
    }

    /// The page, if the token came from the queries with this [fingerprint](fingerprint_of_many).
    pub(crate) fn open_many(self, queries: u64) -> Result<ManyPlace, TokenError> {
        match self.place {
            TokenPlace::Many(place) if self.query == queries => Ok(place),
            _ => Err(TokenError::OtherQuery),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![match self.place {
            TokenPlace::One(_) => ONE,
            TokenPlace::Many(_) => MANY,
        }];
        bytes.extend_from_slice(&self.query.to_be_bytes());
        match &self.place {
            TokenPlace::One(place) => place.write(&mut bytes),
            TokenPlace::Many(place) => place.write(&mut bytes),
        }
        let check = fnv(&bytes) as u32;
        bytes.extend_from_slice(&check.to_be_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, TokenError> {
        match bytes.first() {
            Some(&(ONE | MANY)) => parse(bytes).ok_or(TokenError::Malformed),
            Some(&version) if bytes.len() > 8 => Err(TokenError::Version(version)),
            _ => Err(TokenError::Malformed),
        }
    }
}

/// A hash of what decides which rows and columns a query returns, and of nothing else.
pub(crate) fn fingerprint(query: &RowQuery) -> u64 {
    let table = query.table.as_str().to_ascii_lowercase();
    let filter = query.filter_text().unwrap_or_default();
    let select = query.select.as_ref().map_or_else(|| "*".to_owned(), |names| names.join(","));
    fnv(format!("{table}\0{filter}\0{select}").as_bytes())
}

/// A hash of the [fingerprints](fingerprint) of several queries, in their order.
pub(crate) fn fingerprint_of_many(queries: impl IntoIterator<Item = u64>) -> u64 {
    let bytes: Vec<_> = queries.into_iter().flat_map(u64::to_be_bytes).collect();
    fnv(&bytes)
}

impl fmt::Display for PageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.bytes()))
    }
}

impl FromStr for PageToken {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        Self::from_bytes(&URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Malformed)?)
    }
}

/// As its text.
impl Serialize for PageToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// From its text, as `FromStr`.
impl<'de> Deserialize<'de> for PageToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = PageToken;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the text of a page token")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PageToken, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

fn parse(bytes: &[u8]) -> Option<PageToken> {
    let (body, check) = bytes.split_last_chunk::<4>()?;
    if fnv(body) as u32 != u32::from_be_bytes(*check) {
        return None;
    }
    let (version, body) = body.split_first()?;
    let (query, place) = body.split_first_chunk::<8>()?;
    let place = match *version {
        ONE => TokenPlace::One(PagePlace::read(place)?),
        _ => TokenPlace::Many(ManyPlace::read(place)?),
    };
    Some(PageToken { query: u64::from_be_bytes(*query), place })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Continuation;
    use crate::query::page_place::PageStart;
    use crate::query::{KeyRange, ManyStart, Span};
    use proptest::prelude::*;

    fn query(prefix: &str) -> RowQuery {
        let Ok(table) = "races".parse() else { unreachable!() };
        RowQuery::new(table, KeyRange { row: Span::prefix(prefix), ..KeyRange::ALL })
    }

    fn token(query: &RowQuery) -> PageToken {
        PageToken::new(fingerprint(query), PagePlace::default())
    }

    #[test]
    fn a_token_resumes_only_its_own_query() {
        let token = token(&query("A"));
        assert_eq!(token.clone().open(&query("A")), Ok(PagePlace::default()));
        assert_eq!(token.open(&query("B")), Err(TokenError::OtherQuery));
    }

    #[test]
    fn an_altered_token_is_rejected() {
        let text = token(&query("A")).to_string();
        assert_eq!(text[1..].parse::<PageToken>(), Err(TokenError::Malformed));
        assert_eq!("".parse::<PageToken>(), Err(TokenError::Malformed));
        assert_eq!(
            format!("B{}", &text[1..]).parse::<PageToken>(),
            Err(TokenError::Version(ONE + 4))
        );
    }

    #[test]
    fn what_is_no_token_does_not_deserialize() {
        let text = token(&query("A")).to_string();
        for (json, error) in [
            (format!("\"{}\"", &text[1..]), TokenError::Malformed.to_string()),
            (format!("\"B{}\"", &text[1..]), TokenError::Version(ONE + 4).to_string()),
            ("7".to_owned(), "expected the text of a page token".to_owned()),
            ("null".to_owned(), "expected the text of a page token".to_owned()),
        ] {
            let found = serde_json::from_str::<PageToken>(&json).unwrap_err().to_string();
            assert!(found.contains(&error), "{found}");
        }
    }

    #[test]
    fn a_token_of_the_version_before_says_so() {
        // The end of the first page of three rows, as format 1 wrote it.
        let text = "AQAAAAAAAAAAAAAAAAAAAAAAAAAA";
        assert_eq!(text.parse::<PageToken>(), Err(TokenError::Version(1)));
    }

    #[test]
    fn a_token_of_several_queries_of_the_version_before_says_so() {
        let text = URL_SAFE_NO_PAD.encode([&[3][..], &[0; 20]].concat());
        assert_eq!(text.parse::<PageToken>(), Err(TokenError::Version(3)));
    }

    type Texts = (Option<String>, Option<String>, Option<(String, String)>);

    fn start((next_partition_key, next_row_key, key): Texts) -> PageStart {
        PageStart { continuation: Continuation { next_partition_key, next_row_key }, key }
    }

    proptest! {
        #[test]
        fn tokens_come_back_whole(
            before in any::<Texts>(),
            at in any::<Texts>(),
            after in any::<Texts>(),
            back in any::<bool>(),
        ) {
            let page = PagePlace::default().after(start(before)).after(start(at)).after(start(after));
            let place = if back { page.before(|| None).unwrap() } else { page };
            let token = PageToken::new(fingerprint(&query("A")), place);
            let text = token.to_string();
            prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            prop_assert_eq!(text.parse::<PageToken>(), Ok(token.clone()));
            let json = serde_json::to_value(&token).unwrap();
            prop_assert_eq!(json.as_str(), Some(&*text));
            prop_assert_eq!(serde_json::from_value::<PageToken>(json).unwrap(), token);
        }

        #[test]
        fn tokens_of_several_queries_come_back_whole(
            number in 0_usize..20_000,
            read in any::<u32>(),
            at_texts in any::<Texts>(),
            after in any::<Texts>(),
            back in any::<bool>(),
        ) {
            let at = |texts| ManyStart { query: number, read: read as usize, start: start(texts) };
            let page = ManyPlace::default().after(at(at_texts)).after(at(after));
            let place = if back { page.before(None).unwrap() } else { page };
            let token = PageToken::of_many(7, place.clone());
            let read: PageToken = token.to_string().parse().unwrap();
            prop_assert_eq!(read.clone().open_many(7), Ok(place));
            prop_assert_eq!(read.clone().open_many(8), Err(TokenError::OtherQuery));
            prop_assert_eq!(read.open(&query("A")), Err(TokenError::OtherQuery));
        }

        #[test]
        fn bytes_that_are_no_token_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            for version in [ONE, MANY] {
                let mut bytes = [&[version], &bytes[..]].concat();
                let check = fnv(&bytes) as u32;
                bytes.extend_from_slice(&check.to_be_bytes());
                if let Ok(token) = PageToken::from_bytes(&bytes) {
                    prop_assert_eq!(PageToken::from_bytes(&token.bytes()), Ok(token));
                }
            }
        }
    }
}
