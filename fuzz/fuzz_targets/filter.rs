//! Filters of a query, as the service reads them.
#![no_main]

libfuzzer_sys::fuzz_target!(|filter: (&str, &str, &[u8], u64)| {
    let (name, text, bytes, bits) = filter;
    table_orm::fuzzing::filter(name, text, bytes, bits);
});
