use table_orm::KeyPart;

#[derive(KeyPart)]
enum Shoe {
    #[key(1)]
    Left,
}

fn main() {}
