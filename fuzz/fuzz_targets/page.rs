//! Pages and rows of stored JSON.
#![no_main]

libfuzzer_sys::fuzz_target!(|json: &[u8]| table_orm::fuzzing::page(json));
