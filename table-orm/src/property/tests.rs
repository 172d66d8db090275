//! The promises of the module, for every type that one property can store.

use super::*;
use crate::__private::Stored;
use crate::codec::Members;
use crate::entity::{DynamicEntity, ReadRow, body, read_row};
use crate::key::{Escape, KeyText};
use crate::model::{DateTime, Edm, EdmType};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Debug;
use time::OffsetDateTime;
use uuid::Uuid;

/// A row of one property.
struct One<T>(T);

impl<T: Property> ReadRow for One<T> {
    const NAME: &'static str = "One";
    const SELECT: Option<&'static [&'static str]> = None;

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        let mut slot = None;
        while let Some(name) = members.next_name()? {
            match &*name {
                "P" => members.read("P", &mut slot)?,
                other => members.other(other)?,
            }
        }
        <T as Stored>::finish(slot, "P").map(One)
    }
}

macro_rules! row_of_many {
    ($row:ident of $many:ident) => {
        struct $row<T>(T);

        impl<T: $many> ReadRow for $row<T> {
            const NAME: &'static str = "Group";
            const SELECT: Option<&'static [&'static str]> = None;

            fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
                let mut slots = T::Slots::default();
                while let Some(name) = members.next_name()? {
                    let system = matches!(&*name, "PartitionKey" | "RowKey");
                    if system || !T::read(&mut slots, "S", &name, &mut members)? {
                        members.other(&name)?;
                    }
                }
                T::finish(slots, "S").map($row)
            }
        }
    };
}

row_of_many!(Group of Properties);
row_of_many!(Numbered of Series);

fn row(write: impl FnOnce(&mut PropertiesWriter) -> Result<(), PropertyError>) -> Vec<u8> {
    let mut out = PropertiesWriter::new("One");
    write(&mut out).unwrap();
    body("p", "r", &out).unwrap().to_vec()
}

/// The value reads back, and another reader sees its exact type.
fn stored_as<T: Property + PartialEq + Debug>(value: &T, edm: EdmType) {
    let json = row(|out| out.property("P", value));
    let One(read) = read_row::<One<T>>(0, &json).unwrap();
    assert_eq!(&read, value, "{}", String::from_utf8_lossy(&json));
    let dynamic = read_row::<DynamicEntity>(0, &json).unwrap();
    let stored = dynamic.properties.get("P").unwrap();
    assert_eq!(stored.edm_type(), edm);
    assert_eq!(value.edm().unwrap().as_ref(), Some(stored));
}

macro_rules! types {
    ($($name:ident: $type:ty => $edm:ident;)*) => {
        proptest! {$(
            #[test]
            fn $name(value in any::<$type>()) {
                stored_as(&value, EdmType::$edm);
                stored_as(&Some(value), EdmType::$edm);
            }
        )*}
    };
}

types! {
    i8_is_int32: i8 => Int32;
    i16_is_int32: i16 => Int32;
    i32_is_int32: i32 => Int32;
    u8_is_int32: u8 => Int32;
    u16_is_int32: u16 => Int32;
    u32_is_int64: u32 => Int64;
    i64_is_int64: i64 => Int64;
    bool_is_boolean: bool => Boolean;
    text_is_string: String => String;
    char_is_string: char => String;
    bytes_are_binary: Vec<u8> => Binary;
}

proptest! {
    #[test]
    fn u64_is_int64_when_it_fits(value in any::<u64>()) {
        if i64::try_from(value).is_ok() {
            stored_as(&value, EdmType::Int64);
        } else {
            prop_assert_eq!(value.edm(), Err(PropertyFault::Int64Overflow(value)));
            let mut out = PropertiesWriter::new("One");
            prop_assert!(out.property("P", &value).is_err());
        }
    }

    #[test]
    fn doubles_keep_every_bit(bits in any::<u64>(), single in any::<u32>()) {
        for value in [f64::from_bits(bits), f64::from(f32::from_bits(single))] {
            let json = row(|out| out.property("P", &value));
            let One(read) = read_row::<One<f64>>(0, &json).unwrap();
            prop_assert!(read.to_bits() == value.to_bits() || (read.is_nan() && value.is_nan()));
        }
        let value = f32::from_bits(single);
        let json = row(|out| out.property("P", &value));
        let One(read) = read_row::<One<f32>>(0, &json).unwrap();
        prop_assert!(read.to_bits() == value.to_bits() || (read.is_nan() && value.is_nan()));
    }

    #[test]
    fn guids_and_instants_are_exact(
        guid in any::<u128>(),
        ticks in DateTime::MIN.ticks()..=DateTime::MAX.ticks(),
    ) {
        stored_as(&Uuid::from_u128(guid), EdmType::Guid);
        let instant = DateTime::from_ticks(ticks).unwrap();
        stored_as(&instant, EdmType::DateTime);
        stored_as(&OffsetDateTime::from(instant), EdmType::DateTime);
        stored_as(&OffsetDateTime::from(instant).date(), EdmType::String);
        stored_as(&OffsetDateTime::from(instant).time(), EdmType::String);
    }

    #[test]
    fn series_come_back_slot_by_slot(
        array in any::<[Option<i32>; 9]>(),
        list in prop::collection::vec(any::<String>(), 0..40),
    ) {
        let Numbered(read) =
            read_row::<Numbered<[Option<i32>; 9]>>(0, &row(|out| out.series("S", &array))).unwrap();
        prop_assert_eq!(read, array);
        let Numbered(read) =
            read_row::<Numbered<Vec<String>>>(0, &row(|out| out.series("S", &list))).unwrap();
        prop_assert_eq!(read, list);
    }

    #[test]
    fn open_properties_keep_their_types(
        text in any::<String>(), small in any::<i32>(), large in any::<i64>(),
        flag in any::<bool>(), bytes in any::<Vec<u8>>(), double in -1e9..1e9,
    ) {
        let open = BTreeMap::from([
            ("A".to_owned(), Edm::String(text)),
            ("B".to_owned(), Edm::Int32(small)),
            ("C".to_owned(), Edm::Int64(large)),
            ("D".to_owned(), Edm::Boolean(flag)),
            ("E".to_owned(), Edm::Binary(bytes)),
            ("F".to_owned(), Edm::Double(double)),
        ]);
        let Group(read) =
            read_row::<Group<BTreeMap<String, Edm>>>(0, &row(|out| out.flatten("", &open))).unwrap();
        prop_assert_eq!(read, open);
    }
}

#[test]
fn special_doubles_are_named_and_whole_ones_stay_doubles() {
    for (value, json) in [
        (f64::NAN, r#""P":"NaN","#),
        (f64::INFINITY, r#""P":"Infinity","#),
        (f64::NEG_INFINITY, r#""P":"-Infinity","#),
        (3.0, r#""P":3.0,"#),
        (-0.0, r#""P":-0.0,"#),
    ] {
        let row = String::from_utf8(row(|out| out.property("P", &value))).unwrap();
        assert!(row.contains(json) && row.contains(r#""P@odata.type":"Edm.Double""#), "{row}");
    }
}

#[test]
fn an_absent_or_null_property_is_none_or_a_typed_error() {
    for json in
        [r#"{"PartitionKey":"p","RowKey":"r"}"#, r#"{"PartitionKey":"p","RowKey":"r","P":null}"#]
    {
        assert_eq!(read_row::<One<Option<i32>>>(0, json.as_bytes()).unwrap().0, None);
        let Err(error) = read_row::<One<i32>>(0, json.as_bytes()) else { panic!("{json}") };
        assert_eq!(error.fault, PropertyFault::Missing);
        assert_eq!((error.property.as_str(), error.row_key.as_str()), ("P", "r"));
    }
}

#[test]
fn a_value_of_another_type_is_a_typed_error_that_names_the_property() {
    for value in ["true", r#""x""#, "1.5", "{}", "[1]", "300"] {
        let json = format!(r#"{{"PartitionKey":"p","RowKey":"r","P":{value}}}"#);
        let Err(error) = read_row::<One<u8>>(0, json.as_bytes()) else { panic!("{json}") };
        assert!(matches!(error.fault, PropertyFault::Unreadable(_)), "{error}");
        assert_eq!(error.property, "P");
    }
}

#[test]
fn an_error_names_the_property_and_no_position_in_the_json() {
    let read = |json: &str| read_row::<One<u8>>(0, json.as_bytes()).err().unwrap().to_string();
    assert_eq!(
        read(r#"{"PartitionKey":"p","RowKey":"r","P":"1 at line 2"}"#),
        "property `P` of `One` in row \"p\" / \"r\" cannot be read: invalid type: string \
         \"1 at line 2\", expected u8"
    );
    assert_eq!(read("{"), "`One` cannot be read: expected a name, found the end");
    let error = PropertyError {
        entity: "One",
        property: String::new(),
        partition_key: String::new(),
        row_key: String::new(),
        fault: PropertyFault::EntityTooLarge(1_200_470),
    };
    let error = error.to_string();
    let limit = "`One` takes 1200470 bytes in all; the service allows 1 MiB: ";
    assert!(
        error.starts_with(limit) && error.contains("split it into several entities"),
        "{error}"
    );
}

#[test]
fn bytes_that_are_not_a_row_are_a_typed_error() {
    for json in ["", "{", "[]", r#"{"P":1"#, "{\"P\":\"\u{1}\"}"] {
        assert!(read_row::<One<String>>(0, json.as_bytes()).is_err(), "{json}");
    }
}

#[test]
fn limits_are_checked_at_the_bound() {
    let fault = |value: &dyn Fn(&mut PropertiesWriter) -> Result<(), PropertyError>| {
        let mut out = PropertiesWriter::new("One");
        value(&mut out).and_then(|()| body("p", "r", &out).map(drop)).map_err(|error| error.fault)
    };
    let text = |units| "é".repeat(units);
    assert_eq!(fault(&|out| out.property("P", &text(32768))), Ok(()));
    assert_eq!(
        fault(&|out| out.property("P", &text(32769))),
        Err(PropertyFault::StringTooLong(32769))
    );
    assert_eq!(fault(&|out| out.property("P", &vec![0_u8; 65536])), Ok(()));
    assert_eq!(
        fault(&|out| out.property("P", &vec![0_u8; 65537])),
        Err(PropertyFault::BinaryTooLong(65537))
    );
    assert_eq!(fault(&|out| out.series("P", &vec![0_i32; 252])), Ok(()));
    assert!(matches!(
        fault(&|out| out.series("P", &vec![0_i32; 253])),
        Err(PropertyFault::SeriesTooLong { length: 253, max: 252 })
    ));
    assert_eq!(
        fault(&|out| {
            out.property("Q", &0)?;
            out.series("P", &vec![0_i32; 252])
        }),
        Err(PropertyFault::TooManyProperties(253))
    );
    let kilobytes_64 = vec![0_u8; 65536];
    assert!(matches!(
        fault(&|out| out.series("P", &vec![bytes::Bytes::from(kilobytes_64.clone()); 16])),
        Err(PropertyFault::EntityTooLarge(_))
    ));
    assert_eq!(
        fault(&|out| out.series("P", &vec![bytes::Bytes::from(kilobytes_64.clone()); 15])),
        Ok(())
    );
    for name in ["", "1a", "a-b", "a b", "a\"b"] {
        assert_eq!(fault(&|out| out.property(name, &1)), Err(PropertyFault::Name), "{name}");
    }
}

#[test]
fn a_number_without_json_text_is_rejected() {
    #[derive(Clone, Default, serde::Serialize)]
    struct Shape {
        name: Option<String>,
        points: Vec<(f32, u8)>,
        scale: Option<f64>,
        by_name: BTreeMap<String, Scale>,
    }
    #[derive(Clone, serde::Serialize)]
    enum Scale {
        Unit,
        Number(f64),
        Pair(u128, f32),
        Named { value: f64 },
    }
    let fault = |shape: &Shape| {
        let mut out = PropertiesWriter::new("One");
        out.json("P", shape).err().map(|error| error.fault)
    };
    let rejected =
        Some(PropertyFault::Json("it holds a NaN or an infinity; replace it".to_owned()));
    let scales = [Scale::Unit, Scale::Number(1.0), Scale::Pair(u128::MAX, 1.0)];
    let named = |scale: Scale| BTreeMap::from([("null".to_owned(), scale)]);
    for scale in scales {
        assert_eq!(fault(&Shape { by_name: named(scale), ..Shape::default() }), None);
    }
    for shape in [
        Shape { points: vec![(0.5, 1), (f32::NAN, 2)], ..Shape::default() },
        Shape { scale: Some(f64::INFINITY), ..Shape::default() },
        Shape { by_name: named(Scale::Number(f64::NEG_INFINITY)), ..Shape::default() },
        Shape { by_name: named(Scale::Pair(1, f32::NAN)), ..Shape::default() },
        Shape { by_name: named(Scale::Named { value: f64::NAN }), ..Shape::default() },
    ] {
        assert_eq!(fault(&shape), rejected, "{}", serde_json::to_string(&shape).unwrap());
    }
}

#[test]
fn the_error_of_a_gap_in_a_series_names_the_type_that_may_have_gaps() {
    let json = br#"{"PartitionKey":"p","RowKey":"r","S000":1,"S002":3}"#;
    let Err(error) = read_row::<Numbered<Vec<u8>>>(0, json) else { panic!("a hole") };
    assert_eq!((error.property.as_str(), &error.fault), ("S001", &PropertyFault::MissingSlot));
    assert!(error.to_string().contains("`[Option<T>; N]`"), "{error}");
}

#[test]
fn json_text_is_checked_after_encoding() {
    let json = row(|out| out.json("P", &vec![1, 2, 3]));
    assert_eq!(read_row::<One<Json<Vec<u8>>>>(0, &json).unwrap().0, Json(vec![1, 2, 3]));
    let mut out = PropertiesWriter::new("One");
    let error = out.json("P", &"x".repeat(32767)).unwrap_err();
    assert_eq!(error.fault, PropertyFault::StringTooLong(32769));
}

#[test]
fn a_list_of_options_that_would_leave_a_gap_is_not_written() {
    for hole in [vec![None, Some(2)], vec![Some(1), None]] {
        let mut out = PropertiesWriter::new("One");
        let rejected = out.series("S", &hole).unwrap_err();
        assert_eq!(rejected.fault, PropertyFault::MissingSlot, "{hole:?}");
    }
    assert!(PropertiesWriter::new("One").series("S", &vec![Some(1), Some(2)]).is_ok());
}

#[test]
fn a_double_out_of_the_range_of_f32_is_rejected() {
    let read = |value: f64| {
        read_row::<One<f32>>(0, &row(|out| out.property("P", &value))).map(|One(value)| value)
    };
    assert_eq!(read(0.1).unwrap(), 0.1_f32);
    assert_eq!(read(f64::INFINITY).unwrap(), f32::INFINITY);
    assert!(read(f64::NAN).unwrap().is_nan());
    assert!(read(1e300).is_err() && read(-1e39).is_err());
}

/// The texts that the derive's test reads too.
const NAMES: [(&str, &[&str], &[&str]); 3] = include!("../../../tests/fixtures/names.rs");

/// Whether the runtime accepts that text where the rule applies.
fn accepts(rule: &str, text: &str) -> bool {
    match rule {
        "table name" => crate::TableName::new(text).is_ok(),
        "property name" => {
            let mut out = PropertiesWriter::new("Entity");
            out.property(text, &1).and_then(|()| out.check(0)).is_ok()
        }
        "key" => KeyText::new("Entity", Escape::Reject).push_text(text).is_ok(),
        other => panic!("no rule {other}"),
    }
}

#[test]
fn names_and_key_characters_are_those_of_the_derive() {
    for (rule, accepted, rejected) in NAMES {
        for text in accepted {
            assert!(accepts(rule, text), "{rule} {text:?}");
        }
        for text in rejected {
            assert!(!accepts(rule, text), "{rule} {text:?}");
        }
    }
}
