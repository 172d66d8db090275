use table_orm::{ETag, Properties};

#[derive(Properties)]
struct Shoes {
    #[table(etag)]
    version: Option<ETag>,
}

fn main() {}
