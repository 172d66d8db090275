use table_orm::KeyPart;

#[derive(KeyPart)]
enum Shoe {
    #[key("L/R")]
    Both,
}

fn main() {}
