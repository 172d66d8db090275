#[derive(KeyPart)]
enum Distance {
    #[key("M")]
    Marathon,
    #[key("M")]
    Mile,
}
use table_orm::KeyPart;

fn main() {}
