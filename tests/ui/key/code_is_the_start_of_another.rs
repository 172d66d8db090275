use table_orm::KeyPart;

#[derive(KeyPart)]
enum Shoe {
    #[key("L")]
    Left,
    #[key("LL")]
    Light,
}

fn main() {}
