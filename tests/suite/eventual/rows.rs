//! Which rows an entity has elsewhere, and under which keys.

use super::{Order, order};
use table_orm::TableEntity;
use table_orm::entity::{EntityKeys, EventualRow, eventual_rows};

fn keys(row: &EventualRow) -> (Option<&str>, &str, &str) {
    (row.table, &row.partition_key, &row.row_key)
}

#[test]
fn eventual_rows_are_those_that_the_entity_declares() {
    let small = eventual_rows(&order("acme", 7)).unwrap();
    let expected = [
        (None, "2026-11-23", "ORD:00000007__acme"),
        (Some("couriers"), "C:Ann", "ORD:4294967288__acme"),
    ];
    assert_eq!(small.iter().map(keys).collect::<Vec<_>>(), expected);
    let large = Order { cents: 100_000, courier: None, ..order("acme", 7) };
    let expected =
        [(None, "2026-11-23", "ORD:00000007__acme"), (Some("archive"), "acme", "BIG:00000007")];
    assert_eq!(eventual_rows(&large).unwrap().iter().map(keys).collect::<Vec<_>>(), expected);
}

#[test]
fn a_eventual_row_stores_what_it_includes() {
    let rows = eventual_rows(&order("acme", 7)).unwrap();
    let text = |row: &EventualRow| String::from_utf8(row.body.to_vec()).unwrap();
    assert_eq!(
        rows.iter().map(text).collect::<Vec<_>>(),
        [
            r#"{"PartitionKey":"2026-11-23","RowKey":"ORD:00000007__acme","Customer":"acme","Number":"7","Number@odata.type":"Edm.Int64","Day":"2026-11-23","Cents":"1999","Cents@odata.type":"Edm.Int64","Courier":"Ann"}"#,
            r#"{"PartitionKey":"C:Ann","RowKey":"ORD:4294967288__acme","Cents":"1999","Cents@odata.type":"Edm.Int64"}"#,
        ]
    );
}

#[test]
fn eventual_rows_have_indices_behind_rows_and_guards() {
    assert_eq!((Order::ROWS.len(), Order::EVENTUAL.len()), (2, 3));
    let indices = eventual_rows(&order("acme", 7)).unwrap();
    assert_eq!(indices.iter().map(|row| row.index).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(Order::EVENTUAL[2].partition, "{customer}");
}

#[test]
fn a_type_without_eventual_rows_has_none() {
    use support::reference::Registration;
    assert!(Registration::EVENTUAL.is_empty());
}

#[test]
fn an_entity_names_the_keys_of_its_eventual_rows() {
    let sparse = Order { courier: None, ..order("acme", 7) };
    let by_date = sparse.key_in::<super::OrderByDate>().unwrap().into_texts().unwrap();
    assert_eq!(by_date, ("2026-11-23".into(), "ORD:00000007__acme".into()));
    assert!(sparse.key_in::<super::OrderByCourier>().is_none());
    assert!(sparse.key_in::<super::OrderLarge>().is_none());
}
