use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "invoices", partition = "PAID:{paid}", row = "{id:010}")]
struct Invoice {
    id: u32,
    paid: bool,
}

#[derive(TableEntity)]
#[table(name = "flags", partition = "{on}", row = "{name}", allow_single_partition)]
struct Flag {
    name: String,
    on: bool,
}

#[derive(TableEntity)]
#[table(name = "bills", partition = "{customer}__{paid}", row = "{id:010}")]
struct Bill {
    customer: String,
    id: u32,
    paid: bool,
}

fn main() {}
