use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "hosts", partition = "{zone}", row = "{id:05}")]
struct Host {
    zone: String,
    id: u32,
    #[table(series)]
    load: [Option<u8>; 3],
    load_at: u8,
    disk_at: u8,
    #[table(series)]
    disk: [Option<u8>; 3],
}

fn main() {}
