//! Connection strings.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| table_orm::fuzzing::connection_string(text));
