//! Runnable programs for table-orm.
