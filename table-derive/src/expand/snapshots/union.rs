#[allow(dead_code, deprecated, non_camel_case_types, non_snake_case, private_bounds)]
#[allow(private_interfaces, unused_imports, unused_mut, unused_qualifications, unused_variables)]
const _: () = {
    use ::table_orm::__private as _orm;
    const _: () = _orm::assert_union(
        _orm::UnionMember::shares_table(
            &<Employee as _orm::Variant>::MEMBER,
            &<directory::Department as _orm::Variant>::MEMBER,
        ),
        "`Employee` and `Department` are stored in different tables, but a union reads one partition of one table: give both the same `#[table(name = \"..\")]`",
    );
    #[allow(long_running_const_eval)]
    const _: () = _orm::assert_union(
        _orm::UnionMember::differs(
            &<Employee as _orm::Variant>::MEMBER,
            &<directory::Department as _orm::Variant>::MEMBER,
        ),
        "a RowKey can be that of a row of `Employee` and of `Department`, so one would be taken for the other: start the rows of each with a different literal, such as `A:`, or mark both types with a kind of their own, such as `#[table(kind = \"Department\")]`, and guards with a key of their own: `unique(.., key = \"..\")`, or with `across` a table of their own: `unique(.., across, table = \"..\")`",
    );
    const _: () = _orm::assert_union(
        _orm::UnionMember::shares_table(
            &<Employee as _orm::Variant>::MEMBER,
            &<Guest<'static, u8> as _orm::Variant>::MEMBER,
        ),
        "`Employee` and `Guest` are stored in different tables, but a union reads one partition of one table: give both the same `#[table(name = \"..\")]`",
    );
    #[allow(long_running_const_eval)]
    const _: () = _orm::assert_union(
        _orm::UnionMember::differs(
            &<Employee as _orm::Variant>::MEMBER,
            &<Guest<'static, u8> as _orm::Variant>::MEMBER,
        ),
        "a RowKey can be that of a row of `Employee` and of `Guest`, so one would be taken for the other: start the rows of each with a different literal, such as `A:`, or mark both types with a kind of their own, such as `#[table(kind = \"Guest\")]`, and guards with a key of their own: `unique(.., key = \"..\")`, or with `across` a table of their own: `unique(.., across, table = \"..\")`",
    );
    const _: () = _orm::assert_union(
        _orm::UnionMember::shares_table(
            &<directory::Department as _orm::Variant>::MEMBER,
            &<Guest<'static, u8> as _orm::Variant>::MEMBER,
        ),
        "`Department` and `Guest` are stored in different tables, but a union reads one partition of one table: give both the same `#[table(name = \"..\")]`",
    );
    #[allow(long_running_const_eval)]
    const _: () = _orm::assert_union(
        _orm::UnionMember::differs(
            &<directory::Department as _orm::Variant>::MEMBER,
            &<Guest<'static, u8> as _orm::Variant>::MEMBER,
        ),
        "a RowKey can be that of a row of `Department` and of `Guest`, so one would be taken for the other: start the rows of each with a different literal, such as `A:`, or mark both types with a kind of their own, such as `#[table(kind = \"Guest\")]`, and guards with a key of their own: `unique(.., key = \"..\")`, or with `across` a table of their own: `unique(.., across, table = \"..\")`",
    );
    #[automatically_derived]
    impl _orm::TableUnion for Office {
        const NAME: &'static _orm::str = "Office";
        const TABLE: &'static _orm::str = <Employee as _orm::Variant>::MEMBER.table;
        const MEMBERS: &'static [_orm::UnionMember] = &[
            <Employee as _orm::Variant>::MEMBER,
            <directory::Department as _orm::Variant>::MEMBER,
            <Guest<'static, u8> as _orm::Variant>::MEMBER,
        ];
        fn read_member(
            member: _orm::usize,
            row: &[_orm::u8],
        ) -> _orm::Result<Self, _orm::PropertyError> {
            match member {
                0 => <Employee as _orm::Variant>::read(row).map(Self::Employee),
                1 => <directory::Department as _orm::Variant>::read(row).map(Self::Department),
                _ => <Guest<'static, u8> as _orm::Variant>::read(row).map(Self::Guest),
            }
        }
    }
    #[diagnostic::do_not_recommend]
    impl _orm::MemberOf<Office> for Employee {}
    #[diagnostic::do_not_recommend]
    impl _orm::MemberOf<Office> for directory::Department {}
    #[diagnostic::do_not_recommend]
    impl _orm::MemberOf<Office> for Guest<'static, u8> {}
};
