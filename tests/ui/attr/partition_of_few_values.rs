use table_orm::{KeyPart, TableEntity};

#[derive(KeyPart)]
enum Region {
    #[key("EU")]
    Europe,
}

#[derive(KeyPart)]
enum Half {
    #[key("1")]
    First,
    #[key("2")]
    Second,
}

#[derive(TableEntity)]
#[table(name = "shops", partition = "{region}-{kind}", row = "{id:010}")]
struct Shop {
    region: Region,
    kind: Region,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "bills", partition = "{region}-{paid}", row = "{id:010}")]
struct Bill {
    region: Region,
    paid: bool,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "goals", partition = "{half}-{paid}", row = "{id:010}")]
struct Goal {
    half: Half,
    paid: bool,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "offers", partition = "{region}-{paid}", row = "{id:010}", allow_single_partition)]
struct Offer {
    region: Region,
    paid: bool,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "orders", partition = "{region}-{customer}", row = "{id:010}")]
struct Order {
    region: Region,
    customer: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "logs", partition = "{start}", row = "{id:010}")]
#[component(start = lower(created_at))]
struct Log {
    created_at: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "taxes", partition = "{start}", row = "{id:010}")]
#[component(start = biased(year))]
struct Tax {
    year: i32,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "depths", partition = "{start}", row = "{id:010}")]
#[component(start = biased(ward))]
struct Depth {
    ward: i32,
    id: u32,
}

fn main() {}
