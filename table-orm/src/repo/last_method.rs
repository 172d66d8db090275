//! The compile error for `.await` on a query that needs a last method, such as `collect`.

use super::list::List;
use super::union::UnionList;
use std::marker::PhantomData;

/// `.await` as a type of its own. For the list type itself, rustc would only say that it is not a
/// future.
pub struct Await<T>(PhantomData<T>);

/// Implemented by no type: a list or scan can be read in several ways, and `.await` would not
/// choose one.
#[diagnostic::on_unimplemented(
    message = "a list or scan cannot be awaited without a last method",
    label = "no method says how to read the rows",
    note = "use `.collect().await` for all rows, or `.first()`, `.one()`, `.count()`; `.stream()` \
            and `.pages(n)` read piece by piece"
)]
pub trait ReadsLists {}

macro_rules! sent_by_last_method {
    ($($list:ident<$read:ident $(, $other:ident)*>),*) => {$(
        #[doc(hidden)]
        impl<$($other,)* $read> ::core::future::Future for $list<$($other,)* $read>
        where
            $crate::repo::Await<$read>: $crate::repo::ReadsLists,
        {
            type Output = ::core::convert::Infallible;

            fn poll(self: ::core::pin::Pin<&mut Self>, _: &mut ::core::task::Context<'_>) -> ::core::task::Poll<::core::convert::Infallible> {
                ::core::task::Poll::Pending
            }
        }
    )*};
}

sent_by_last_method!(List<T, R, C>, UnionList<U>);

pub(crate) use sent_by_last_method;
