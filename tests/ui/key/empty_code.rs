use table_orm::KeyPart;

#[derive(KeyPart)]
enum Shoe {
    #[key("")]
    None,
    #[key("L")]
    Left,
}

fn main() {}
