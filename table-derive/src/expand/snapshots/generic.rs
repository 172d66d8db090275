/// The properties that full rows can be filtered by. A filter saves transfer: the store reads every row of the query all the same.
#[allow(dead_code, deprecated, non_snake_case)]
pub(crate) struct MeasureColumns<'a, T, const N: usize>
where
    T: Property + Send + Sync,
{
    /// `Type`.
    r#type: orm::query::Column<Cow<'a, str>>,
    /// `At`.
    at: orm::query::Column<u16>,
    /// `Value`.
    value: orm::query::Column<T>,
    __entity: ::core::marker::PhantomData<fn() -> Measure<'a, T, N>>,
}
/// One partition `{type}`, such as `text`. As a query, its `row` rows: a row range query, in requests of up to 1,000 rows.
#[must_use]
pub(crate) struct MeasurePartition<'a, T, const N: usize>(
    orm::query::PartitionKey,
    ::core::marker::PhantomData<fn() -> Measure<'a, T, N>>,
)
where
    T: Property + Send + Sync;
/// The rows `row` of one partition, `{at}`, such as `42`: full copies. As a query, those with the components given.
#[must_use]
pub(crate) struct MeasureRow<'a, T, const N: usize, __S = ()>(
    orm::query::RowKey<__S>,
    ::core::marker::PhantomData<fn() -> Measure<'a, T, N>>,
)
where
    T: Property + Send + Sync;
/// Properties to be set in a stored `Measure`, those that no key is made of. A `merge` is one request.
#[must_use]
pub(crate) struct MeasurePatch<'a, T, const N: usize>(orm::repo::Patch<Measure<'a, T, N>>)
where
    T: Property + Send + Sync;
#[doc(hidden)]
#[allow(missing_debug_implementations, non_camel_case_types, non_snake_case, unreachable_pub)]
pub(crate) mod MeasureComponents {
    pub enum at {}
}
#[allow(dead_code, deprecated, non_camel_case_types, non_snake_case, private_bounds)]
#[allow(private_interfaces, unused_imports, unused_mut, unused_qualifications, unused_variables)]
const _: () = {
    use orm::__private as _orm;
    #[automatically_derived]
    #[diagnostic::do_not_recommend]
    impl<'a, T, const N: usize> _orm::TableEntity for Measure<'a, T, N>
    where
        T: Property + Send + Sync,
    {
        const TABLE: &'static _orm::str = "measures";
        const PARTITION: &'static _orm::str = "{type}";
        const PARTITION_KEY: _orm::KeyTemplate<'static> =
            _orm::key("").parts(&[_orm::part("type", <Cow<'a, str> as _orm::Part>::SHAPE, "")]);
        const ROWS: &'static [_orm::RowTemplate] = &[_orm::full("row", "{at}", "")
            .parts(&[_orm::part("at", <u16 as _orm::Part>::SHAPE, "")])];
        const PROPERTIES: &'static [_orm::Declared] = &[
            _orm::property("Type", <Cow<'a, str> as _orm::Stored>::TYPE),
            _orm::property("At", <u16 as _orm::Stored>::TYPE),
            _orm::property("Value", <T as _orm::Stored>::TYPE),
            _orm::Declared::Series(
                "Series",
                <[Option<u8>; N] as _orm::Series>::SLOTS,
                <[Option<u8>; N] as _orm::Series>::TYPE,
            ),
        ];
        const KEYS_FOLLOW_CANONICAL: _orm::bool = true;
        const PATCHES_ONE_ROW: _orm::bool = true;
        type Canonical = MeasureRow<'a, T, N>;
        fn encode_partition_key(&self, key: &mut _orm::KeyText) -> _orm::KeyResult {
            const {
                _orm::assert_properties(<Measure<'a, T, N> as _orm::TableEntity>::PROPERTIES);
            }
            <Cow<'a, str> as _orm::Part>::write(&self.r#type, key, "type", "")?;
            _orm::Ok(())
        }
        fn encode_row_key(&self, row: _orm::usize, key: &mut _orm::KeyText) -> _orm::RowWritten {
            <u16 as _orm::Part>::write(&self.at, key, "at", "")?;
            _orm::Ok(true)
        }
        fn encode_properties(&self, row: _orm::usize, out: &mut _orm::Writer) -> _orm::Written {
            <Cow<'a, str> as _orm::Stored>::put(&self.r#type, out, "Type")?;
            <u16 as _orm::Stored>::put(&self.at, out, "At")?;
            <T as _orm::Stored>::put(&self.value, out, "Value")?;
            out.series("Series", &self.series)?;
            _orm::Ok(())
        }
    }
    #[automatically_derived]
    impl<'a, T, const N: usize> _orm::ReadRow for Measure<'a, T, N>
    where
        T: Property + Send + Sync,
    {
        const NAME: &'static _orm::str = "Measure";
        fn read_row(row: _orm::usize, mut m: _orm::Members<'_, '_>) -> _orm::Read<Self> {
            let mut f0 = _orm::None;
            let mut f1 = _orm::None;
            let mut f2 = _orm::None;
            let mut f3 = <[Option<u8>; N] as _orm::Series>::empty();
            while let _orm::Some(member) = _orm::Members::next_name(&mut m)? {
                match &*member {
                    "Type" => <Cow<'a, str> as _orm::Stored>::take(&mut f0, &mut m, "Type")?,
                    "At" => <u16 as _orm::Stored>::take(&mut f1, &mut m, "At")?,
                    "Value" => <T as _orm::Stored>::take(&mut f2, &mut m, "Value")?,
                    other => {
                        if !(<[Option<u8>; N] as _orm::Series>::read(
                            &mut f3, "Series", other, &mut m,
                        )?) {
                            _orm::Members::other(&mut m, other)?
                        }
                    }
                }
            }
            _orm::Ok(Self {
                r#type: <Cow<'a, str> as _orm::Stored>::finish(f0, "Type")?,
                at: <u16 as _orm::Stored>::finish(f1, "At")?,
                value: <T as _orm::Stored>::finish(f2, "Value")?,
                series: <[Option<u8>; N] as _orm::Series>::finish(f3, "Series")?,
            })
        }
    }
    _orm::partition!(
        [< 'a, T, const N : usize, >] MeasurePartition < 'a, T, N, >, [where T : Property
        + Send + Sync,], "MeasurePartition", MeasureRow < 'a, T, N, >, row
    );
    impl<'a, T, const N: usize> MeasurePartition<'a, T, N>
    where
        T: Property + Send + Sync,
    {
        /// The rows `{at}`, such as `42`: a row range query, in requests of up to 1,000 rows.
        pub(crate) fn row(&self) -> MeasureRow<'a, T, N, __at> {
            MeasureRow(_orm::PartitionKey::row_key(&self.0, ""), _orm::PhantomData)
        }
    }
    impl<'a, T, const N: usize> MeasureRow<'a, T, N, __at>
    where
        T: Property + Send + Sync,
    {
        /// Gives the `at` of `{at}`, as in `42`: a point query, one request for one row.
        pub(crate) fn at(self, at: impl _orm::Value<u16>) -> MeasureRow<'a, T, N, _orm::Complete> {
            MeasureRow(<u16 as _orm::Part>::push(self.0, "at", at, ""), _orm::PhantomData)
        }
        /// Gives a range of `at` of `{at}`, as in `42`: a row range query, in requests of up to 1,000 rows.
        pub(crate) fn at_in(self, range: impl _orm::LastRangeOf<u16>) -> _orm::Range<Self> {
            <u16 as _orm::Part>::range(self.0, "at", range)
        }
    }
    _orm::row!(
        ['a, T, const N : usize,] MeasureRow < 'a, T, N, __S >, [where T : Property +
        Send + Sync,], "MeasureRow", MeasureRow < 'a, T, N, >
    );
    #[diagnostic::do_not_recommend]
    impl<'a, T, const N: usize, __S> _orm::FromRow<MeasureRow<'a, T, N, __S>> for Measure<'a, T, N> where
        T: Property + Send + Sync
    {
    }
    impl<'a, T, const N: usize, __S, const _ID: _orm::u64> _orm::Stores<_ID>
        for MeasureRow<'a, T, N, __S>
    where
        T: Property + Send + Sync,
    {
    }
    impl<'a, T, const N: usize, __S> _orm::Row for MeasureRow<'a, T, N, __S>
    where
        T: Property + Send + Sync,
    {
        type Entity = Measure<'a, T, N>;
        type Columns = MeasureColumns<'a, T, N>;
        const INDEX: _orm::usize = 0;
        const COLUMNS: Self::Columns = MeasureColumns {
            r#type: _orm::column("Type"),
            at: _orm::column("At"),
            value: _orm::column("Value"),
            __entity: _orm::PhantomData,
        };
    }
    _orm::columns!(
        [< 'a, T, const N : usize, >] MeasureColumns < 'a, T, N, >, [where T : Property +
        Send + Sync,], "MeasureColumns"
    );
    impl<'a, T, const N: usize> _orm::EntityPatch<Measure<'a, T, N>> for MeasurePatch<'a, T, N>
    where
        T: Property + Send + Sync,
    {
        fn into_patch(self) -> _orm::Patch<Measure<'a, T, N>> {
            self.0
        }
    }
    _orm::patch!(
        [< 'a, T, const N : usize, >] MeasurePatch < 'a, T, N, >, [where T : Property +
        Send + Sync,], "MeasurePatch"
    );
    type __at = _orm::Needs<MeasureComponents::at>;
    impl<'a, T, const N: usize> Measure<'a, T, N>
    where
        T: Property + Send + Sync,
    {
        /// The partition `{type}`, such as `text`, whose rows can be asked for by key. Sends nothing.
        pub(crate) fn partition(
            r#type: impl _orm::Value<Cow<'a, str>>,
        ) -> MeasurePartition<'a, T, N> {
            let key = _orm::PartitionKey::new("Measure", _orm::Escape::Reject, "");
            let key = <Cow<'a, str> as _orm::Part>::push_partition(key, "type", r#type, "");
            MeasurePartition(key, _orm::PhantomData)
        }
    }
    impl<'a, T, const N: usize> _orm::Field<12075340201627130925, Cow<'a, str>> for Measure<'a, T, N>
    where
        T: Property + Send + Sync,
    {
        const PROPERTY: &'static _orm::str = "Type";
    }
    impl<'a, T, const N: usize> _orm::Field<620456643683264872, u16> for Measure<'a, T, N>
    where
        T: Property + Send + Sync,
    {
        const PROPERTY: &'static _orm::str = "At";
    }
    impl<'a, T, const N: usize> _orm::Field<8999596768310594794, T> for Measure<'a, T, N>
    where
        T: Property + Send + Sync,
    {
        const PROPERTY: &'static _orm::str = "Value";
    }
    impl<'a, T, const N: usize> _orm::SeriesOf<5407927592400933424> for Measure<'a, T, N>
    where
        T: Property + Send + Sync,
    {
        type Series = [Option<u8>; N];
        const PROPERTY: &'static _orm::str = "Series";
    }
    impl<'a, T, const N: usize> MeasurePatch<'a, T, N>
    where
        T: Property + Send + Sync,
    {
        /// Sets `Value`.
        pub(crate) fn value(self, value: impl _orm::Value<T>) -> Self {
            Self(<T as _orm::Stored>::set(self.0, "Value", value))
        }
        /// Sets the slot of that number of the series `Series`.
        pub(crate) fn series_at(self, slot: _orm::usize, value: impl _orm::Value<u8>) -> Self {
            Self(self.0.set_slot::<u8>("Series", slot, N, value))
        }
    }
};
