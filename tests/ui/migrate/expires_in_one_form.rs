use table_orm::TableEntity;
use table_orm::model::DateTime;

#[derive(Clone, TableEntity)]
#[table(name = "links", partition = "{user}", row = "L:{n:05}", expires = until)]
struct LinkV1 {
    user: String,
    n: u32,
    until: DateTime,
}

#[derive(Clone, TableEntity)]
#[table(name = "links2", partition = "{user}", row = "L:{n:08}", migrate_from = LinkV1)]
struct Link {
    user: String,
    n: u32,
    until: DateTime,
}

impl From<LinkV1> for Link {
    fn from(LinkV1 { user, n, until }: LinkV1) -> Self {
        Self { user, n, until }
    }
}

impl From<Link> for LinkV1 {
    fn from(Link { user, n, until }: Link) -> Self {
        Self { user, n, until }
    }
}

fn main() {}
