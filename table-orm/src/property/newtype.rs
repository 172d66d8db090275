//! Newtypes, which are stored as their field.

/// The traits of a newtype, each where its field has it. The parameters of the type come first, then
/// the type, the bounds of its `where` clause, its field's type and its field, and `true` for one that grows.
///
/// A trait with one implementation for all newtypes would have to name the type of the field, which
/// may be less public than the newtype. No attribute here needs the prelude of tools.
#[doc(hidden)]
#[macro_export]
macro_rules! __newtype {
    ([$($params:tt)*] $ty:ty, [$($bounds:tt)*] $field:ty, $member:tt $(, $grows:literal)?) => {
        #[automatically_derived]
        impl<$($params)* __X> $crate::key::KeyPart<__X> for $ty
        where
            $field: $crate::key::KeyPart<__X>,
            $($bounds)*
        {
            const WIDTH: $crate::key::Width = <$field as $crate::key::KeyPart<__X>>::WIDTH;
            const SHAPE: $crate::key::Shape = <$field as $crate::key::KeyPart<__X>>::SHAPE;
            const REVERSED: $crate::__private::bool =
                <$field as $crate::key::KeyPart<__X>>::REVERSED;
            const PREFIX_FREE: $crate::__private::bool =
                <$field as $crate::key::KeyPart<__X>>::PREFIX_FREE;
            const GROWS: $crate::__private::bool =
                <$field as $crate::key::KeyPart<__X>>::GROWS $(|| $grows)?;

            fn encode(
                &self,
                key: &mut $crate::key::KeyText,
            ) -> $crate::__private::Result<(), $crate::key::KeyFault> {
                <$field as $crate::key::KeyPart<__X>>::encode(&self.$member, key)
            }

            fn decode(
                text: &$crate::__private::str,
            ) -> $crate::__private::Result<Self, $crate::key::KeyFault> {
                let value = <$field as $crate::key::KeyPart<__X>>::decode(text)?;
                $crate::__private::Ok(Self { $member: value })
            }
        }

        $crate::__newtype!(@marker [$($params)*] $ty, [$($bounds)*] $field, SortedLast);
        $crate::__newtype!(@marker [$($params)*] $ty, [$($bounds)*] $field, Sorted);
        $crate::__newtype!(@marker [$($params)*] $ty, [$($bounds)*] $field, PrefixFree);

        #[automatically_derived]
        impl<$($params)* __X> $crate::key::TextPart<__X> for $ty
        where
            $field: $crate::key::TextPart<__X>,
            $($bounds)*
        {
            fn prefix(prefix: &$crate::__private::str) -> $crate::__private::String {
                <$field as $crate::key::TextPart<__X>>::prefix(prefix)
            }
        }

        // The higher-ranked bound makes it a condition: a newtype of a type that is no property can
        // still be in keys.
        #[automatically_derived]
        impl<$($params)*> $crate::property::Property for $ty
        where
            for<'__any> $field: $crate::property::Property,
            $($bounds)*
        {
            const TYPE: $crate::__private::Option<$crate::model::EdmType> =
                <$field as $crate::property::Property>::TYPE;
            const CODES: &'static [&'static $crate::__private::str] =
                <$field as $crate::property::Property>::CODES;

            fn write(
                &self,
                out: $crate::property::PropertyWriter<'_>,
            ) -> $crate::__private::Result<(), $crate::property::PropertyFault> {
                <$field as $crate::property::Property>::write(&self.$member, out)
            }

            fn read<'__de, __D: $crate::__private::Deserializer<'__de>>(
                value: __D,
            ) -> $crate::__private::Result<Self, __D::Error> {
                let value = <$field as $crate::property::Property>::read(value)?;
                $crate::__private::Ok(Self { $member: value })
            }

            fn absent() -> $crate::__private::Option<Self> {
                let value = <$field as $crate::property::Property>::absent()?;
                $crate::__private::Some(Self { $member: value })
            }

            fn edm(
                &self,
            ) -> $crate::__private::Result<
                $crate::__private::Option<$crate::model::Edm>,
                $crate::property::PropertyFault,
            > {
                <$field as $crate::property::Property>::edm(&self.$member)
            }
        }

        #[automatically_derived]
        impl<$($params)*> $crate::property::Ordered for $ty
        where
            for<'__any> $field: $crate::property::Ordered,
            $($bounds)*
        {
        }
    };
    (@marker [$($params:tt)*] $ty:ty, [$($bounds:tt)*] $field:ty, $marker:ident) => {
        #[automatically_derived]
        impl<$($params)* __X> $crate::key::$marker<__X> for $ty
        where
            $field: $crate::key::$marker<__X>,
            $($bounds)*
        {
        }
    };
}
