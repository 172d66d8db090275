use table_orm::{TableEntity, Tables};

macro_rules! convert {
    ($one:ident, $other:ident) => {
        impl From<$one> for $other {
            fn from($one { user, n }: $one) -> Self {
                Self { user, n }
            }
        }

        impl From<$other> for $one {
            fn from($other { user, n }: $other) -> Self {
                Self { user, n }
            }
        }
    };
}

#[derive(Clone, TableEntity)]
#[table(name = "links", partition = "{user}", row = "L:{n:05}")]
struct LinkV1 {
    user: String,
    n: u32,
}

#[derive(Clone, TableEntity)]
#[table(name = "links2", partition = "{user}", row = "L:{n:08}", migrate_from = LinkV1)]
struct LinkV2 {
    user: String,
    n: u32,
}

#[derive(Clone, TableEntity)]
#[table(name = "links3", partition = "{user}", row = "L:{n}", migrate_from = LinkV2)]
struct Link {
    user: String,
    n: u32,
}

convert!(LinkV1, LinkV2);
convert!(LinkV2, Link);

fn main() {
    let _ = Tables::in_memory().unwrap().migrating::<LinkV2>();
}
