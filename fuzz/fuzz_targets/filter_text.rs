//! Filters of requests to a server.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| table_server::fuzzing::filter_text(text));
