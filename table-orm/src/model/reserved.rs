//! Names that table-orm keeps for itself: properties that it marks rows with, and what RowKeys of helper rows begin
//! with.

/// The property of a row whose entity was moved to another key: it says where to.
pub(crate) const MOVED_TO: &str = "Moved_To";
/// The property of a parcel that says whose it is: an entity on its way to another key.
pub(crate) const MOVED_FROM: &str = "Moved_From";
/// The property of a parcel with the version of the row that it was made from.
pub(crate) const MOVED_ETAG: &str = "Moved_Etag";
/// What the RowKey of a parcel begins with.
pub(crate) const PARCEL_START: &str = "MOV:";
/// What both keys of a row that finds expired entities begin with.
pub(crate) const EXPIRY_START: &str = "EXP:";
/// The property with the kind of a type that shares its table with types of similar keys.
pub(crate) const KIND: &str = "Entity_Kind";
/// The property of a row in a table of its own that says which table its entity is in, where that is not the
/// type's.
pub(crate) const HOME_TABLE: &str = "Entity_Table";
/// The properties that no field of an entity is stored as.
pub(crate) const RESERVED_PROPERTIES: [&str; 5] =
    [MOVED_TO, MOVED_FROM, MOVED_ETAG, KIND, HOME_TABLE];

/// The RowKey of the guard row of a value that is unique over all partitions. The value is in the
/// PartitionKey.
pub(crate) const ACROSS_GUARD: &str = "UNQ";

/// The reserved text that a RowKey begins with. RowKeys of helper rows begin so; they belong to no entity
/// type, but for the guard rows of its own.
pub(crate) const fn reserved_start(row_key: &str) -> Option<&'static str> {
    // Every row that is read comes here: this compares numbers.
    let Some(start) = row_key.as_bytes().first_chunk::<4>() else {
        return if let b"UNQ" = row_key.as_bytes() { Some(ACROSS_GUARD) } else { None };
    };
    match start {
        b"DUE:" => Some("DUE:"),
        b"EXP:" => Some(EXPIRY_START),
        b"LOB:" => Some("LOB:"),
        b"MOV:" => Some(PARCEL_START),
        b"OUT:" => Some("OUT:"),
        b"SEQ:" => Some("SEQ:"),
        b"SUM:" => Some("SUM:"),
        b"TKT:" => Some("TKT:"),
        b"UNQ:" => Some("UNQ:"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SYSTEM_PROPERTIES;

    /// The words that the derive's tests read too.
    const WORDS: [(&str, &[&str]); 4] = include!("../../../tests/fixtures/words.rs");

    #[test]
    fn names_with_a_meaning_are_those_of_the_derive() {
        let [_, ("starts", starts), system, reserved] = WORDS else { panic!("{WORDS:?}") };
        assert_eq!(("system", &SYSTEM_PROPERTIES[..]), system);
        assert_eq!(("reserved", &RESERVED_PROPERTIES[..]), reserved);
        let letters = || (b'A'..=b'Z').map(char::from);
        let all = letters().flat_map(|one| {
            letters().flat_map(move |two| letters().map(move |three| format!("{one}{two}{three}:")))
        });
        let found: Vec<_> = all.filter(|start| reserved_start(start).is_some()).collect();
        assert_eq!(found, starts);
        assert!(starts.iter().all(|start| reserved_start(start) == Some(*start)));
    }
}
