use table_orm::TableEntity;

#[derive(Clone, TableEntity)]
#[table(name = "links", partition = "{user}", row = "L:{n:05}")]
struct LinkV1 {
    user: String,
    n: u32,
    slug: String,
}

#[derive(Clone, TableEntity)]
#[table(name = "links", partition = "{user}", row = "LINK:{n:08}", unique(slug), migrate_from = LinkV1)]
struct Link {
    user: String,
    n: u32,
    slug: String,
}

impl From<LinkV1> for Link {
    fn from(LinkV1 { user, n, slug }: LinkV1) -> Self {
        Self { user, n, slug }
    }
}

impl From<Link> for LinkV1 {
    fn from(Link { user, n, slug }: Link) -> Self {
        Self { user, n, slug }
    }
}

fn main() {}
