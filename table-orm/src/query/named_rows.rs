//! Partitions whose rows have names.

/// What `row()` says on a partition whose rows have names: a trait that no partition has, with their
/// names, and the method.
///
/// The method's lifetime leaves its bound to be judged where the method is called.
#[doc(hidden)]
#[macro_export]
macro_rules! __named_rows {
    ($names:literal) => {
        #[diagnostic::on_unimplemented(
            message = "the rows of this partition have names, so it has no `row()`",
            label = $names
        )]
        trait __NamedRows {}

        // Spares the message the advice to implement the trait.
        #[diagnostic::do_not_recommend]
        impl __NamedRows for () {}
    };
    ($vis:vis $row:ty, $canonical:ident) => {
        #[doc(hidden)]
        $vis fn row<'__p>(&'__p self) -> $row
        where
            &'__p Self: __NamedRows,
        {
            Self::$canonical(self)
        }
    };
}
