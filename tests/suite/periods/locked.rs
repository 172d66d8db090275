//! The schema lock holds the length of the periods and the field of the time.

use table_orm::schema_lock::SchemaLock;

macro_rules! version {
    ($name:ident: $($bucket:tt)*) => {
        mod $name {
            use table_orm::TableEntity;
            use table_orm::model::DateTime;

            #[derive(Debug, Clone, TableEntity)]
            #[table(name = "visits", partition = "{page}", row = "{id:05}", $($bucket)*)]
            pub struct Visit {
                pub page: String,
                pub id: u32,
                pub at: DateTime,
                pub left: DateTime,
            }

            pub fn lock(lock: table_orm::schema_lock::SchemaLock) -> table_orm::schema_lock::SchemaLock {
                lock.with([Visit { page: "home".to_owned(), id: 1, at: DateTime::MIN, left: DateTime::MIN }])
            }
        }
    };
}

version!(monthly: bucket(month, at));
version!(daily: bucket(day, at));
version!(other_field: bucket(month, left));
version!(in_one_table:);

#[test]
fn a_change_of_the_periods_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = || SchemaLock::new(folder.path().join("tables.lock"));
    monthly::lock(at().update()).check().unwrap();
    monthly::lock(at()).check().unwrap();
    for (changed, now) in [
        (daily::lock(at()), "`month of at` is now `day of at`"),
        (other_field::lock(at()), "`month of at` is now `month of left`"),
        (in_one_table::lock(at()), "`month of at` is now none"),
    ] {
        let error = changed.check().unwrap_err().to_string();
        assert!(error.contains(now) && error.contains("new table"), "{error}");
    }
}
