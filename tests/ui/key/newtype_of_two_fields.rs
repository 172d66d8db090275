use table_orm::KeyPart;

#[derive(KeyPart)]
struct Shoe {
    brand: String,
    size: u8,
}

fn main() {}
