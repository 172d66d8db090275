use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "bills", partition = "{year:04}{month:02}{day:02}", row = "{number:08}")]
struct Bill {
    year: u16,
    month: u8,
    day: u8,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "lines", partition = "{n:04}", row = "{number:08}")]
struct Line {
    n: u16,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "logs", partition = "{created_at}", row = "{number:08}")]
struct Log {
    created_at: u64,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "visits", partition = "DAY:{visit_day}", row = "{number:08}")]
struct Visit {
    visit_day: String,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "taxes", partition = "{year:04}", row = "{number:08}", allow_append_only)]
struct Tax {
    year: u16,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "meals", partition = "{place}__{year:04}", row = "{number:08}")]
struct Meal {
    place: String,
    year: u16,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "readings", partition = "{second:02}{year:04}", row = "{number:08}")]
struct Reading {
    second: u8,
    year: u16,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "people", partition = "{year_of_birth:04}", row = "{number:08}")]
struct Person {
    year_of_birth: u16,
    number: u32,
}

fn main() {}
