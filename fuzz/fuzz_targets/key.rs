//! Stored keys, split into components.
#![no_main]

libfuzzer_sys::fuzz_target!(|key: &str| table_orm::fuzzing::key(key));
