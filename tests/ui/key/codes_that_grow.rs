use table_orm::KeyPart;

#[derive(KeyPart)]
#[key(grows)]
enum State {
    Open,
    Done,
}

fn main() {}
