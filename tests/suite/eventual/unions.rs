//! Unions of partitions that hold rows of entities elsewhere, intents, tickets, guards, totals and events: each
//! returns the entities of its types, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use support::draw;
use table_orm::embedded::EmbeddedStore;
use table_orm::model::ETag;
use table_orm::store::{ErrorCode, Middleware, Operation, Store, StoreError};
use table_orm::{
    DynamicEntity, EntityKeys as _, Projection, Result, ScanPermit, Sum, TableEntity, TableName,
    TableUnion, Tables,
};

/// A post. It is shown to its readers in their own partitions, between their notes and their posts.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(
    name = "blogs",
    partition = "{blogger}",
    unique(slug),
    unique(link, across),
    outbox,
    sums = Post::SUMS
)]
#[row(by_number, key = "Z:{number:03}")]
#[row(by_title, key = "T:{title}__{number:03}")]
#[row(for_reader, partition = "{reader}", key = "M:{number:03}__{blogger}", each(reader in readers), include(title), eventual)]
struct Post {
    blogger: String,
    number: u32,
    title: String,
    slug: Option<String>,
    link: Option<String>,
    #[table(json)]
    readers: Vec<String>,
}

impl Post {
    const COUNT: Sum<Self> = Sum::count("posts");
    const SUMS: &'static [Sum<Self>] = &[Self::COUNT];
}

/// A reply, below the post.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "blogs", partition = "{blogger}", row = "Z:{post:03}__R:{number:02}")]
struct Reply {
    blogger: String,
    post: u32,
    number: u32,
    text: String,
}

/// A like, which belongs to who likes. A row of it is below the post, in the partition of its blogger.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "blogs", partition = "{person}", row = "B:{number:03}")]
#[row(of_post, partition = "{blogger}", key = "Z:{post:03}__L:{number:03}__{person}", eventual)]
struct Like {
    person: String,
    number: u32,
    blogger: String,
    post: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "blogs", partition = "{blogger}", row = "A:{number:03}")]
struct Note {
    blogger: String,
    number: u32,
    text: String,
}

#[derive(Debug, Clone, PartialEq, TableUnion)]
enum All {
    Note(Note),
    Like(Like),
    Post(Post),
    Reply(Reply),
}

#[derive(Debug, Clone, PartialEq, TableUnion)]
enum Feed {
    Post(Post),
    Note(Note),
}

#[derive(Debug, Clone, PartialEq, TableUnion)]
enum Thread {
    Post(Post),
    Reply(Reply),
}

/// What readers see of a post.
#[derive(Debug, PartialEq, Projection)]
#[projection(of = Post)]
struct Headline {
    blogger: String,
    number: u32,
    title: String,
}

/// The same of a like of a post.
#[derive(Debug, PartialEq, Projection)]
#[projection(of = Like)]
struct Fan {
    person: String,
}

const BLOGGERS: [&str; 2] = ["ann", "bob"];

/// A store in which rows in other partitions do not follow: nobody can make the ticket of an entity.
#[derive(Debug)]
struct Unsettled(Arc<EmbeddedStore>);

impl Middleware for Unsettled {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> std::result::Result<Option<ETag>, StoreError> {
        // The ticket of a reservation is shorter.
        if operation.row_key.starts_with("TKT:") && operation.row_key.len() == 36 {
            return Err(StoreError::new(ErrorCode::OUT_OF_RANGE_INPUT, "no ticket"));
        }
        self.0.write(table, partition_key, operation).await
    }
}

/// What is stored, by the keys.
type Stored = BTreeMap<(String, String), All>;

fn put<E: TableEntity + Clone>(stored: &mut Stored, entity: &E, of: impl FnOnce(E) -> All) {
    stored.insert(entity.key().into_texts().unwrap(), of(entity.clone()));
}

/// Writes an entity that the seed draws, or deletes it. A write that takes what another has changes nothing.
async fn write(tables: &Tables, stored: &mut Stored, random: impl Fn(u64, u64) -> u64) {
    let blogger = BLOGGERS[random(1, 2) as usize].to_owned();
    let number = random(2, 3) as u32;
    let text = format!("{}", random(3, 1000));
    match random(4, 5) {
        0 => {
            let note = Note { blogger, number, text };
            tables.repo().upsert(&note).await.unwrap();
            put(stored, &note, All::Note);
        }
        1 => {
            let post = random(5, 3) as u32;
            let reply = Reply { blogger, post, number, text };
            tables.repo().upsert(&reply).await.unwrap();
            put(stored, &reply, All::Reply);
        }
        2 => {
            let (of, post) = (BLOGGERS[random(5, 2) as usize].to_owned(), random(6, 3) as u32);
            let like = Like { person: blogger, number, blogger: of, post };
            tables.repo().upsert(&like).await.unwrap();
            put(stored, &like, All::Like);
        }
        3 => {
            let readers = BLOGGERS.iter().zip(5..).filter(|(_, of)| random(*of, 2) == 0);
            let readers = readers.map(|(reader, _)| (*reader).to_owned()).collect();
            let value = |of| Some(format!("{}", random(of, 3))).filter(|value| value != "0");
            let (slug, link) = (value(7), value(8));
            let post = Post { blogger, number, title: text, slug, link, readers };
            if tables.repo().upsert(&post).await.is_ok() {
                put(stored, &post, All::Post);
            }
        }
        _ => {
            let post = Post::partition(&*blogger).by_number().number(number);
            if let Some(post) = tables.repo::<Post>().load(&post).await.unwrap().optional().unwrap()
            {
                stored.remove(&post.key().into_texts().unwrap());
                tables.repo().delete(post).await.unwrap();
            }
        }
    }
}

/// Checks a union of a partition, read in every way.
macro_rules! check {
    ($tables:expr, $union:ident, $scope:expr, $expected:expr, $seed:expr) => {
        let (list, expected) = ($tables.union::<$union>($scope), $expected);
        assert_eq!(list.clone().collect().await.unwrap(), expected, "seed {}", $seed);
        assert_eq!(list.clone().count().await.unwrap(), expected.len(), "seed {}", $seed);
        assert_eq!(list.clone().exists().await.unwrap(), !expected.is_empty(), "seed {}", $seed);
        let first: Vec<_> = expected.iter().take(2).cloned().collect();
        assert_eq!(list.clone().take(2).collect().await.unwrap(), first, "seed {}", $seed);
        let mut pages = list.pages(3);
        let mut found = Vec::new();
        while let Some(page) = pages.next().await.unwrap() {
            found.extend(page.items);
        }
        assert_eq!(found, expected, "seed {}, by pages", $seed);
    };
}

async fn check(tables: &Tables, stored: &Stored, seed: u64) {
    for blogger in BLOGGERS {
        let all = || stored.iter().filter(|((partition, _), _)| partition == blogger);
        let entities: Vec<_> = all().map(|(_, entity)| entity.clone()).collect();
        check!(tables, All, Note::partition(blogger), entities.clone(), seed);
        let feed = |entity: &All| match entity {
            All::Post(post) => Some(Feed::Post(post.clone())),
            All::Note(note) => Some(Feed::Note(note.clone())),
            All::Like(_) | All::Reply(_) => None,
        };
        let feed: Vec<_> = entities.iter().filter_map(feed).collect();
        check!(tables, Feed, Post::partition(blogger), feed, seed);
        let thread = |entity: &All| match entity {
            All::Post(post) => Some(Thread::Post(post.clone())),
            All::Reply(reply) => Some(Thread::Reply(reply.clone())),
            All::Like(_) | All::Note(_) => None,
        };
        for number in 0..3 {
            let post = Post::partition(blogger).by_number().number(number);
            let start = format!("Z:{number:03}");
            let below = all().filter(|((_, row), _)| row.starts_with(&start));
            let below: Vec<_> = below.filter_map(|(_, entity)| thread(entity)).collect();
            check!(tables, Thread, post.and_below(), below, seed);
        }
    }
}

/// The projections of rows in other partitions, once these have followed.
async fn check_projections(tables: &Tables, stored: &Stored, seed: u64) {
    for reader in BLOGGERS {
        let shown = |entity: &All| match entity {
            All::Post(Post { blogger, number, title, readers, .. }) => {
                let is_shown = readers.iter().any(|name| name == reader);
                let (blogger, title) = (blogger.clone(), title.clone());
                is_shown.then_some(Headline { blogger, number: *number, title })
            }
            _ => None,
        };
        let mut expected: Vec<_> = stored.values().filter_map(shown).collect();
        expected.sort_by_key(|shown| (shown.number, shown.blogger.clone()));
        let found = tables.repo::<Post>().list(Post::for_reader(reader)).project::<Headline>();
        assert_eq!(found.collect().await.unwrap(), expected, "seed {seed}");
        let fan = |entity: &All| match entity {
            All::Like(Like { person, number, blogger, post }) => {
                (blogger == reader).then(|| ((*post, *number), Fan { person: person.clone() }))
            }
            _ => None,
        };
        let mut expected: Vec<_> = stored.values().filter_map(fan).collect();
        expected.sort_by_key(|(order, fan)| (*order, fan.person.clone()));
        let expected: Vec<_> = expected.into_iter().map(|(_, fan)| fan).collect();
        let found = tables.repo::<Like>().list(Like::of_post(reader)).project::<Fan>();
        assert_eq!(found.collect().await.unwrap(), expected, "seed {seed}");
    }
}

#[tokio::test]
async fn a_union_returns_the_entities_of_its_types_among_eventual_rows_and_helper_rows() {
    let (mut seen, mut shown) = (BTreeMap::<String, usize>::new(), 0);
    for seed in 0..12 {
        let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
        let tables = Tables::new(Arc::clone(&memory));
        tables.repo::<Post>().create_table().await.unwrap();
        let unsettled = Tables::new(Unsettled(memory));
        let rows = tables.table(TableName::new("blogs").unwrap());
        // As an ended process leaves it.
        let ticket = DynamicEntity::new("ann", format!("TKT:{:032x}", 7)).with("For", "x");
        rows.insert(&ticket).await.unwrap();
        let mut stored = Stored::new();
        for step in 0..16 {
            let random = |place, below| draw((seed, step, place), 0..below);
            let client = if random(0, 3) == 0 { &unsettled } else { &tables };
            write(client, &mut stored, random).await;
            check(&tables, &stored, seed).await;
        }
        for row in rows.scan(ScanPermit::because("test")).collect().await.unwrap() {
            let kind = row.row_key.split(':').next().unwrap_or_default();
            *seen.entry(kind.to_owned()).or_default() += 1;
        }
        settle(&tables).await.unwrap();
        check(&tables, &stored, seed).await;
        check_projections(&tables, &stored, seed).await;
        shown += stored.len();
    }
    for kind in ["A", "B", "DUE", "M", "OUT", "SUM", "T", "TKT", "UNQ", "Z"] {
        assert!(seen.get(kind).is_some_and(|&count| count > 3), "{kind}: {seen:?}");
    }
    assert!(shown > 50, "{shown}");
}

async fn settle(tables: &Tables) -> Result<()> {
    let permit = || ScanPermit::because("test");
    tables.repo::<Post>().settle(permit()).grace(Duration::ZERO).await.all()?;
    tables.repo::<Like>().settle(permit()).grace(Duration::ZERO).await.all()?;
    Ok(())
}
