use table_orm::TableUnion;

#[derive(TableUnion)]
enum Office {}

fn main() {}
