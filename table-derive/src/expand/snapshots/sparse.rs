/// The properties that full rows can be filtered by. A filter saves transfer: the store reads every row of the query all the same.
#[allow(dead_code, deprecated, non_snake_case)]
struct FileColumns {
    /// `day`.
    day: ::table_orm::query::Column<Date>,
}
/// The properties that `by_day` can be filtered by. A filter saves transfer: the store reads every row of the query all the same.
#[allow(dead_code, deprecated, non_snake_case)]
struct FileByDayColumns {
    /// `day`.
    day: ::table_orm::query::Column<Date>,
}
/// One partition `{owner}`, such as `42`. As a query, its `by_path` rows: a row range query, in requests of up to 1,000 rows.
#[must_use]
struct FilePartition(::table_orm::query::PartitionKey);
/// The rows `by_path` of one partition, `P:{path}`, such as `P:text`: full copies. As a query, those with the components given.
#[must_use]
struct FileByPath<__S = ()>(::table_orm::query::RowKey<__S>);
/// The rows `by_day` of one partition, `D:{day}__{path}`, such as `D:2011-11-06__text`: partial copies. As a query, those with the components given.
#[must_use]
struct FileByDay<__S = ()>(::table_orm::query::RowKey<__S>);
/// Properties to be set in a stored `File`, those that no key is made of. A `merge` is a read and a transaction, again after a conflict.
#[must_use]
struct FilePatch(::table_orm::repo::Patch<File>);
#[doc(hidden)]
#[allow(missing_debug_implementations, non_camel_case_types, non_snake_case, unreachable_pub)]
mod FileComponents {
    pub enum day {}
    pub enum path {}
}
#[allow(dead_code, deprecated, non_camel_case_types, non_snake_case, private_bounds)]
#[allow(private_interfaces, unused_imports, unused_mut, unused_qualifications, unused_variables)]
const _: () = {
    use ::table_orm::__private as _orm;
    const _: () = _orm::evaluate(&<File as _orm::TableEntity>::ROWS);
    #[automatically_derived]
    #[diagnostic::do_not_recommend]
    impl _orm::TableEntity for File {
        const TABLE: &'static _orm::str = "files";
        const PARTITION: &'static _orm::str = "{owner}";
        const PARTITION_KEY: _orm::KeyTemplate<'static> =
            _orm::key("").parts(&[_orm::part("owner", <u64 as _orm::Part>::SHAPE, "")]);
        const ROWS: &'static [_orm::RowTemplate] = &[
            _orm::full("by_path", "P:{path}", "P:").parts(&[_orm::part(
                "path",
                <String as _orm::Part>::SHAPE,
                "",
            )]),
            _orm::partial("by_day", "D:{day}__{path}", "D:", &["day", "reads"])
                .parts(&[
                    _orm::part("day", <Date as _orm::Part>::SHAPE, "__"),
                    _orm::part("path", <String as _orm::Part>::SHAPE, ""),
                ])
                .sparse(),
        ];
        const PROPERTIES: &'static [_orm::Declared] = &[
            _orm::property("day", <Option<Date> as _orm::Stored>::TYPE),
            _orm::property("labels", <_orm::Json<Vec<String>> as _orm::Stored>::TYPE),
            _orm::Declared::Series(
                "reads",
                <[Option<u32>; 24] as _orm::Series>::SLOTS,
                <[Option<u32>; 24] as _orm::Series>::TYPE,
            ),
        ];
        const ESCAPE: _orm::Escape = _orm::Escape::Encode;
        type Canonical = FileByPath;
        fn encode_partition_key(&self, key: &mut _orm::KeyText) -> _orm::KeyResult {
            <u64 as _orm::Part>::write(&self.owner, key, "owner", "")?;
            _orm::Ok(())
        }
        fn encode_row_key(&self, row: _orm::usize, key: &mut _orm::KeyText) -> _orm::RowWritten {
            match row {
                0 => {
                    <String as _orm::Part>::write(&self.path, key, "path", "")?;
                }
                _ => {
                    if !File::is_public(self) {
                        return _orm::Ok(false);
                    }
                    let _orm::Some(value) = &self.day else {
                        return _orm::Ok(false);
                    };
                    <Date as _orm::Part>::write(value, key, "day", "__")?;
                    <String as _orm::Part>::write(&self.path, key, "path", "")?;
                }
            }
            _orm::Ok(true)
        }
        fn encode_properties(&self, row: _orm::usize, out: &mut _orm::Writer) -> _orm::Written {
            <Option<Date> as _orm::Stored>::put(&self.day, out, "day")?;
            if _orm::matches!(row, 0) {
                out.json("labels", &self.labels)?;
            }
            out.series("reads", &self.reads)?;
            _orm::Ok(())
        }
        fn set_version(&mut self, etag: &_orm::ETag) {
            self.version = <Option<ETag> as _orm::ETagField>::holding(_orm::Clone::clone(etag));
        }
    }
    #[automatically_derived]
    impl _orm::ReadRow for File {
        const NAME: &'static _orm::str = "File";
        fn read_row(row: _orm::usize, mut m: _orm::Members<'_, '_>) -> _orm::Read<Self> {
            let mut f2 = _orm::None;
            let mut f3 = _orm::None;
            let mut f4 = <[Option<u32>; 24] as _orm::Series>::empty();
            while let _orm::Some(member) = _orm::Members::next_name(&mut m)? {
                match &*member {
                    "day" => <Option<Date> as _orm::Stored>::take(&mut f2, &mut m, "day")?,
                    "labels" => {
                        <_orm::Json<Vec<String>> as _orm::Stored>::take(&mut f3, &mut m, "labels")?
                    }
                    other => {
                        if !(<[Option<u32>; 24] as _orm::Series>::read(
                            &mut f4, "reads", other, &mut m,
                        )?) {
                            _orm::Members::other(&mut m, other)?
                        }
                    }
                }
            }
            _orm::Ok(Self {
                owner: _orm::Members::key_value(
                    &m,
                    row,
                    "owner",
                    <Self as _orm::Field<12002927925776846068, u64>>::KEYS,
                )?,
                path: _orm::Members::key_value(
                    &m,
                    row,
                    "path",
                    <Self as _orm::Field<271672890340345462, String>>::KEYS,
                )?,
                day: <Option<Date> as _orm::Stored>::finish(f2, "day")?,
                labels: <_orm::Json<Vec<String>> as _orm::Stored>::finish(f3, "labels")?.0,
                reads: <[Option<u32>; 24] as _orm::Series>::finish(f4, "reads")?,
                open: _orm::Default::default(),
                version: if row == 0 {
                    <Option<ETag> as _orm::ETagField>::holding(_orm::Members::etag(&m))
                } else {
                    _orm::None
                },
            })
        }
    }
    _orm::partition!([] FilePartition, [], "FilePartition", FileByPath, by_path);
    impl FilePartition {
        /// The rows `P:{path}`, such as `P:text`: a row range query, in requests of up to 1,000 rows.
        fn by_path(&self) -> FileByPath<__path> {
            FileByPath(_orm::PartitionKey::row_key(&self.0, "P:"))
        }
        /// The rows `D:{day}__{path}`, such as `D:2011-11-06__text`: a row range query, in requests of up to 1,000 rows.
        fn by_day(&self) -> FileByDay<__day> {
            FileByDay(_orm::PartitionKey::row_key(&self.0, "D:"))
        }
        _orm::named_rows!(FileByPath<__path>, by_path);
    }
    _orm::named_rows!("its rows are `by_path`, `by_day`");
    impl FileByPath<__path> {
        /// Gives the `path` of `P:{path}`, as in `P:text`: a point query, one request for one row.
        fn path(self, path: impl _orm::Value<String>) -> FileByPath<_orm::Complete> {
            FileByPath(<String as _orm::Part>::push(self.0, "path", path, ""))
        }
        /// Gives a range of `path` of `P:{path}`, as in `P:text`: a row range query, in requests of up to 1,000 rows.
        fn path_in(self, range: impl _orm::RangeOf<String>) -> _orm::Range<Self> {
            <String as _orm::Part>::range(self.0, "path", range)
        }
        /// Gives the start of `path` of `P:{path}`, as in `P:text`: a row range query, in requests of up to 1,000 rows.
        fn path_starts_with(self, prefix: impl _orm::PrefixOf<String>) -> _orm::Range<Self> {
            self.0.starts_with::<_orm::Plain, String, _>("path", prefix, "")
        }
    }
    _orm::row!([] FileByPath < __S >, [], "FileByPath", FileByPath);
    #[diagnostic::do_not_recommend]
    impl<__S> _orm::FromRow<FileByPath<__S>> for File {}
    impl<__S, const _ID: _orm::u64> _orm::Stores<_ID> for FileByPath<__S> {}
    impl<__S> _orm::Row for FileByPath<__S> {
        type Entity = File;
        type Columns = FileColumns;
        const INDEX: _orm::usize = 0;
        const COLUMNS: Self::Columns = FileColumns { day: _orm::column("day") };
    }
    impl FileByDay<__day> {
        /// Gives the `day` of `D:{day}__{path}`, as in `D:2011-11-06__`: a row range query, in requests of up to 1,000 rows.
        fn day(self, day: impl _orm::Value<Date>) -> FileByDay<__path> {
            FileByDay(<Date as _orm::Part>::push(self.0, "day", day, "__"))
        }
        /// Gives a range of `day` of `D:{day}__{path}`, as in `D:2011-11-06`: a row range query, in requests of up to 1,000 rows.
        fn day_in(self, range: impl _orm::RangeOf<Date>) -> _orm::Range<Self> {
            <Date as _orm::Part>::range(self.0, "day", range)
        }
    }
    impl FileByDay<__path> {
        /// Gives the `path` of `D:{day}__{path}`, as in `D:2011-11-06__text`: a point query, one request for one row.
        fn path(self, path: impl _orm::Value<String>) -> FileByDay<_orm::Complete> {
            FileByDay(<String as _orm::Part>::push(self.0, "path", path, ""))
        }
        /// Gives a range of `path` of `D:{day}__{path}`, as in `D:2011-11-06__text`: a row range query, in requests of up to 1,000 rows.
        fn path_in(self, range: impl _orm::RangeOf<String>) -> _orm::Range<Self> {
            <String as _orm::Part>::range(self.0, "path", range)
        }
        /// Gives the start of `path` of `D:{day}__{path}`, as in `D:2011-11-06__text`: a row range query, in requests of up to 1,000 rows.
        fn path_starts_with(self, prefix: impl _orm::PrefixOf<String>) -> _orm::Range<Self> {
            self.0.starts_with::<_orm::Plain, String, _>("path", prefix, "")
        }
    }
    _orm::row!([] FileByDay < __S >, [], "FileByDay", FileByDay);
    impl<__S> _orm::Row for FileByDay<__S> {
        type Entity = File;
        type Columns = FileByDayColumns;
        const INDEX: _orm::usize = 1;
        const COLUMNS: Self::Columns = FileByDayColumns { day: _orm::column("day") };
    }
    _orm::columns!([] FileColumns, [], "FileColumns");
    _orm::columns!([] FileByDayColumns, [], "FileByDayColumns");
    impl<__S> _orm::Stores<12002927925776846068> for FileByDay<__S> {}
    impl<__S> _orm::Stores<271672890340345462> for FileByDay<__S> {}
    impl<__S> _orm::Stores<14595384746719022877> for FileByDay<__S> {}
    impl<__S> _orm::Stores<9887007512831683202> for FileByDay<__S> {}
    impl _orm::EntityPatch<File> for FilePatch {
        fn into_patch(self) -> _orm::Patch<File> {
            self.0
        }
    }
    _orm::patch!([] FilePatch, [], "FilePatch");
    type __day = _orm::Needs<FileComponents::day>;
    type __path = _orm::Needs<FileComponents::path>;
    impl File {
        /// The partition `{owner}`, such as `42`, whose rows can be asked for by key. Sends nothing.
        fn partition(owner: impl _orm::Value<u64>) -> FilePartition {
            let key = _orm::PartitionKey::new("File", _orm::Escape::Encode, "");
            let key = <u64 as _orm::Part>::push_partition(key, "owner", owner, "");
            FilePartition(key)
        }
    }
    impl _orm::Field<12002927925776846068, u64> for File {
        const PROPERTY: &'static _orm::str = "";
        const KEYS: _orm::FromKeys<Self, u64> = |k| k.partition(0, <u64 as _orm::Part>::read);
    }
    impl _orm::Field<271672890340345462, String> for File {
        const PROPERTY: &'static _orm::str = "";
        const KEYS: _orm::FromKeys<Self, String> = |k| {
            if let value @ _orm::Some(_) = k.row(0, 0, <String as _orm::Part>::read)? {
                return _orm::Ok(value);
            }
            k.row(1, 1, <String as _orm::Part>::read)
        };
    }
    impl _orm::Field<14595384746719022877, Option<Date>> for File {
        const PROPERTY: &'static _orm::str = "day";
    }
    impl _orm::Field<5459792080582216330, _orm::Json<Vec<String>>> for File {
        const PROPERTY: &'static _orm::str = "labels";
    }
    impl _orm::SeriesOf<9887007512831683202> for File {
        type Series = [Option<u32>; 24];
        const PROPERTY: &'static _orm::str = "reads";
    }
    impl FilePatch {
        /// Sets `labels`.
        fn labels(self, labels: impl _orm::Value<Vec<String>>) -> Self {
            Self(self.0.set_json::<Vec<String>>("labels", labels))
        }
        /// Sets the slot of that number of the series `reads`.
        fn reads_at(self, slot: _orm::usize, value: impl _orm::Value<u32>) -> Self {
            Self(self.0.set_slot::<u32>("reads", slot, 24, value))
        }
    }
};
