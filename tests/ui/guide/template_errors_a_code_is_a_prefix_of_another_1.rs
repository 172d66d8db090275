#[derive(KeyPart)]
enum Distance {
    #[key("M")]
    Marathon,
    #[key("MILE")]
    Mile,
}
use table_orm::KeyPart;

fn main() {}
