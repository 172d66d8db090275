//! Generated code names nothing that the user's scope could give another meaning.

use super::{exact, row_keys};
use hostile::{Address, Any, Bib, Distance, Name, NameOnly, Registration, RegistrationPatch, Team};
use table_orm::{KeyPart, Tables};

/// Macros of every name that the standard library gives one.
macro_rules! shadow_macros {
    ($($name:ident)*) => {$(
        #[allow(unused_macros)]
        macro_rules! $name {
            () => {};
        }
    )*};
}

/// Types of every name of a type, and of its constructors.
macro_rules! shadow_types {
    ($($name:ident)*) => { $( pub struct $name; )* };
}

macro_rules! shadow_traits {
    ($($name:ident)*) => { $( pub trait $name {} )* };
}

macro_rules! shadow_modules {
    ($($name:ident)*) => { $( pub mod $name {} )* };
}

macro_rules! shadow_functions {
    ($($name:ident)*) => { $( pub const fn $name() {} )* };
}

/// Methods and associated functions of those names, on every type.
macro_rules! shadow_methods {
    ($($name:ident)*) => {
        pub trait Methods: ::core::marker::Sized {
            $( fn $name(self) -> Hostile { ::core::panic!("a method of the user's") } )*
        }

        impl<T> Methods for T {}

        pub trait OnReferences {
            $( fn $name(&self) -> Hostile { ::core::panic!("a method of the user's") } )*
        }

        impl<T: ?::core::marker::Sized> OnReferences for T {}

        pub trait Functions {
            $( fn $name() -> Hostile { ::core::panic!("a function of the user's") } )*
        }

        impl<T: ?::core::marker::Sized> Functions for T {}
    };
}

#[allow(dead_code, non_camel_case_types, non_snake_case)]
#[allow(clippy::new_ret_no_self, clippy::should_implement_trait, clippy::wrong_self_convention)]
#[allow(clippy::large_enum_variant)]
pub mod hostile {
    use ::core::primitive as p;
    use ::std::option::Option as Maybe;
    use ::std::string::String as Text;

    shadow_macros! {
        assert assert_eq assert_ne cfg column compile_error concat dbg debug_assert debug_assert_eq
        debug_assert_ne env eprint eprintln file format format_args include include_bytes
        include_str is_x86_feature_detected line matches module_path option_env panic print println
        quote quote_spanned stringify thread_local todo r#try unimplemented unreachable vec write
        writeln
    }

    shadow_types! {
        Hostile Option Some None Result Ok Err String Vec Box Cow PhantomData Rc Arc
        bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize
        Column Complete Edm Field KeyRange KeyText Members Needs Part Patch Row Stored Value Width
    }

    shadow_traits! {
        ToString ToOwned From Into TryFrom TryInto AsRef AsMut Iterator IntoIterator FromIterator
        DoubleEndedIterator ExactSizeIterator Extend Default Clone Copy Send Sync Sized Unpin Drop
        Fn FnMut FnOnce AsyncFn AsyncFnMut AsyncFnOnce Future IntoFuture Debug Display Hash PartialEq Eq
        PartialOrd Ord Borrow Deref Deserializer KeyPart Properties Property Projection TableEntity
        TableUnion Query
    }

    shadow_modules! { core std alloc proc_macro test serde table_orm orm }

    shadow_functions! {
        drop size_of size_of_val align_of align_of_val swap replace take identity default from clone
    }

    shadow_methods! {
        and_then assert_union check_limit check_open clone collect default deserialize differs digits edm
        empty encode err etag extend fill_from_keys finish for_each from from_keys holding into
        into_iter into_keys into_patch into_value is_none is_some iter json key key_value keys len limit literal map
        map_all map_err map_or_else max member new next next_name next_property of ok ok_or_else other part partition
        parts property put push push_ref range read read_keys row select series set set_json set_slot
        shares_table sparse starts_with string take timestamp to_owned to_string try_into unwrap
        unwrap_or_default unwrap_or_else with write
    }

    #[derive(
        ::core::fmt::Debug, ::core::clone::Clone, ::core::cmp::PartialEq, ::table_orm::KeyPart,
    )]
    pub enum Distance {
        #[key("Full")]
        Full,
        #[key("Half")]
        Half,
    }

    #[derive(
        ::core::fmt::Debug, ::core::clone::Clone, ::core::cmp::PartialEq, ::table_orm::KeyPart,
    )]
    pub struct Bib(pub p::u32);

    #[derive(
        ::core::fmt::Debug, ::core::clone::Clone, ::core::cmp::PartialEq, ::table_orm::KeyPart,
    )]
    pub struct Name(pub ::std::string::String);

    #[derive(
        ::core::fmt::Debug, ::core::clone::Clone, ::core::cmp::PartialEq, ::table_orm::Properties,
    )]
    pub struct Address {
        pub street: Text,
        #[table(default)]
        pub floor: p::u8,
        #[table(json)]
        pub lines: ::std::vec::Vec<Text>,
        #[table(series)]
        pub bells: [::core::option::Option<p::u8>; 2],
    }

    #[derive(
        ::core::fmt::Debug, ::core::clone::Clone, ::core::cmp::PartialEq, ::table_orm::TableEntity,
    )]
    #[table(name = "registrations", partition = "{event}__{bucket}", unique(bib))]
    #[row(by_bib, key = "BIB:{bib}__{distance}")]
    #[row(by_name, key = "NAM:{low}__{bib}", include(distance), when = Registration::is_named)]
    #[row(by_age, key = "AGE:{age}__{size}__{bib}", exclude(notes))]
    #[row(
        far,
        partition = "{distance}__{age}",
        key = "FAR:{event}__{bib}",
        include(notes),
        eventual
    )]
    #[row(again, partition = "{size}", key = "AGAIN:{bib}__{distance}__{event}", when = Registration::is_named, eventual)]
    #[component(low = with(Registration::low), bucket = shard(bib, 4))]
    pub struct Registration {
        #[table(key_only)]
        pub event: Text,
        #[table(key_only)]
        pub bib: Bib,
        pub distance: Distance,
        #[table(max_len = 60)]
        pub name: Name,
        #[table(max = 150)]
        pub age: ::core::option::Option<p::u8>,
        pub size: p::char,
        #[table(default = Registration::no_notes)]
        pub notes: Text,
        #[table(json)]
        pub tags: Maybe<::std::vec::Vec<Text>>,
        #[table(json, default)]
        pub more: ::std::vec::Vec<Text>,
        #[table(series)]
        pub laps: [::core::option::Option<p::u32>; 3],
        #[table(series)]
        pub times: ::std::vec::Vec<p::f64>,
        #[table(flatten)]
        pub address: Address,
        #[table(flatten)]
        pub rest: ::std::collections::BTreeMap<Text, ::table_orm::model::Edm>,
        #[table(skip)]
        pub open: p::bool,
        #[table(etag)]
        pub version: ::core::option::Option<::table_orm::ETag>,
        #[table(timestamp)]
        pub at: ::core::option::Option<::table_orm::model::DateTime>,
    }

    impl Registration {
        fn is_named(&self) -> p::bool {
            !Text::is_empty(&self.name.0)
        }

        fn low(&self) -> Text {
            p::str::to_ascii_lowercase(&self.name.0)
        }

        const fn no_notes() -> Text {
            Text::new()
        }
    }

    #[derive(::table_orm::TableEntity)]
    #[table(name = "counted", partition = "{event}", row = "{bib}", sums = Counted::SUMS)]
    pub struct Counted {
        pub event: Text,
        pub bib: p::u32,
    }

    impl Counted {
        const SUMS: &[::table_orm::Sum<Self>] = &[::table_orm::Sum::count("counted")];
    }

    #[derive(::table_orm::TableEntity)]
    #[table(name = "timed", partition = "{slot}__{event}", row = "{at}", bucket(day, at))]
    #[component(slot = spread(at, second))]
    pub struct Timed {
        pub event: Text,
        pub at: ::table_orm::model::DateTime,
    }

    macro_rules! team {
        ($(#[$attr:meta])* $name:ident<$param:ident, $len:ident>, $team:ident: $ty:ty, $when:path) => {
            $(#[$attr])*
            #[table(name = "registrations", partition = "{event}", escape = encode)]
            #[row(by_team, key = "TEAM:{team}")]
            #[row(by_more, key = "MORE:{up}", when = $when, exclude(slots), allow_key_conflict)]
            #[component(up = desc(number))]
            pub struct $name<$param, const $len: p::usize>
            where
                $param: ::table_orm::KeyPart + ::table_orm::property::Property
                    + ::core::marker::Send + ::core::marker::Sync,
            {
                pub event: Text,
                pub $team: $ty,
                pub number: p::u16,
                #[table(series)]
                pub slots: [::core::option::Option<p::u8>; $len],
            }
        };
    }

    team! {
        #[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::cmp::PartialEq)]
        #[derive(::table_orm::TableEntity)]
        Team<T, N>, team: T, is_more
    }

    fn is_more<T, const N: p::usize>(team: &Team<T, N>) -> p::bool
    where
        T: ::table_orm::KeyPart
            + ::table_orm::property::Property
            + ::core::marker::Send
            + ::core::marker::Sync,
    {
        team.number > 1
    }

    #[derive(::core::fmt::Debug, ::core::cmp::PartialEq, ::table_orm::TableUnion)]
    pub enum Any {
        Registration(Registration),
        Team(Team<Text, 2>),
    }

    #[derive(::core::fmt::Debug, ::core::cmp::PartialEq, ::table_orm::Projection)]
    #[projection(of = Registration)]
    pub struct NameOnly {
        pub bib: Bib,
        pub distance: Distance,
    }
}

/// Without a prelude. Entities, groups, unions and projections need that of tools: their code has
/// attributes of `diagnostic`.
#[no_implicit_prelude]
mod bare {
    #[derive(::core::fmt::Debug, ::core::cmp::PartialEq, ::table_orm::KeyPart)]
    pub enum Code {
        On,
        Off,
    }

    #[derive(::core::fmt::Debug, ::core::cmp::PartialEq, ::table_orm::KeyPart)]
    pub struct Text(pub ::std::string::String);
}

#[test]
fn a_key_type_needs_no_prelude() {
    assert_eq!(bare::Code::decode("Off"), Ok(bare::Code::Off));
    assert_eq!(<bare::Text as KeyPart>::decode("t"), Ok(bare::Text("t".to_owned())));
    assert_ne!(bare::Code::On, bare::Code::Off);
}

fn registration() -> Registration {
    Registration {
        event: "Boston".to_owned(),
        bib: Bib(7),
        distance: Distance::Half,
        name: Name("Ann".to_owned()),
        age: Some(30),
        size: 'M',
        notes: "n".to_owned(),
        tags: Some(vec!["t".to_owned()]),
        more: vec!["m".to_owned()],
        laps: [Some(61), None, Some(59)],
        times: vec![1.5],
        address: Address {
            street: "Main St".to_owned(),
            floor: 2,
            lines: vec!["l".to_owned()],
            bells: [None, Some(1)],
        },
        rest: [("Other".to_owned(), 5.into())].into(),
        open: false,
        version: None,
        at: None,
    }
}

#[tokio::test]
async fn no_name_of_the_users_changes_generated_code() {
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<Registration>();
    repo.create_table().await.unwrap();
    let ann = registration();
    assert_eq!(row_keys(&ann), ["BIB:7__Half", "UNQ:bib:7", "NAM:ann__7", "AGE:30__M__7"]);
    repo.insert(&ann).await.unwrap();
    let race = Registration::partition("Boston", Bib(7));
    let key = race.by_bib().bib(Bib(7)).distance(Distance::Half);
    assert_eq!(exact(key.clone()), "BIB:7__Half");
    let patch = RegistrationPatch::default().notes("p").laps_at(1, 60_u32);
    repo.merge(&key, patch).await.unwrap();
    let read = repo.get(&key).await.unwrap().unwrap();
    let expected = Registration {
        notes: "p".to_owned(),
        laps: [Some(61), Some(60), Some(59)],
        version: read.version.clone(),
        at: read.at,
        ..ann
    };
    assert_eq!(read, expected);
    let names = repo.list(race.by_name().low_starts_with("a")).project::<NameOnly>();
    assert_eq!(names.one().await.unwrap(), NameOnly { bib: Bib(7), distance: Distance::Half });
    assert_eq!(
        repo.list_many(Registration::partitions("Boston")).collect().await.unwrap().len(),
        1
    );
    let any = tables.union::<Any>(race).collect().await.unwrap();
    assert_eq!(any, [Any::Registration(read)]);
}

#[test]
fn no_name_of_the_users_changes_generic_code() {
    let team =
        Team { event: "Boston".to_owned(), team: "A/B".to_owned(), number: 2, slots: [None; 2] };
    assert_eq!(row_keys(&team), ["TEAM:A~2FB", "MORE:65533"]);
    assert_eq!(exact(Team::<String, 2>::partition("Boston").by_team().team("A/B")), "TEAM:A~2FB");
}
