//! `Clone` and `Debug` of generated types. The compiler takes longer for derived ones: with them, it
//! checks fifty entities in a tenth more time.

use std::fmt::{Debug, Formatter, Result};

/// `Clone` and `Debug` of a type around a key or a patch. The derive passes the type's parameters, the
/// type, its bounds and its name.
#[doc(hidden)]
#[macro_export]
macro_rules! __wrapper {
    ([$($params:tt)*] $wrapper:ty, [$($bounds:tt)*], $name:literal) => {
        #[automatically_derived]
        impl $($params)* ::core::clone::Clone for $wrapper $($bounds)* {
            fn clone(&self) -> Self {
                // Of a generic type, the other field is a `PhantomData`.
                Self { 0: ::core::clone::Clone::clone(&self.0), ..*self }
            }
        }
        #[automatically_derived]
        impl $($params)* ::core::fmt::Debug for $wrapper $($bounds)* {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $crate::__private::debug_wrapper(f, $name, &self.0)
            }
        }
    };
}

/// `Copy`, `Clone` and `Debug` of a row's columns. The derive passes the type's parameters, the type, its
/// bounds and its name.
#[doc(hidden)]
#[macro_export]
macro_rules! __columns {
    ([$($params:tt)*] $columns:ty, [$($bounds:tt)*], $name:literal) => {
        #[automatically_derived]
        impl $($params)* ::core::marker::Copy for $columns $($bounds)* {}
        #[automatically_derived]
        impl $($params)* ::core::clone::Clone for $columns $($bounds)* {
            fn clone(&self) -> Self {
                *self
            }
        }
        #[automatically_derived]
        impl $($params)* ::core::fmt::Debug for $columns $($bounds)* {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $crate::__private::debug_columns(f, $name)
            }
        }
    };
}

/// Shows a generated type of that name around a value.
///
/// # Errors
/// When the formatter has one.
pub fn debug_wrapper(f: &mut Formatter<'_>, name: &str, value: &dyn Debug) -> Result {
    f.debug_tuple(name).field(value).finish()
}

/// Shows generated columns of that name. Their fields are the same in each value.
///
/// # Errors
/// When the formatter has one.
pub fn debug_columns(f: &mut Formatter<'_>, name: &str) -> Result {
    f.debug_struct(name).finish_non_exhaustive()
}
