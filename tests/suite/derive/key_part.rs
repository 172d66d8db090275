//! `#[derive(KeyPart)]`: codes and newtypes.

use super::{exact, keys, properties, read_back, row_keys};
use std::borrow::Cow;
use table_orm::key::{KeyFault, KeyPart as Part, KeyText, Padded, Sorted, Width};
use table_orm::model::Edm;
use table_orm::property::Property;
use table_orm::query::Span;
use table_orm::{KeyPart, TableEntity};

#[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
enum Grade {
    #[key("A")]
    Best,
    #[key("B2")]
    Good,
    C,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
enum Size {
    #[key("S")]
    Small,
    #[key("L")]
    Large,
}

#[derive(Debug, Clone, PartialEq, Eq, KeyPart)]
struct Bib(u32);

#[derive(Debug, Clone, PartialEq, Eq, KeyPart)]
struct Name(String);

#[derive(Debug, Clone, PartialEq, Eq, KeyPart)]
struct Tagged<T> {
    value: T,
}

/// A month of a year, which is no property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Month(u32);

impl Part for Month {
    const WIDTH: Width = Width::Fixed(6);

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        key.push_text(&format!("{:06}", self.0))
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        <u32 as Part<Padded<6>>>::decode(text).map(Self)
    }
}

/// Is stored only in keys, as its field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
struct Period(Month);

#[derive(Debug, Clone, PartialEq, Eq, KeyPart)]
struct Slogan(Cow<'static, str>);

#[derive(Debug, PartialEq, Eq, KeyPart)]
struct Motto(Box<str>);

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "entries", partition = "{period}", row = "{grade}_{size}{bib:05}{count}__{name}")]
#[component(count = biased(tagged))]
struct Entry {
    #[table(key_only)]
    period: Period,
    grade: Grade,
    size: Size,
    bib: Bib,
    tagged: Tagged<i16>,
    name: Name,
}

fn entry() -> Entry {
    Entry {
        period: Period(Month(201_111)),
        grade: Grade::Good,
        size: Size::Large,
        bib: Bib(12),
        tagged: Tagged { value: -1 },
        name: Name("Jo".to_owned()),
    }
}

#[tokio::test]
async fn codes_and_newtypes_are_stored_as_what_they_encode() {
    assert_eq!(row_keys(&entry()), ["B2_L0001232767__Jo"]);
    let stored = properties(&entry());
    assert_eq!(stored["Grade"], "B2");
    assert_eq!(stored["Bib"], "12");
    assert_eq!(stored["Tagged"], -1);
    assert_eq!(stored["Name"], "Jo");
    assert_eq!(read_back(&entry(), Entry::partition(entry().period)).await, entry());
}

#[test]
fn newtypes_build_keys_and_ranges() {
    let period = Entry::partition(entry().period);
    let to_bib = period.row().grade(Grade::Good).size(Size::Large);
    let key = to_bib.clone().bib(Bib(12)).count(Tagged { value: -1 }).name("Jo");
    assert_eq!(exact(key), row_keys(&entry())[0]);
    let (range, _) = keys(to_bib.clone().bib_in(Bib(10)..Bib(13)));
    assert!(range.row.contains("B2_L0001232767__Jo") && !range.row.contains("B2_L0001332767__Jo"));
    let name = to_bib.bib(Bib(12)).count(Tagged { value: -1 });
    let (range, _) = keys(name.clone().name_in(Name("J".to_owned())..=Name("Jo".to_owned())));
    assert!(range.row.contains("B2_L0001232767__Jo") && !range.row.contains("B2_L0001232767__Joe"));
    let (range, _) = keys(name.name_starts_with("J"));
    assert_eq!(range.row, Span::prefix("B2_L0001232767__J"));
    let (range, _) = keys(period.row().grade_in(Grade::Best..Grade::C));
    assert!(range.row.contains("A_S") && range.row.contains("B2_S") && !range.row.contains("C_S"));
}

#[test]
fn codes_sort_where_they_ascend() {
    const fn sorted<T: Sorted>() {}
    sorted::<Grade>();
    assert_eq!(<Grade as Part>::WIDTH, Width::UpTo(2));
    assert_eq!(<Size as Part>::WIDTH, Width::Fixed(1));
    const { assert!(<Grade as Part>::PREFIX_FREE) };
}

#[test]
fn an_unknown_code_is_not_read() {
    assert_eq!(<Grade as Part>::decode("C"), Ok(Grade::C));
    assert!(<Grade as Part>::decode("D").is_err());
    assert_eq!(Grade::Good.edm(), Ok(Some(Edm::from("B2"))));
    assert_eq!(Name("x".to_owned()).edm(), Ok(Some(Edm::from("x"))));
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "mottos", partition = "{slogan}", row = "{motto}")]
struct Campaign {
    slogan: Slogan,
    motto: Motto,
}

#[tokio::test]
async fn a_newtype_of_any_text_is_passed_as_text() {
    let campaign = Campaign { slogan: Slogan("go".into()), motto: Motto("on".into()) };
    assert_eq!(exact(Campaign::partition("go").row().motto("on")), "on");
    assert_eq!(read_back(&campaign, Campaign::partition("go")).await, campaign);
}
