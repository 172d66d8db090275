//! Benchmarks of table-orm: `cargo bench -p benches`.
