//! Generated code passes the strictest lints of users.
#![deny(
    missing_docs,
    missing_debug_implementations,
    unused,
    unused_qualifications,
    unreachable_pub,
    deprecated,
    nonstandard_style,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use table_orm::entity::EntityRows;

/// Public to the crate's users.
pub mod public {
    use table_orm::{KeyPart, Projection, Properties, TableEntity};

    /// A code.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
    pub enum Code {
        /// One.
        #[key("1")]
        One,
        /// Two.
        #[key("2")]
        Two,
    }

    /// A newtype.
    #[derive(Debug, Clone, PartialEq, Eq, KeyPart)]
    pub struct Name(String);

    /// Of this module.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
    enum State {
        Open,
        Shut,
    }

    /// A group.
    #[derive(Debug, Clone, PartialEq, Eq, Properties)]
    pub struct Group {
        /// Text.
        pub text: Option<String>,
        #[table(rename = "GroupState")]
        state: State,
    }

    /// An entity.
    #[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
    #[table(name = "lints", partition = "{code}", allow_single_partition)]
    #[row(by_name, key = "N:{name}")]
    #[row(by_state, key = "S:{state}__{days_last}", include(name), allow_key_conflict)]
    #[component(days_last = desc(days))]
    pub struct Entity {
        /// A code.
        pub code: Code,
        name: Name,
        state: State,
        days: Option<u16>,
        /// A group.
        #[table(flatten)]
        pub group: Group,
    }

    /// Less.
    #[derive(Debug, Clone, PartialEq, Eq, Projection)]
    #[projection(of = Entity)]
    pub struct Less {
        name: Name,
    }

    /// Uses types that are not public.
    #[must_use]
    pub fn entity() -> Entity {
        let group = Group { text: None, state: State::Shut };
        let name = Name(String::new());
        Entity { code: Code::One, name, state: State::Open, days: None, group }
    }
}

mod private {
    use table_orm::{KeyPart, Projection, TableEntity};

    #[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
    pub(super) enum Code {
        One,
    }

    #[derive(Debug, PartialEq, Eq, TableEntity)]
    #[table(name = "lints", partition = "{code}", allow_single_partition)]
    #[row(by_name, key = "N:{name}", when = Entity::is_named)]
    #[row(by_code, key = "C:{code}", canonical)]
    #[row(by_less, key = "D:{code}", exclude(name))]
    pub(super) struct Entity {
        pub(super) code: Code,
        pub(super) name: String,
    }

    impl Entity {
        const fn is_named(&self) -> bool {
            !self.name.is_empty()
        }
    }

    #[derive(Debug, PartialEq, Eq, Projection)]
    #[projection(of = Entity)]
    pub(super) struct Less {
        pub(super) code: Code,
    }
}

/// Lints that the user allows on a type are allowed on the types generated for it.
pub mod allowed {
    use table_orm::{KeyPart, Projection, Properties, TableEntity, TableUnion};

    /// Not to be used.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
    #[deprecated]
    #[expect(non_camel_case_types)]
    pub enum old_code {
        /// One.
        One,
        /// Two.
        #[deprecated]
        Two,
    }

    /// Not to be used.
    #[derive(Debug, Clone, PartialEq, Eq, Properties)]
    #[deprecated]
    pub struct OldGroup {
        /// Not to be used.
        #[deprecated]
        pub text: Option<String>,
    }

    /// Not to be used.
    #[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
    #[table(name = "lints", partition = "{code}", allow_single_partition)]
    #[row(by_id, key = "I:{ID}")]
    #[row(by_text, key = "T:{text}", include(text), allow_key_conflict)]
    #[deprecated(note = "moved")]
    #[expect(non_camel_case_types, non_snake_case)]
    #[allow(deprecated)]
    pub struct old_entity<T: KeyPart + table_orm::property::Property + Send + Sync> {
        /// A code.
        pub code: old_code,
        /// An id.
        pub ID: u8,
        /// Text.
        #[deprecated]
        pub text: T,
        /// Text.
        #[deprecated]
        pub note: String,
        /// A group.
        #[table(flatten)]
        pub group: OldGroup,
    }

    /// Not to be used.
    #[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
    #[table(name = "lints", partition = "{id}", row = "{text}")]
    #[deprecated]
    pub struct Old {
        /// An id.
        pub id: u8,
        /// Text.
        #[deprecated]
        pub text: String,
        /// Text.
        pub note: String,
    }

    /// Less.
    #[derive(Debug, Clone, PartialEq, Eq, Projection)]
    #[projection(of = Old)]
    #[allow(deprecated)]
    pub struct Less {
        /// Text.
        #[deprecated]
        pub text: String,
    }

    /// Any.
    #[derive(Debug, Clone, PartialEq, Eq, TableUnion)]
    #[deprecated]
    #[allow(deprecated)]
    pub enum Any {
        /// Old.
        Old(Old),
    }
}

#[test]
fn lints_find_nothing() {
    let entity = private::Entity { code: private::Code::One, name: String::new() };
    assert_eq!(EntityRows::of(&entity).map(|rows| rows.rows.len()).ok(), Some(2));
    assert_eq!(EntityRows::of(&public::entity()).map(|rows| rows.rows.len()).ok(), Some(1));
    assert_eq!(private::Less { code: private::Code::One }.code, entity.code);
}
