//! Properties: how a field's value is written into a row's JSON object, and read back.
//!
//! [`Property`] is one value under one name. A field with several properties is a flattened group
//! ([`Properties`]), a numbered [`Series`] or one large [`Chunked`] value.
//!
//! Invariants:
//! - Every value is written with its exact EDM type, annotated where JSON alone would lose it.
//! - A written value reads back as the same value (instants at 100 ns).
//! - A value that the service would reject is a typed error before anything is sent.

mod check_declared;
mod chunked;
mod codes;
mod declared;
mod finite;
mod group;
mod interval;
mod json;
mod large;
mod newtype;
mod open;
mod ordered;
mod ring;
mod scalar;
mod series;
mod slots;
#[cfg(test)]
mod tests;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(feature = "zstd")]
pub use self::zstd::{MAX_UNCOMPRESSED_BYTES, Zstd};
pub use crate::codec::{
    Limit, PropertiesWriter, Property, PropertyError, PropertyFault, PropertyWriter, RowFault,
};
#[doc(hidden)]
pub use check_declared::{assert_aliases, assert_properties};
#[doc(hidden)]
pub use chunked::ChunkSlots;
pub use chunked::{Chunked, ChunkedJson};
#[doc(hidden)]
pub use declared::{Declared, ValueType, metadata};
pub use group::Properties;
pub use interval::{Days, Every, Hours, Interval, Minutes, Numbered, SlotPlace};
pub use json::Json;
pub use large::{Large, Overflowing};
pub use ordered::Ordered;
pub use ring::Ring;
#[doc(hidden)]
pub use ring::{RingSlots, Rolling};
#[doc(hidden)]
pub use series::{ProjectedSeries, SlotsOf};
pub use series::{Series, SeriesSlots};
#[doc(hidden)]
pub use slots::Slots;

pub(crate) use chunked::MAX_CHUNKS;
pub(crate) use declared::{declares, is_chunk};
pub(crate) use large::{
    CHUNK_BYTES, Digest, LARGE_START, MAX_INLINE, Reference, chunk_key, chunk_of,
};
pub(crate) use slots::{renames_slots, series_names, series_slot};
