use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "readings2", partition = "{sensor}", row = "{at}", bucket(month, at))]
struct Reading {
    sensor: String,
    at: OffsetDateTime,
}

#[derive(TableEntity)]
#[table(name = "readingsOfAllSensorsInAllBuildingsOfTheCompanyInEurope", partition = "{sensor}")]
#[table(row = "{at}", bucket(hour, at))]
struct Long {
    sensor: String,
    at: OffsetDateTime,
}

fn main() {}
