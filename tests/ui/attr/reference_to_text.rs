use table_orm::{Projection, Properties, TableEntity};

#[derive(TableEntity)]
#[table(name = "people", partition = "{team}", row = "{id:05}")]
struct Person<'a> {
    team: String,
    id: u32,
    name: &'a str,
    nick: Option<&'static str>,
    photo: &'a [u8],
    #[table(json)]
    badges: &'a [String],
    #[table(skip)]
    cached: &'a str,
}

#[derive(Properties)]
struct Address<'a> {
    street: &'a str,
}

#[derive(Projection)]
#[projection(of = Person<'a>)]
struct Name<'a> {
    name: &'a str,
}

fn main() {}
