use table_orm::TableEntity;
use table_orm::model::DateTime;

#[derive(Clone, TableEntity)]
#[table(name = "visits", partition = "{page}", row = "AT:{at}", bucket(month, at))]
struct VisitV1 {
    page: String,
    at: DateTime,
}

#[derive(Clone, TableEntity)]
#[table(name = "newvisits", partition = "{page}", row = "NEW:{at}", bucket(day, at), migrate_from = VisitV1)]
struct Visit {
    page: String,
    at: DateTime,
}

impl From<VisitV1> for Visit {
    fn from(VisitV1 { page, at }: VisitV1) -> Self {
        Self { page, at }
    }
}

impl From<Visit> for VisitV1 {
    fn from(Visit { page, at }: Visit) -> Self {
        Self { page, at }
    }
}

fn main() {}
