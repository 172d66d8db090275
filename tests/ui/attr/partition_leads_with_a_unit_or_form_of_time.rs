use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "bills", partition = "{yyyymm}", row = "{number:08}")]
struct Bill {
    yyyymm: u32,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "logs", partition = "{created_on}", row = "{number:08}")]
struct Log {
    created_on: String,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "lines", partition = "{seq_no:08}", row = "{number:08}")]
struct Line {
    seq_no: u32,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "readings", partition = "{time_us}", row = "{number:08}")]
struct Reading {
    time_us: u64,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "notes", partition = "{created_by}", row = "{number:08}")]
struct Note {
    created_by: String,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "houses", partition = "{house_no:04}", row = "{number:08}")]
struct House {
    house_no: u32,
    number: u32,
}

fn main() {}
