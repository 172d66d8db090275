//! What `.await` says of a query that one of its last methods sends.

use super::list::List;
use super::union::UnionList;
use std::marker::PhantomData;

/// `.await` by itself. Not the list, of which rustc would say no more than that it is no future.
pub struct Await<T>(PhantomData<T>);

/// Implemented by nothing: a list or scan can be read in several ways, of which `.await` tells none.
#[diagnostic::on_unimplemented(
    message = "a list or scan is not sent by `.await`, but by its last method",
    label = "nothing says how to read it",
    note = "write `.collect().await` for all rows, or `.first()`, `.one()`, `.count()`; `.stream()` \
            and `.pages(n)` read it piece by piece"
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
