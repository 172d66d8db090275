use super::*;
use proptest::prelude::*;
use std::ops::Bound;
use table_orm::model::Edm;
use table_orm::query::{Comparison, KeyRange, Span};

fn equal(name: &'static str, value: impl Into<Edm>) -> Filter {
    Filter::compare(name, Comparison::Equal, value)
}

#[test]
fn literals_have_the_types_that_their_forms_say() {
    let guid = "0f8fad5b-d9cb-469f-a165-70867728950e";
    for (text, value) in [
        ("'it''s'", Edm::from("it's")),
        ("''", Edm::from("")),
        ("5", Edm::from(5)),
        ("-5", Edm::from(-5)),
        ("5000000000", Edm::from(5_000_000_000_i64)),
        ("5L", Edm::from(5_i64)),
        ("5.0", Edm::from(5.0)),
        ("1e3", Edm::from(1000.0)),
        ("5d", Edm::from(5.0)),
        ("Infinity", Edm::from(f64::INFINITY)),
        ("-Infinity", Edm::from(f64::NEG_INFINITY)),
        ("true", Edm::from(true)),
        ("X'00fF'", Edm::from(vec![0, 255])),
        ("binary'01'", Edm::from(vec![1])),
        (&format!("guid'{guid}'"), Edm::from(guid.parse::<uuid::Uuid>().unwrap())),
        ("datetime'2011-11-06T09:10:00Z'", Edm::DateTime("2011-11-06T09:10:00Z".parse().unwrap())),
    ] {
        assert_eq!(parse(&format!("A eq {text}")), Ok(equal("A", value)), "{text}");
    }
}

#[test]
fn or_binds_weaker_than_and_and_not_binds_strongest() {
    let [a, b, c] = [1, 2, 3].map(|value| equal("A", value));
    let text = "A eq 1 or A eq 2 and not A eq 3";
    assert_eq!(parse(text), Ok(a.clone().or(b.clone().and(!c.clone()))));
    assert_eq!(parse("(A eq 1 or A eq 2)and(A eq 3)"), Ok(a.or(b).and(c)));
    assert_eq!(parse("not Active"), Ok(!equal("Active", true)));
    assert_eq!(parse("5 lt A"), Ok(Filter::compare("A", Comparison::Greater, 5)));
}

#[test]
fn an_error_says_what_is_expected_where() {
    for (text, expected) in [
        (
            "A eq",
            "at position 4, the name of a property, or a value, such as 5 or 'Ann', is expected",
        ),
        ("A eq B", "at position 5, a value, such as 5 or 'Ann', is expected"),
        ("1 eq 1", "at position 5, the name of a property is expected"),
        ("5", "at position 1, `eq`, `ne`, `gt`, `ge`, `lt` or `le` is expected"),
        ("A = 1", "at position 2, `eq`, `ne`, `gt`, `ge`, `lt` or `le` is expected"),
        ("Äge EQ 1", "at position 5, `eq`, `ne`, `gt`, `ge`, `lt` or `le` is expected"),
        ("A 1", "at position 2, `eq`, `ne`, `gt`, `ge`, `lt` or `le` is expected"),
        ("(A eq 1", "at position 7, `and`, `or` or `)` is expected"),
        ("(A eq 1 B)", "at position 8, `and`, `or` or `)` is expected"),
        ("A eq 1  B", "at position 8, `and`, `or` or the end is expected"),
        ("A eq 1; B", "at position 6, `and`, `or` or the end is expected"),
        ("A)", "at position 1, `and`, `or` or the end is expected"),
        ("A eq 'x", "at position 5, a text with a quote at its end is expected"),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn what_is_not_a_filter_is_refused() {
    for text in [
        "",
        " ",
        "aaa bbb ccc",
        "A eq",
        "A eq 'x",
        "A EQ 1",
        "A eq \"x\"",
        "A eq 1 and",
        "(A eq 1",
        "A eq 1)",
        "A eq B",
        "1 eq 1",
        "A eq 1 eq 2",
        "A eq null",
        "A eq 1x",
        "A eq guid'x'",
        "A eq X'0'",
        "A eq datetime'now'",
        "A eq 9223372036854775808",
        "and",
        "A lt or",
        "A eq 1e999",
        "A add 1 eq 2",
        "\u{0}",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
    assert_eq!(parse("startswith(A,'x')"), Err(FilterError::Function));
}

#[test]
fn deep_and_long_filters_are_refused() {
    for text in ["(".repeat(100_000), "not ".repeat(100_000)] {
        assert_eq!(parse(&text), Err(FilterError::TooDeep));
    }
    let long = vec!["A eq 1"; 100_000].join(" and ");
    assert_eq!(parse(&long), Err(FilterError::TooLong));
    assert!(parse(&format!("{}A eq 1{}", "(".repeat(100), ")".repeat(100))).is_ok());
}

#[test]
fn bounds_on_keys_become_a_range() {
    let split = |text: &str| split_keys(parse(text).unwrap());
    let exact = |key: &str| Span::Exact(key.to_owned());
    let (keys, rest) =
        split("PartitionKey eq 'p' and (RowKey ge 'a' and RowKey lt 'b') and C eq 1");
    let row = Span::Between(Bound::Included("a".into()), Bound::Excluded("b".into()));
    assert_eq!((keys, rest), (KeyRange { partition: exact("p"), row }, Some(equal("C", 1))));
    for text in
        ["PartitionKey eq 'p' or A eq 1", "not (PartitionKey eq 'p')", "PartitionKey ne 'p'"]
    {
        assert_eq!(split(text), (KeyRange::ALL, Some(parse(text).unwrap())));
    }
    let (keys, rest) = split("PartitionKey eq 'p' and PartitionKey eq 'q'");
    assert_eq!(keys.partition, exact("p"));
    assert_eq!(rest, Some(equal("PartitionKey", "q")));
}

fn keys() -> impl Strategy<Value = Filter> {
    let comparison = prop::sample::select(vec![
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
    ]);
    let name = prop::sample::select(vec!["PartitionKey", "RowKey"]);
    let leaf = (name, comparison, "[a-d]?")
        .prop_map(|(name, comparison, key)| Filter::compare(name, comparison, key));
    leaf.prop_recursive(4, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| left.and(right)),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| left.or(right)),
            inner.prop_map(|inner| !inner),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        let _ = parse(&text);
    }

    #[test]
    fn text_of_tokens_is_read_or_refused(
        words in prop::collection::vec(
            prop::sample::select(vec!["A", "eq", "lt", "'x'", "5", "5L", "and", "or", "not", "(", ")", "true"]),
            0..20,
        )
    ) {
        let text = words.join(" ");
        if let Ok(filter) = parse(&text) {
            prop_assert_eq!(parse(&filter.to_string()), Ok(filter));
        }
    }

    #[test]
    fn a_displayed_filter_is_read_back(name in "[a-zA-Z_][a-zA-Z0-9_]{2,9}", text: String, number: i64, double: f64) {
        prop_assume!(!["and", "not", "NaN", "INF"].contains(&&*name) && !double.is_nan());
        prop_assume!(!["true", "false", "Infinity"].contains(&&*name));
        let compare = |value: Edm| Filter::compare(name.clone(), Comparison::LessOrEqual, value);
        let filter = compare(text.into()).and(!compare(number.into()).or(compare(double.into())));
        prop_assert_eq!(parse(&filter.to_string()), Ok(filter));
    }

    #[test]
    fn a_split_filter_selects_the_same_rows(filter in keys(), partition in "[a-d]?", row in "[a-d]?") {
        let meets = |filter: &Filter| filter.evaluate(&mut |name, comparison, value| {
            let Edm::String(value) = value else { return false };
            let order = if name == "RowKey" { &row } else { &partition }.cmp(value);
            comparison.holds(Some(order))
        });
        let expected = meets(&filter);
        let (keys, rest) = split_keys(filter);
        let in_range = keys.partition.contains(&partition) && keys.row.contains(&row);
        prop_assert_eq!(in_range && rest.as_ref().is_none_or(meets), expected);
    }
}
