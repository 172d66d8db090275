//! What `.await` says of a query that one of its last methods sends.

use super::list::List;
use super::union::UnionList;
use crate::scan::Scan;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

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
        impl<$($other,)* $read> Future for $list<$($other,)* $read>
        where
            Await<$read>: ReadsLists,
        {
            type Output = Infallible;

            fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Infallible> {
                Poll::Pending
            }
        }
    )*};
}

sent_by_last_method!(List<T, R, C>, Scan<T, R>, UnionList<U>);
