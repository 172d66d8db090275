//! Generated code collides with no name of the user's.

// Rows may have the same mark: https://github.com/rust-lang/rust-clippy/issues/13238.
#![allow(clippy::duplicated_attributes)]

use super::{exact, read_back, row_keys};
use std::fmt::Debug;
use table_orm::key::KeyPart as Part;
use table_orm::property::Property;
use table_orm::{KeyPart, Projection, Properties, TableEntity};

/// A name for the crate other than its own.
mod renamed {
    pub use table_orm as orm;
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "aaa", partition = "{list}", crate = renamed::orm)]
#[row(row, key = "A:{path}__{key}__{row}__{partition}")]
#[row(t, key = "B:{type}__{self_}", allow_key_conflict)]
#[row(list, key = "C:{out}{name_in}__{name}", allow_key_conflict)]
#[row(s, key = "D:{ID}__{S}", allow_key_conflict)]
#[row(keys, partition = "{key}__{partition}", key = "E:{list}__{path}__{row}", eventual)]
#[allow(non_snake_case)]
struct T {
    list: String,
    path: String,
    key: String,
    row: String,
    partition: String,
    r#type: u8,
    self_: u8,
    out: Other,
    members: u8,
    other: u8,
    member: u8,
    f0: u8,
    value: Option<u8>,
    name: String,
    name_in: String,
    event: Event,
    ID: u8,
    S: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, KeyPart)]
#[key(crate = renamed::orm)]
enum Other {
    #[key("N")]
    None,
    #[key("S")]
    Some,
}

#[derive(Debug, Clone, Copy, PartialEq, KeyPart)]
#[key(crate = renamed::orm)]
struct Event(bool);

#[derive(Debug, PartialEq, Projection)]
#[projection(of = T, crate = renamed::orm)]
struct Less {
    path: String,
}

#[derive(Debug, Clone, PartialEq, Properties)]
#[table(crate = renamed::orm)]
struct Group {
    name: String,
}

// Names of the prelude and of the runtime that the user uses for other things.
#[allow(dead_code, non_camel_case_types)]
mod shadows {
    pub struct Option;
    pub struct Result;
    pub struct Some;
    pub struct Ok;
    pub struct Vec;
    pub struct Query;
    pub struct Given;
    pub struct Default;
    pub trait Clone {}
    pub mod core {}
    pub mod std {}
    pub mod table_orm {}
}

mod shadowed {
    #[allow(unused_imports, clippy::wildcard_imports)]
    use super::shadows::*;

    #[derive(::std::fmt::Debug, ::core::cmp::PartialEq, ::table_orm::TableEntity)]
    #[table(name = "aaa", partition = "{a}", row = "{b:03}")]
    pub struct Plain {
        pub a: ::std::string::String,
        #[table(default)]
        pub b: u8,
        #[table(json)]
        pub c: u8,
        #[table(flatten)]
        pub d: Nested,
    }

    #[derive(::std::fmt::Debug, ::core::cmp::PartialEq, ::table_orm::Properties)]
    pub struct Nested {
        pub e: u8,
    }

    #[derive(::table_orm::KeyPart)]
    #[allow(dead_code)]
    pub enum Code {
        Ok,
        Err,
    }
}

#[tokio::test]
async fn fields_and_rows_can_have_any_name() {
    let entity = T {
        list: "l".to_owned(),
        path: "p".to_owned(),
        key: "k".to_owned(),
        row: "r".to_owned(),
        partition: "q".to_owned(),
        r#type: 1,
        self_: 2,
        out: Other::Some,
        members: 3,
        other: 4,
        member: 5,
        f0: 6,
        value: None,
        name: "n".to_owned(),
        name_in: "i".to_owned(),
        event: Event(true),
        ID: 7,
        S: 8,
    };
    assert_eq!(row_keys(&entity), ["A:p__k__r__q", "B:1__2", "C:Si__n", "D:7__8"]);
    let part = T::partition("l");
    assert_eq!(exact(part.row().path("p").key("k").row("r").partition("q")), "A:p__k__r__q");
    assert_eq!(exact(part.s().ID(7).S(8)), "D:7__8");
    assert_eq!(exact(part.t().r#type(1).self_(2)), "B:1__2");
    assert_eq!(exact(part.list().out(Other::Some).name_in("i").name("n")), "C:Si__n");
    assert_eq!(read_back(&entity, part).await, entity);
    let plain = shadowed::Plain { a: "a".to_owned(), b: 1, c: 2, d: shadowed::Nested { e: 3 } };
    let part = shadowed::Plain::partition("a");
    assert_eq!(read_back(&plain, part).await, plain);
}

/// Two versions of one entity, as in an app that migrates its rows.
#[allow(dead_code)]
mod generations {
    use super::*;

    #[derive(Debug, TableEntity)]
    #[table(name = "aaa", partition = "{a}")]
    #[row(by_b, key = "B:{b:03}")]
    #[row(by_c, key = "C:{c}", include(d), allow_key_conflict)]
    pub struct Item {
        pub a: u8,
        pub b: u8,
        pub c: Kind,
        pub d: Option<u8>,
    }

    #[derive(Debug, KeyPart)]
    pub enum Kind {
        One,
    }

    #[derive(Debug, Properties)]
    pub struct Part {
        pub e: u8,
    }

    #[derive(Debug, Projection)]
    #[projection(of = Item)]
    pub struct Fewer {
        pub d: Option<u8>,
    }

    #[derive(Debug, table_orm::TableUnion)]
    pub enum Any {
        Item(Item),
    }

    pub mod old {
        #[allow(clippy::wildcard_imports)]
        use super::*;

        #[derive(Debug, TableEntity)]
        #[table(name = "aaa", partition = "{a}")]
        #[row(by_b, key = "{b:02}")]
        pub struct Item {
            pub a: u8,
            pub b: u8,
            pub c: Kind,
            #[table(flatten)]
            pub part: Part,
            pub d: Option<u8>,
        }

        #[derive(Debug, KeyPart)]
        pub enum Kind {
            Two,
        }

        #[derive(Debug, Properties)]
        pub struct Part {
            pub f: u8,
        }

        #[derive(Debug, Projection)]
        #[projection(of = Item)]
        pub struct Fewer {
            pub d: Option<u8>,
        }

        #[derive(Debug, table_orm::TableUnion)]
        pub enum Any {
            Item(Item),
        }
    }
}

#[test]
fn an_entity_shadows_one_of_its_name_behind_a_glob_import() {
    use generations::*;
    let new = Item { a: 1, b: 2, c: Kind::One, d: Some(3) };
    assert_eq!(row_keys(&new), ["B:002", "C:One"]);
    assert_eq!(exact(Item::partition(1).by_c().c(Kind::One)), "C:One");
    let part = old::Part { f: 4 };
    let old = old::Item { a: 1, b: 2, c: old::Kind::Two, part, d: None };
    assert_eq!(row_keys(&old), ["02"]);
    assert_eq!(exact(old::Item::partition(1).by_b().b(2)), "02");
    let _ = old::ItemPatch::default().c(old::Kind::Two).d(1);
    {
        #[derive(Debug, TableEntity)]
        #[table(name = "aaa", partition = "{a}", row = "{b}__{b2}")]
        struct Item {
            a: u8,
            b: u8,
            b2: u8,
        }
        assert_eq!(row_keys(&Item { a: 1, b: 2, b2: 3 }), ["2__3"]);
        assert_eq!(exact(Item::partition(1).row().b(2).b2(3)), "2__3");
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "settings", partition = "{id}", row = "x")]
struct Setting {
    id: u8,
    default: bool,
    new: bool,
    clone: u8,
    into_patch: u8,
    into_value: Option<u8>,
}

#[tokio::test]
async fn a_patch_can_set_fields_of_any_name() {
    let repo = super::repo::<Setting>().await;
    let setting =
        Setting { id: 1, default: false, new: false, clone: 0, into_patch: 0, into_value: None };
    repo.insert(&setting).await.unwrap();
    let patch = <SettingPatch as Default>::default().default(true).new(true).clone(1);
    let patch = patch.into_patch(2).into_value(3);
    repo.merge(Setting::partition(1).row(), patch).await.unwrap();
    let merged = repo.get(Setting::partition(1).row()).await.unwrap();
    let expected = Setting {
        default: true,
        new: true,
        clone: 1,
        into_patch: 2,
        into_value: Some(3),
        ..setting
    };
    assert_eq!(merged, Some(expected));
}

#[test]
fn an_entity_can_live_in_a_function() {
    #[derive(Debug, TableEntity)]
    #[table(name = "local", partition = "{id}", row = "x")]
    struct Local {
        id: u8,
        mark: Mark,
    }
    #[derive(Debug, KeyPart)]
    enum Mark {
        On,
    }
    assert_eq!(row_keys(&Local { id: 1, mark: Mark::On }), ["x"]);
    assert_eq!(exact(Local::partition(1).row()), "x");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "generic", partition = "{id}")]
#[row(by_value, key = "V:{value}__{count}")]
#[row(by_id, key = "I:{id}", include(value), allow_key_conflict)]
struct Generic<T, U = u8, const N: usize = 2>
where
    T: Part + Property + Send + Sync,
    U: Property + Part + Send + Sync,
{
    id: u8,
    value: T,
    count: U,
    #[table(series)]
    series: [Option<u8>; N],
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Generic<String>)]
struct GenericValue {
    value: String,
}

#[derive(Debug, PartialEq, Properties)]
struct GenericGroup<T: Property + Debug> {
    value: T,
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "generic", partition = "{id}", row = "x")]
struct GenericOpen<T: Property + Debug + Send + Sync, const N: usize> {
    id: u8,
    #[table(series)]
    series: [Option<u8>; N],
    #[table(flatten)]
    group: GenericGroup<T>,
    #[table(flatten)]
    rest: std::collections::BTreeMap<String, table_orm::model::Edm>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "borrowed", partition = "{id}", row = "{text}")]
struct Borrowed<'a> {
    id: u8,
    text: std::borrow::Cow<'a, str>,
}

#[tokio::test]
async fn entities_can_be_generic() {
    let entity =
        Generic::<String> { id: 1, value: "v".to_owned(), count: 2, series: [Some(1), None] };
    assert_eq!(row_keys(&entity), ["V:v__2", "I:1"]);
    let partition = Generic::<String>::partition(1);
    assert_eq!(exact(partition.by_value().value("v").count(2)), "V:v__2");
    assert_eq!(read_back(&entity, &partition).await, entity);
    let borrowed = Borrowed { id: 1, text: "t".into() };
    assert_eq!(read_back(&borrowed, Borrowed::partition(1)).await, borrowed);
    let rest = [("Other".to_owned(), 5.into())].into();
    let open =
        GenericOpen { id: 1, series: [Some(1), None], group: GenericGroup { value: 2 }, rest };
    assert_eq!(read_back(&open, GenericOpen::<u8, 2>::partition(1)).await, open);
    let repo = super::repo::<Generic<String>>().await;
    repo.insert(&entity).await.unwrap();
    let read = repo.list(partition.by_id()).project::<GenericValue>().one().await.unwrap();
    assert_eq!(read, GenericValue { value: "v".to_owned() });
}

/// Functions and constants called as variables of generated code could be.
mod called_alike {
    use super::TableEntity;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "aaa", partition = "{id}")]
    #[row(all, key = "A:{computed}", canonical)]
    #[row(some, key = "B:{size}__{computed}", when = row)]
    #[row(others, key = "C:{valued}", when = key, allow_key_conflict)]
    #[component(computed = with(key_text), valued = with(value))]
    pub struct Alike {
        pub id: u8,
        pub size: Option<u8>,
        #[table(default = m)]
        pub count: u8,
        #[table(default = f0)]
        pub more: u8,
        #[table(series)]
        pub series: [Option<u8>; KEY_0],
        pub code: super::Other,
    }

    const KEY_0: usize = 2;

    fn key_text(_: &Alike) -> String {
        "k".to_owned()
    }
    fn value(_: &Alike) -> String {
        "v".to_owned()
    }
    fn row(alike: &Alike) -> bool {
        alike.id == 1
    }
    fn key(_: &Alike) -> bool {
        true
    }
    fn m() -> u8 {
        3
    }
    fn f0() -> u8 {
        4
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "aaa", partition = "{id}", row = "{key}__{code}")]
    #[component(key = with(out))]
    pub struct Coded {
        pub id: u8,
        pub code: super::Other,
        #[table(flatten)]
        pub group: Grouped,
    }

    fn out(_: &Coded) -> String {
        "o".to_owned()
    }

    #[derive(Debug, Clone, PartialEq, table_orm::Properties)]
    pub struct Grouped {
        #[table(default = members)]
        pub one: u8,
        #[table(default = slots)]
        pub two: u8,
    }

    fn members() -> u8 {
        5
    }
    fn slots() -> u8 {
        6
    }
}

#[tokio::test]
async fn functions_of_the_entity_can_have_any_name() {
    use called_alike::{Alike, Coded, Grouped};
    let series = [Some(1), None];
    let alike = Alike { id: 1, size: Some(2), count: 0, more: 0, series, code: Other::None };
    assert_eq!(row_keys(&alike), ["A:k", "B:2__k", "C:v"]);
    assert_eq!(read_back(&alike, Alike::partition(1)).await, alike);
    let coded = Coded { id: 1, code: Other::Some, group: Grouped { one: 1, two: 2 } };
    assert_eq!(row_keys(&coded), ["o__S"]);
    assert_eq!(read_back(&coded, Coded::partition(1)).await, coded);
}

macro_rules! entity_with_a_field {
    ($name:ident, $field:ident: $ty:ty, $series:ty, $group:ty) => {
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "aaa", partition = "{of}__{id}", unique(id))]
        #[row(all, key = "A:{id:03}")]
        #[row(some, key = "B:{made}__{id:03}", when = $name::is_there)]
        #[component(made = with($name::made))]
        struct $name {
            of: String,
            $field: $ty,
            #[table(default = $name::many)]
            count: u8,
            #[table(series)]
            series: $series,
            #[table(flatten)]
            group: $group,
            #[table(etag)]
            version: Option<table_orm::ETag>,
        }

        impl $name {
            fn is_there(&self) -> bool {
                self.$field == 1
            }
            fn made(&self) -> String {
                format!("{}.", self.$field)
            }
            const fn many() -> u8 {
                7
            }
        }
    };
}

entity_with_a_field!(FromMacro, id: u32, [Option<u8>; 2], Group);

macro_rules! entity_with_the_templates {
    ($partition:literal, $row:literal, $when:path, $(#[$attr:meta])* $name:ident { $($fields:tt)* }) => {
        $(#[$attr])*
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "aaa", partition = $partition)]
        #[row(all, key = $row)]
        #[row(some, key = "B:{id:03}", when = $when)]
        struct $name { $($fields)* }
    };
}

entity_with_the_templates! {
    "{of}__{id}", "A:{id:03}", Listed::is_there,
    Listed {
        of: String,
        #[table(key_only)]
        id: u32,
        #[table(flatten)]
        group: Group,
        #[table(series)]
        series: Vec<u8>,
    }
}

impl Listed {
    const fn is_there(&self) -> bool {
        self.id == 1
    }
}

#[tokio::test]
async fn an_entity_can_come_from_a_macro() {
    let group = || Group { name: "g".to_owned() };
    let mut one = FromMacro {
        of: "o".to_owned(),
        id: 1,
        count: 2,
        series: [Some(1), None],
        group: group(),
        version: None,
    };
    assert_eq!(row_keys(&one), ["A:001", "UNQ:id:0000000001", "B:1.__001"]);
    assert_eq!(exact(FromMacro::partition("o", 1).some().made("1.").id(1)), "B:1.__001");
    let read = read_back(&one, FromMacro::partition("o", 1)).await;
    one.version.clone_from(&read.version);
    assert_eq!(read, one);
    let listed = Listed { of: "o".to_owned(), id: 1, group: group(), series: vec![1, 2] };
    assert_eq!(row_keys(&listed), ["A:001", "B:001"]);
    assert_eq!(read_back(&listed, Listed::partition("o", 1)).await, listed);
}

/// Types of the user's own, called as those of libraries.
mod like_of_a_library {
    use super::{Group as Bytes, KeyPart, Properties, TableEntity};

    #[derive(Debug, Clone, PartialEq, KeyPart)]
    pub struct Time(pub i64);

    #[derive(Debug, Clone, PartialEq, KeyPart)]
    pub struct Date(pub String);

    #[derive(Debug, Clone, PartialEq, Properties)]
    pub struct DateTime {
        pub day: u8,
    }

    pub type Timestamp = Vec<u8>;

    pub type Uuid = u32;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "aaa", partition = "{id}", row = "{low}__{time_up}{id:05}")]
    #[component(low = lower(date), time_up = biased(time))]
    pub struct Alike {
        #[table(max = 100)]
        pub id: Uuid,
        pub time: Time,
        #[table(max_len = 10)]
        pub date: Date,
        #[table(flatten)]
        pub bytes: Bytes,
        #[table(flatten)]
        pub when: DateTime,
        #[table(series)]
        pub stamps: Timestamp,
    }
}

#[tokio::test]
async fn a_type_can_be_called_as_one_of_a_library() {
    use like_of_a_library::{Alike, Date, DateTime, Time};
    let alike = Alike {
        id: 1,
        time: Time(-1),
        date: Date("A".to_owned()),
        bytes: Group { name: "g".to_owned() },
        when: DateTime { day: 2 },
        stamps: vec![1, 2],
    };
    assert_eq!(row_keys(&alike), ["a__0922337203685477580700001"]);
    assert_eq!(read_back(&alike, Alike::partition(1)).await, alike);
}
