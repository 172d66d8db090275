//! A partition, and the key of a row, as a query.

/// `Query`, `Clone` and `Debug` of a partition's type. The derive passes the type's parameters, the type, its
/// bounds, its name, the canonical row and the method for its keys.
#[doc(hidden)]
#[macro_export]
macro_rules! __partition {
    ([$($params:tt)*] $partition:ty, [$($bounds:tt)*], $name:literal, $row:ty, $keys:ident) => {
        $crate::__private::wrapper!([$($params)*] $partition, [$($bounds)*], $name);
        #[diagnostic::do_not_recommend]
        impl $($params)* $crate::entity::Query for $partition $($bounds)* {
            type Row = $row;
            type Class = $crate::query::class::Partition;
            fn into_keys(self) -> $crate::__private::KeyResult<$crate::query::KeyRange> {
                $crate::query::KeyState::keys(Self::$keys(&self).0)
            }
        }
    };
}

/// `Query`, `Clone` and `Debug` of a row's type, in every state `__S` of its key. The derive passes the type's
/// parameters, the type, its bounds, its name, and the type in its first state.
#[doc(hidden)]
#[macro_export]
macro_rules! __row {
    ([$($params:tt)*] $key:ty, [$($bounds:tt)*], $name:literal, $row:ty) => {
        #[diagnostic::do_not_recommend]
        impl<$($params)* __S: $crate::query::KeyState> $crate::entity::Query for $key $($bounds)* {
            type Row = $row;
            type Class = <__S as $crate::query::KeyState>::Class;
            fn into_keys(self) -> $crate::__private::KeyResult<$crate::query::KeyRange> {
                <__S as $crate::query::KeyState>::keys(self.0)
            }
        }
        $crate::__private::wrapper!([<$($params)* __S>] $key, [$($bounds)*], $name);
    };
}
