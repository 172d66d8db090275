/// The properties that full rows can be filtered by. A filter saves transfer: the store reads every row of the query all the same.
#[allow(dead_code, deprecated, non_snake_case)]
pub struct RegistrationColumns {
    /// `Event`.
    pub event: ::table_orm::query::Column<String>,
    /// `Distance`.
    pub distance: ::table_orm::query::Column<Distance>,
    /// `Bib`.
    pub bib: ::table_orm::query::Column<u32>,
    /// `Name`.
    pub name: ::table_orm::query::Column<String>,
    /// `Sex`.
    pub sex: ::table_orm::query::Column<Sex>,
    /// `Age`.
    pub age: ::table_orm::query::Column<u8>,
    /// `RegisteredAt`.
    pub registered_at: ::table_orm::query::Column<OffsetDateTime>,
    /// `City`.
    pub city: ::table_orm::query::Column<String>,
}
/// The properties that `by_time` can be filtered by. A filter saves transfer: the store reads every row of the query all the same.
#[allow(dead_code, deprecated, non_snake_case)]
pub struct RegistrationByTimeColumns {
    /// `Name`.
    pub name: ::table_orm::query::Column<String>,
}
/// One partition `{event}__{distance}`, such as `text__<distance>`. As a query, its `by_bib` rows: a row range query, in requests of up to 1,000 rows.
#[must_use]
pub struct RegistrationPartition(::table_orm::query::PartitionKey);
/// The rows `by_bib` of one partition, `BIB:{bib:05}__{name}__{sex}__{age}`, such as `BIB:00042__text__<sex>__42`: full copies. As a query, those with the components given.
#[must_use]
pub struct RegistrationByBib<__S = ()>(::table_orm::query::RowKey<__S>);
/// The rows `by_age` of one partition, `AGE:{age:03}__{bib}__{name}__{sex}`, such as `AGE:042__42__text__<sex>`: full copies. As a query, those with the components given.
#[must_use]
pub struct RegistrationByAge<__S = ()>(::table_orm::query::RowKey<__S>);
/// The rows `by_time` of one partition, `NEW:{newest}__{bib:05}`, such as `NEW:2520817121999999999__00042`: partial copies. As a query, those with the components given.
#[must_use]
pub struct RegistrationByTime<__S = ()>(::table_orm::query::RowKey<__S>);
/// Properties to be set in a stored `Registration`, those that no key is made of. A `merge` is a read and a transaction, again after a conflict.
#[must_use]
pub struct RegistrationPatch(::table_orm::repo::Patch<Registration>);
#[doc(hidden)]
#[allow(missing_debug_implementations, non_camel_case_types, non_snake_case, unreachable_pub)]
pub mod RegistrationComponents {
    pub enum age {}
    pub enum bib {}
    pub enum name {}
    pub enum newest {}
    pub enum sex {}
}
#[allow(dead_code, deprecated, non_camel_case_types, non_snake_case, private_bounds)]
#[allow(private_interfaces, unused_imports, unused_mut, unused_qualifications, unused_variables)]
const _: () = {
    use ::table_orm::__private as _orm;
    const _: () = _orm::evaluate(&<Registration as _orm::TableEntity>::PARTITION_KEY);
    const _: () = _orm::evaluate(&<Registration as _orm::TableEntity>::ROWS);
    #[automatically_derived]
    #[diagnostic::do_not_recommend]
    impl _orm::TableEntity for Registration {
        const TABLE: &'static _orm::str = "registrations";
        const PARTITION: &'static _orm::str = "{event}__{distance}";
        const PARTITION_KEY: _orm::KeyTemplate<'static> = _orm::key("").parts(&[
            _orm::part("event", <String as _orm::Part>::SHAPE, "__"),
            _orm::part("distance", <Distance as _orm::Part>::SHAPE, ""),
        ]);
        const ROWS: &'static [_orm::RowTemplate] = &[
            _orm::full("by_bib", "BIB:{bib:05}__{name}__{sex}__{age}", "BIB:").parts(&[
                _orm::part("bib", <u32 as _orm::Part<_orm::Padded<5>>>::SHAPE, "__"),
                _orm::part("name", <String as _orm::Part>::SHAPE, "__").max(60),
                _orm::part("sex", <Sex as _orm::Part>::SHAPE, "__"),
                _orm::part("age", <u8 as _orm::Part>::SHAPE, ""),
            ]),
            _orm::full("by_age", "AGE:{age:03}__{bib}__{name}__{sex}", "AGE:").parts(&[
                _orm::part("age", <u8 as _orm::Part<_orm::Padded<3>>>::SHAPE, "__"),
                _orm::part("bib", <u32 as _orm::Part>::SHAPE, "__").max(5),
                _orm::part("name", <String as _orm::Part>::SHAPE, "__").max(60),
                _orm::part("sex", <Sex as _orm::Part>::SHAPE, ""),
            ]),
            _orm::partial("by_time", "NEW:{newest}__{bib:05}", "NEW:", &["Name"]).parts(&[
                _orm::coded::<OffsetDateTime, _orm::Descending>("newest", "registered_at", "__"),
                _orm::part("bib", <u32 as _orm::Part<_orm::Padded<5>>>::SHAPE, ""),
            ]),
        ];
        const PROPERTIES: &'static [_orm::Declared] = &[
            _orm::property("Event", <String as _orm::Stored>::TYPE),
            _orm::property("Distance", <Distance as _orm::Stored>::TYPE),
            _orm::property("Bib", <u32 as _orm::Stored>::TYPE).limit(_orm::Max(99999)),
            _orm::property("Name", <String as _orm::Stored>::TYPE).limit(_orm::MaxLen(60)),
            _orm::property("Sex", <Sex as _orm::Stored>::TYPE),
            _orm::property("Age", <u8 as _orm::Stored>::TYPE),
            _orm::property("RegisteredAt", <OffsetDateTime as _orm::Stored>::TYPE),
            _orm::property("City", <Option<String> as _orm::Stored>::TYPE),
        ];
        const GUARDS: &'static [_orm::GuardTemplate] = &[_orm::guard(
            "bib",
            "UNQ:bib:{bib}",
            "UNQ:bib:",
        )
        .parts(&[_orm::part("bib", <u32 as _orm::Part<_orm::Ascending>>::SHAPE, "")])];
        type Canonical = RegistrationByBib;
        fn encode_partition_key(&self, key: &mut _orm::KeyText) -> _orm::KeyResult {
            <String as _orm::Part>::write(&self.event, key, "event", "__")?;
            <Distance as _orm::Part>::write(&self.distance, key, "distance", "")?;
            _orm::Ok(())
        }
        fn encode_row_key(&self, row: _orm::usize, key: &mut _orm::KeyText) -> _orm::RowWritten {
            match row {
                0 => {
                    <u32 as _orm::Part<_orm::Padded<5>>>::write(&self.bib, key, "bib", "__")?;
                    <String as _orm::Part>::write(&self.name, key, "name", "__")?;
                    <Sex as _orm::Part>::write(&self.sex, key, "sex", "__")?;
                    <u8 as _orm::Part>::write(&self.age, key, "age", "")?;
                }
                1 => {
                    <u8 as _orm::Part<_orm::Padded<3>>>::write(&self.age, key, "age", "__")?;
                    <u32 as _orm::Part>::write(&self.bib, key, "bib", "__")?;
                    <String as _orm::Part>::write(&self.name, key, "name", "__")?;
                    <Sex as _orm::Part>::write(&self.sex, key, "sex", "")?;
                }
                2 => {
                    <OffsetDateTime as _orm::Part<_orm::Descending>>::write(
                        &self.registered_at,
                        key,
                        "newest",
                        "__",
                    )?;
                    <u32 as _orm::Part<_orm::Padded<5>>>::write(&self.bib, key, "bib", "")?;
                }
                _ => {
                    <u32 as _orm::Part<_orm::Ascending>>::write(&self.bib, key, "bib", "")?;
                }
            }
            _orm::Ok(true)
        }
        fn encode_properties(&self, row: _orm::usize, out: &mut _orm::Writer) -> _orm::Written {
            if _orm::matches!(row, 0 | 1) {
                <String as _orm::Stored>::put(&self.event, out, "Event")?;
                <Distance as _orm::Stored>::put(&self.distance, out, "Distance")?;
                <u32 as _orm::Stored>::put_limited(&self.bib, out, "Bib", _orm::Max(99999))?;
            }
            <String as _orm::Stored>::put_limited(&self.name, out, "Name", _orm::MaxLen(60))?;
            if _orm::matches!(row, 0 | 1) {
                <Sex as _orm::Stored>::put(&self.sex, out, "Sex")?;
                <u8 as _orm::Stored>::put(&self.age, out, "Age")?;
                <OffsetDateTime as _orm::Stored>::put(&self.registered_at, out, "RegisteredAt")?;
                <Option<String> as _orm::Stored>::put(&self.city, out, "City")?;
            }
            _orm::Ok(())
        }
    }
    #[automatically_derived]
    impl _orm::ReadRow for Registration {
        const NAME: &'static _orm::str = "Registration";
        fn read_row(row: _orm::usize, mut m: _orm::Members<'_, '_>) -> _orm::Read<Self> {
            let mut f0 = _orm::None;
            let mut f1 = _orm::None;
            let mut f2 = _orm::None;
            let mut f3 = _orm::None;
            let mut f4 = _orm::None;
            let mut f5 = _orm::None;
            let mut f6 = _orm::None;
            let mut f7 = _orm::None;
            while let _orm::Some(member) = _orm::Members::next_property(&mut m)? {
                match &*member {
                    "Event" => <String as _orm::Stored>::take(&mut f0, &mut m, "Event")?,
                    "Distance" => <Distance as _orm::Stored>::take(&mut f1, &mut m, "Distance")?,
                    "Bib" => <u32 as _orm::Stored>::take(&mut f2, &mut m, "Bib")?,
                    "Name" => <String as _orm::Stored>::take(&mut f3, &mut m, "Name")?,
                    "Sex" => <Sex as _orm::Stored>::take(&mut f4, &mut m, "Sex")?,
                    "Age" => <u8 as _orm::Stored>::take(&mut f5, &mut m, "Age")?,
                    "RegisteredAt" => {
                        <OffsetDateTime as _orm::Stored>::take(&mut f6, &mut m, "RegisteredAt")?
                    }
                    "City" => <Option<String> as _orm::Stored>::take(&mut f7, &mut m, "City")?,
                    other => _orm::Members::other(&mut m, other)?,
                }
            }
            _orm::Ok(Self {
                event: <String as _orm::Stored>::finish(f0, "Event")?,
                distance: <Distance as _orm::Stored>::finish(f1, "Distance")?,
                bib: <u32 as _orm::Stored>::finish(f2, "Bib")?,
                name: <String as _orm::Stored>::finish(f3, "Name")?,
                sex: <Sex as _orm::Stored>::finish(f4, "Sex")?,
                age: <u8 as _orm::Stored>::finish(f5, "Age")?,
                registered_at: <OffsetDateTime as _orm::Stored>::finish(f6, "RegisteredAt")?,
                city: <Option<String> as _orm::Stored>::finish(f7, "City")?,
            })
        }
    }
    _orm::partition!(
        [] RegistrationPartition, [], "RegistrationPartition", RegistrationByBib, by_bib
    );
    impl RegistrationPartition {
        /// The rows `BIB:{bib:05}__{name}__{sex}__{age}`, such as `BIB:00042__text__<sex>__42`: a row range query, in requests of up to 1,000 rows.
        pub fn by_bib(&self) -> RegistrationByBib<__bib> {
            RegistrationByBib(_orm::PartitionKey::row_key(&self.0, "BIB:"))
        }
        /// The rows `AGE:{age:03}__{bib}__{name}__{sex}`, such as `AGE:042__42__text__<sex>`: a row range query, in requests of up to 1,000 rows.
        pub fn by_age(&self) -> RegistrationByAge<__age> {
            RegistrationByAge(_orm::PartitionKey::row_key(&self.0, "AGE:"))
        }
        /// The rows `NEW:{newest}__{bib:05}`, such as `NEW:2520817121999999999__00042`: a row range query, in requests of up to 1,000 rows.
        pub fn by_time(&self) -> RegistrationByTime<__newest> {
            RegistrationByTime(_orm::PartitionKey::row_key(&self.0, "NEW:"))
        }
        _orm::named_rows!(pub RegistrationByBib < __bib >, by_bib);
    }
    _orm::named_rows!("its rows are `by_bib`, `by_age`, `by_time`");
    impl RegistrationByBib<__bib> {
        /// Gives the `bib` of `BIB:{bib:05}__{name}__{sex}__{age}`, as in `BIB:00042__`: a row range query, in requests of up to 1,000 rows.
        pub fn bib(self, bib: impl _orm::Value<u32>) -> RegistrationByBib<__name> {
            RegistrationByBib(<u32 as _orm::Part<_orm::Padded<5>>>::push(self.0, "bib", bib, "__"))
        }
        /// Gives a range of `bib` of `BIB:{bib:05}__{name}__{sex}__{age}`, as in `BIB:00042`: a row range query, in requests of up to 1,000 rows.
        pub fn bib_in(self, range: impl _orm::RangeOf<u32, _orm::Padded<5>>) -> _orm::Range<Self> {
            <u32 as _orm::Part<_orm::Padded<5>>>::range(self.0, "bib", range)
        }
    }
    impl RegistrationByBib<__name> {
        /// Gives the `name` of `BIB:{bib:05}__{name}__{sex}__{age}`, as in `BIB:00042__text__`: a row range query, in requests of up to 1,000 rows.
        pub fn name(self, name: impl _orm::Value<String>) -> RegistrationByBib<__sex> {
            RegistrationByBib(<String as _orm::Part>::push(self.0, "name", name, "__"))
        }
        /// Gives a range of `name` of `BIB:{bib:05}__{name}__{sex}__{age}`, as in `BIB:00042__text`: a row range query, in requests of up to 1,000 rows.
        pub fn name_in(self, range: impl _orm::RangeOf<String>) -> _orm::Range<Self> {
            <String as _orm::Part>::range(self.0, "name", range)
        }
        /// Gives the start of `name` of `BIB:{bib:05}__{name}__{sex}__{age}`, as in `BIB:00042__text`: a row range query, in requests of up to 1,000 rows.
        pub fn name_starts_with(self, prefix: impl _orm::PrefixOf<String>) -> _orm::Range<Self> {
            self.0.starts_with::<_orm::Plain, String, _>("name", prefix, "__")
        }
    }
    impl RegistrationByBib<__sex> {
        /// Gives the `sex` of `BIB:{bib:05}__{name}__{sex}__{age}`, as in `BIB:00042__text__<sex>__`: a row range query, in requests of up to 1,000 rows.
        pub fn sex(self, sex: impl _orm::Value<Sex>) -> RegistrationByBib<__age> {
            RegistrationByBib(<Sex as _orm::Part>::push(self.0, "sex", sex, "__"))
        }
        /// Gives a range of `sex` of `BIB:{bib:05}__{name}__{sex}__{age}`, as in `BIB:00042__text__<sex>`: a row range query, in requests of up to 1,000 rows.
        pub fn sex_in(self, range: impl _orm::RangeOf<Sex>) -> _orm::Range<Self> {
            <Sex as _orm::Part>::range(self.0, "sex", range)
        }
        /// Gives the start of `sex` of `BIB:{bib:05}__{name}__{sex}__{age}`, as in `BIB:00042__text__<sex>`: a row range query, in requests of up to 1,000 rows.
        pub fn sex_starts_with(self, prefix: impl _orm::PrefixOf<Sex>) -> _orm::Range<Self> {
            self.0.starts_with::<_orm::Plain, Sex, _>("sex", prefix, "__")
        }
    }
    impl RegistrationByBib<__age> {
        /// Gives the `age` of `BIB:{bib:05}__{name}__{sex}__{age}`, as in `BIB:00042__text__<sex>__42`: a point query, one request for one row.
        pub fn age(self, age: impl _orm::Value<u8>) -> RegistrationByBib<_orm::Complete> {
            RegistrationByBib(<u8 as _orm::Part>::push(self.0, "age", age, ""))
        }
        /// Gives a range of `age` of `BIB:{bib:05}__{name}__{sex}__{age}`, as in `BIB:00042__text__<sex>__42`: a row range query, in requests of up to 1,000 rows.
        pub fn age_in(self, range: impl _orm::LastRangeOf<u8>) -> _orm::Range<Self> {
            <u8 as _orm::Part>::range(self.0, "age", range)
        }
    }
    _orm::row!([] RegistrationByBib < __S >, [], "RegistrationByBib", RegistrationByBib);
    #[diagnostic::do_not_recommend]
    impl<__S> _orm::FromRow<RegistrationByBib<__S>> for Registration {}
    impl<__S, const _ID: _orm::u64> _orm::Stores<_ID> for RegistrationByBib<__S> {}
    impl<__S> _orm::Row for RegistrationByBib<__S> {
        type Entity = Registration;
        type Columns = RegistrationColumns;
        const INDEX: _orm::usize = 0;
        const COLUMNS: Self::Columns = RegistrationColumns {
            event: _orm::column("Event"),
            distance: _orm::column("Distance"),
            bib: _orm::column("Bib"),
            name: _orm::column("Name"),
            sex: _orm::column("Sex"),
            age: _orm::column("Age"),
            registered_at: _orm::column("RegisteredAt"),
            city: _orm::column("City"),
        };
    }
    impl RegistrationByAge<__age> {
        /// Gives the `age` of `AGE:{age:03}__{bib}__{name}__{sex}`, as in `AGE:042__`: a row range query, in requests of up to 1,000 rows.
        pub fn age(self, age: impl _orm::Value<u8>) -> RegistrationByAge<__bib> {
            RegistrationByAge(<u8 as _orm::Part<_orm::Padded<3>>>::push(self.0, "age", age, "__"))
        }
        /// Gives a range of `age` of `AGE:{age:03}__{bib}__{name}__{sex}`, as in `AGE:042`: a row range query, in requests of up to 1,000 rows.
        pub fn age_in(self, range: impl _orm::RangeOf<u8, _orm::Padded<3>>) -> _orm::Range<Self> {
            <u8 as _orm::Part<_orm::Padded<3>>>::range(self.0, "age", range)
        }
    }
    impl RegistrationByAge<__bib> {
        /// Gives the `bib` of `AGE:{age:03}__{bib}__{name}__{sex}`, as in `AGE:042__42__`: a row range query, in requests of up to 1,000 rows.
        pub fn bib(self, bib: impl _orm::Value<u32>) -> RegistrationByAge<__name> {
            RegistrationByAge(<u32 as _orm::Part>::push(self.0, "bib", bib, "__"))
        }
        /// Gives a range of `bib` of `AGE:{age:03}__{bib}__{name}__{sex}`, as in `AGE:042__42`: a row range query, in requests of up to 1,000 rows.
        pub fn bib_in(self, range: impl _orm::RangeOf<u32>) -> _orm::Range<Self> {
            <u32 as _orm::Part>::range(self.0, "bib", range)
        }
    }
    impl RegistrationByAge<__name> {
        /// Gives the `name` of `AGE:{age:03}__{bib}__{name}__{sex}`, as in `AGE:042__42__text__`: a row range query, in requests of up to 1,000 rows.
        pub fn name(self, name: impl _orm::Value<String>) -> RegistrationByAge<__sex> {
            RegistrationByAge(<String as _orm::Part>::push(self.0, "name", name, "__"))
        }
        /// Gives a range of `name` of `AGE:{age:03}__{bib}__{name}__{sex}`, as in `AGE:042__42__text`: a row range query, in requests of up to 1,000 rows.
        pub fn name_in(self, range: impl _orm::RangeOf<String>) -> _orm::Range<Self> {
            <String as _orm::Part>::range(self.0, "name", range)
        }
        /// Gives the start of `name` of `AGE:{age:03}__{bib}__{name}__{sex}`, as in `AGE:042__42__text`: a row range query, in requests of up to 1,000 rows.
        pub fn name_starts_with(self, prefix: impl _orm::PrefixOf<String>) -> _orm::Range<Self> {
            self.0.starts_with::<_orm::Plain, String, _>("name", prefix, "__")
        }
    }
    impl RegistrationByAge<__sex> {
        /// Gives the `sex` of `AGE:{age:03}__{bib}__{name}__{sex}`, as in `AGE:042__42__text__<sex>`: a point query, one request for one row.
        pub fn sex(self, sex: impl _orm::Value<Sex>) -> RegistrationByAge<_orm::Complete> {
            RegistrationByAge(<Sex as _orm::Part>::push(self.0, "sex", sex, ""))
        }
        /// Gives a range of `sex` of `AGE:{age:03}__{bib}__{name}__{sex}`, as in `AGE:042__42__text__<sex>`: a row range query, in requests of up to 1,000 rows.
        pub fn sex_in(self, range: impl _orm::LastRangeOf<Sex>) -> _orm::Range<Self> {
            <Sex as _orm::Part>::range(self.0, "sex", range)
        }
        /// Gives the start of `sex` of `AGE:{age:03}__{bib}__{name}__{sex}`, as in `AGE:042__42__text__<sex>`: a row range query, in requests of up to 1,000 rows.
        pub fn sex_starts_with(self, prefix: impl _orm::PrefixOf<Sex>) -> _orm::Range<Self> {
            self.0.starts_with::<_orm::Plain, Sex, _>("sex", prefix, "")
        }
    }
    _orm::row!([] RegistrationByAge < __S >, [], "RegistrationByAge", RegistrationByAge);
    #[diagnostic::do_not_recommend]
    impl<__S> _orm::FromRow<RegistrationByAge<__S>> for Registration {}
    impl<__S, const _ID: _orm::u64> _orm::Stores<_ID> for RegistrationByAge<__S> {}
    impl<__S> _orm::Row for RegistrationByAge<__S> {
        type Entity = Registration;
        type Columns = RegistrationColumns;
        const INDEX: _orm::usize = 1;
        const COLUMNS: Self::Columns = <RegistrationByBib as _orm::Row>::COLUMNS;
    }
    impl RegistrationByTime<__newest> {
        /// Gives the `newest` of `NEW:{newest}__{bib:05}`, as in `NEW:2520817121999999999__`: a row range query, in requests of up to 1,000 rows.
        pub fn newest(self, newest: impl _orm::Value<OffsetDateTime>) -> RegistrationByTime<__bib> {
            RegistrationByTime(<OffsetDateTime as _orm::Part<_orm::Descending>>::push(
                self.0, "newest", newest, "__",
            ))
        }
        /// Gives a range of `newest` of `NEW:{newest}__{bib:05}`, as in `NEW:2520817121999999999`: a row range query, in requests of up to 1,000 rows.
        pub fn newest_in(
            self,
            range: impl _orm::RangeOf<OffsetDateTime, _orm::Descending>,
        ) -> _orm::Range<Self> {
            <OffsetDateTime as _orm::Part<_orm::Descending>>::range(self.0, "newest", range)
        }
    }
    impl RegistrationByTime<__bib> {
        /// Gives the `bib` of `NEW:{newest}__{bib:05}`, as in `NEW:2520817121999999999__00042`: a point query, one request for one row.
        pub fn bib(self, bib: impl _orm::Value<u32>) -> RegistrationByTime<_orm::Complete> {
            RegistrationByTime(<u32 as _orm::Part<_orm::Padded<5>>>::push(self.0, "bib", bib, ""))
        }
        /// Gives a range of `bib` of `NEW:{newest}__{bib:05}`, as in `NEW:2520817121999999999__00042`: a row range query, in requests of up to 1,000 rows.
        pub fn bib_in(
            self,
            range: impl _orm::LastRangeOf<u32, _orm::Padded<5>>,
        ) -> _orm::Range<Self> {
            <u32 as _orm::Part<_orm::Padded<5>>>::range(self.0, "bib", range)
        }
    }
    _orm::row!(
        [] RegistrationByTime < __S >, [], "RegistrationByTime", RegistrationByTime
    );
    impl<__S> _orm::Row for RegistrationByTime<__S> {
        type Entity = Registration;
        type Columns = RegistrationByTimeColumns;
        const INDEX: _orm::usize = 2;
        const COLUMNS: Self::Columns = RegistrationByTimeColumns { name: _orm::column("Name") };
    }
    _orm::columns!([] RegistrationColumns, [], "RegistrationColumns");
    _orm::columns!([] RegistrationByTimeColumns, [], "RegistrationByTimeColumns");
    impl<__S> _orm::Stores<1237236456312824991> for RegistrationByTime<__S> {}
    impl<__S> _orm::Stores<15956180055569954882> for RegistrationByTime<__S> {}
    impl<__S> _orm::Stores<23665995974432626> for RegistrationByTime<__S> {}
    impl<__S> _orm::Stores<14176396743819860870> for RegistrationByTime<__S> {}
    impl<__S> _orm::Stores<9544703709271745487> for RegistrationByTime<__S> {}
    impl _orm::EntityPatch<Registration> for RegistrationPatch {
        fn into_patch(self) -> _orm::Patch<Registration> {
            self.0
        }
    }
    _orm::patch!([] RegistrationPatch, [], "RegistrationPatch");
    type __age = _orm::Needs<RegistrationComponents::age>;
    type __bib = _orm::Needs<RegistrationComponents::bib>;
    type __name = _orm::Needs<RegistrationComponents::name>;
    type __newest = _orm::Needs<RegistrationComponents::newest>;
    type __sex = _orm::Needs<RegistrationComponents::sex>;
    impl Registration {
        /// The partition `{event}__{distance}`, such as `text__<distance>`, whose rows can be asked for by key. Sends nothing.
        pub fn partition(
            event: impl _orm::Value<String>,
            distance: impl _orm::Value<Distance>,
        ) -> RegistrationPartition {
            let key = _orm::PartitionKey::new("Registration", _orm::Escape::Reject, "");
            let key = <String as _orm::Part>::push_partition(key, "event", event, "__");
            let key = <Distance as _orm::Part>::push_partition(key, "distance", distance, "");
            RegistrationPartition(key)
        }
    }
    impl _orm::Field<1237236456312824991, String> for Registration {
        const PROPERTY: &'static _orm::str = "Event";
        const KEYS: _orm::FromKeys<Self, String> = |k| k.partition(0, <String as _orm::Part>::read);
    }
    impl _orm::Field<15956180055569954882, Distance> for Registration {
        const PROPERTY: &'static _orm::str = "Distance";
        const KEYS: _orm::FromKeys<Self, Distance> =
            |k| k.partition(1, <Distance as _orm::Part>::read);
    }
    impl _orm::Field<23665995974432626, u32> for Registration {
        const PROPERTY: &'static _orm::str = "Bib";
        const KEYS: _orm::FromKeys<Self, u32> =
            |k| k.row(2, 1, <u32 as _orm::Part<_orm::Padded<5>>>::read);
    }
    impl _orm::Field<14176396743819860870, String> for Registration {
        const PROPERTY: &'static _orm::str = "Name";
    }
    impl _orm::Field<9384255985698349703, Sex> for Registration {
        const PROPERTY: &'static _orm::str = "Sex";
    }
    impl _orm::Field<16651413216827089244, u8> for Registration {
        const PROPERTY: &'static _orm::str = "Age";
    }
    impl _orm::Field<9544703709271745487, OffsetDateTime> for Registration {
        const PROPERTY: &'static _orm::str = "RegisteredAt";
        const KEYS: _orm::FromKeys<Self, OffsetDateTime> =
            |k| k.row(2, 0, <OffsetDateTime as _orm::Part<_orm::Descending>>::read);
    }
    impl _orm::Field<18003902094994090146, Option<String>> for Registration {
        const PROPERTY: &'static _orm::str = "City";
    }
    impl RegistrationPatch {
        /// Sets `City`.
        pub fn city(self, city: impl _orm::Value<String>) -> Self {
            Self(<String as _orm::Stored>::set(self.0, "City", city))
        }
    }
};
