use table_orm::KeyPart;

#[derive(KeyPart)]
enum Distance {
    #[key("F")]
    #[key("Full")]
    Full,
    #[key("H")]
    Half,
}

fn main() {}
