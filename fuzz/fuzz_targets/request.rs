//! Requests to a server: their address, credential and operation.
#![no_main]

libfuzzer_sys::fuzz_target!(|request: (u8, &str, &str, &[u8])| {
    let (method, target, authorization, body) = request;
    table_server::fuzzing::request(method, target, authorization, body);
});
