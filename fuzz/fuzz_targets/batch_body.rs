//! Transactions sent to a server.
#![no_main]

libfuzzer_sys::fuzz_target!(|batch: (&str, &[u8])| {
    let (content_type, body) = batch;
    table_server::fuzzing::batch_body(content_type, body);
});
