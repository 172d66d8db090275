//! Tests of table-orm across its stores.
