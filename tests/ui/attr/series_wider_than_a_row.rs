use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "years", partition = "{station}", row = "{year:04}")]
struct Year {
    station: String,
    year: u16,
    #[table(series)]
    millimetres: [Option<f64>; 366],
    note: Option<String>,
}

fn main() {}
