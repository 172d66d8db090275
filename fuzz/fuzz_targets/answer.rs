//! Answers of the service, transactions among them.
#![no_main]

libfuzzer_sys::fuzz_target!(|answer: (u16, &str, &[u8])| {
    let (status, header, body) = answer;
    table_orm::fuzzing::answer(status, header, body);
});
