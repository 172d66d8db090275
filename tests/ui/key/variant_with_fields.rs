use table_orm::KeyPart;

#[derive(KeyPart)]
enum Shoe {
    Left(u8),
}

fn main() {}
