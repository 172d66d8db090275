//! The key of a row as a query.

/// `Query` of a row's type, in every state of its key. The derive passes the parameters with the state
/// `__S`, the type, its bounds, and the type in its first state.
#[doc(hidden)]
#[macro_export]
macro_rules! __key_query {
    ([$($params:tt)*] $key:ty, [$($bounds:tt)*], $row:ty) => {
        #[diagnostic::do_not_recommend]
        impl $($params)* $crate::entity::Query for $key $($bounds)* {
            type Row = $row;
            type Class = <__S as $crate::query::KeyState>::Class;
            fn into_keys(self) -> $crate::__private::KeyResult<$crate::query::KeyRange> {
                <__S as $crate::query::KeyState>::keys(self.0)
            }
        }
    };
}
