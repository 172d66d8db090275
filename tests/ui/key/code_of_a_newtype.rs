use table_orm::KeyPart;

#[derive(KeyPart)]
struct Bib(#[key("B")] u32);

fn main() {}
