//! A derived type with rows in other partitions of every kind, and every write that a process makes of it.

// Several rows are `eventual`; clippy takes the repeated word for a repeated attribute (rust-clippy issue
// 13238).
#![allow(clippy::duplicated_attributes)]

use super::chaos::Dice;
use super::observer::Observed;
use super::process::{Process, Written};
use crate as table_orm;
use crate::entity::EntityKey;
use crate::eventual::EventualType;
use crate::{EntityKeys as _, Result, TableEntity};
use std::time::Duration;

/// A post of a blog. Those who are mentioned are bloggers too: a partition can hold posts, and rows of posts that
/// mention its blogger.
#[derive(Debug, Default, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "posts", partition = "{blog}", crate = table_orm)]
#[row(by_number, key = "POST:{number:02}")]
#[row(by_title, key = "TITLE:{title}__{number:02}", include())]
#[row(by_day, partition = "day {day}", key = "DAY:{number:02}__{blog}", eventual)]
#[row(
    by_topic,
    table = "topics",
    partition = "{topic}",
    key = "STARS:{stars}__{number:02}__{blog}",
    include(),
    eventual
)]
#[row(best, partition = "best", key = "BEST:{number:02}__{blog}", include(stars), when = Post::is_good, eventual)]
#[row(by_mention, partition = "{person}", key = "AT:{number:02}__{blog}", each(person in mentions), include(title, text), eventual)]
pub(super) struct Post {
    pub blog: String,
    pub number: u32,
    /// Unlike any other.
    pub title: String,
    /// Unlike any other. It is in no key, so a patch can change it.
    pub text: String,
    pub day: u32,
    pub topic: Option<String>,
    pub stars: u32,
    #[table(json)]
    pub mentions: Vec<String>,
}

pub(super) const BLOGS: [&str; 2] = ["ann", "bob"];
const NUMBERS: u64 = 2;

impl Post {
    pub const fn is_good(&self) -> bool {
        self.stars > 0
    }

    fn drawn(dice: &Dice) -> Self {
        let mentions = BLOGS.iter().chain(&["eve"]).filter(|_| dice.happens(0.3));
        Self {
            blog: BLOGS[usize::from(dice.happens(0.5))].to_owned(),
            number: Self::drawn_number(dice),
            title: drawn_text(dice),
            text: drawn_text(dice),
            day: u32::from(dice.happens(0.5)),
            topic: dice.happens(0.5).then(|| "rust".to_owned()),
            stars: u32::from(dice.happens(0.4)),
            mentions: mentions.map(|&name| name.to_owned()).collect(),
        }
    }

    fn drawn_number(dice: &Dice) -> u32 {
        dice.below(NUMBERS) as u32
    }

    fn in_blog(self, blog: &str) -> Self {
        Self { blog: blog.to_owned(), ..self }
    }
}

fn drawn_text(dice: &Dice) -> String {
    format!("{:x}", dice.seed())
}

fn key(post: &Post) -> EntityKey<<Post as TableEntity>::Canonical> {
    post.key()
}

impl Observed for Post {
    const TABLES: &'static [&'static str] = &["posts", "topics"];
    const KIND: EventualType = EventualType::of::<Self>();

    fn is_beside(row_key: &str) -> bool {
        row_key.starts_with("TITLE:")
    }
}

impl Written for Post {
    const LONGEST_LIFE: Duration = Duration::from_secs(12);
    const PAUSES: (f64, Duration, Duration) = (0.2, Duration::from_secs(8), Duration::from_secs(3));

    async fn write(process: &Process<Self>) -> Result<()> {
        match process.dice.below(4) {
            0 => in_one_request(process).await,
            1 => of_what_was_read(process).await,
            2 => in_a_transaction(process).await,
            _ => of_many(process).await,
        }
    }
}

/// A write that needs nothing but the entity.
async fn in_one_request(Process { repo, dice, .. }: &Process<Post>) -> Result<()> {
    let post = Post::drawn(dice);
    match dice.below(8) {
        0 => repo.insert(&post).await.map(drop),
        1 => repo.insert(&post).settle_later().await.map(drop),
        2 => repo.upsert(&post).await.map(drop),
        3 => repo.insert_or_merge(&post).await.map(drop),
        4 => repo.force_replace(&post).await.map(drop),
        5 => repo.force_delete(&post).await,
        6 => repo.merge(key(&post), PostPatch::default().text(post.text)).await.map(drop),
        _ => repo.update(key(&post), |stored| *stored = post.clone()).await.map(drop),
    }
}

/// A write of an entity that is loaded first.
async fn of_what_was_read(Process { repo, dice, .. }: &Process<Post>) -> Result<()> {
    let post = Post::drawn(dice);
    let Some(mut loaded) = repo.load(key(&post)).await?.optional()? else {
        return repo.insert_loaded(&post).await.map(drop);
    };
    match dice.below(7) {
        0 => repo.delete(loaded).await,
        6 => repo.delete_by_key(key(&post)).await,
        1 => repo.delete_if(key(&post), loaded.etag()).await,
        2 => repo.replace(&post, loaded.etag()).await.map(drop),
        3 => {
            // It becomes another entity, with other rows in other partitions.
            *loaded = Post { number: Post::drawn_number(dice), ..post };
            repo.save(&mut loaded).await.map(drop)
        }
        _ => {
            *loaded = post;
            repo.save(&mut loaded).await.map(drop)
        }
    }
}

/// A write of several entities of one partition.
async fn in_a_transaction(process: &Process<Post>) -> Result<()> {
    let Process { repo, tables, dice, .. } = process;
    let post = Post::drawn(dice);
    let other = Post::drawn(dice).in_blog(&post.blog);
    let blog = Post::partition(&post.blog);
    if post.number == other.number || dice.happens(0.3) {
        let rename = tables.transaction_with(&blog, async |tx| {
            match tx.load(key(&other)).await? {
                Some(stored) if dice.happens(0.3) => tx.delete(stored),
                Some(mut stored) => {
                    *stored = other.clone();
                    tx.save(stored);
                }
                None => tx.insert(&other),
            }
            Ok(())
        });
        return rename.await;
    }
    let [first, second] =
        <[_; 2]>::try_from(repo.load_many([key(&post), key(&other)]).await?).unwrap_or_default();
    let mut transaction = repo.transaction(&blog);
    for (stored, new) in [(first, &post), (second, &other)] {
        transaction = match stored {
            _ if dice.happens(0.2) => transaction.upsert(new),
            Some(stored) if dice.happens(0.3) => transaction.delete(stored),
            Some(mut stored) => {
                *stored = new.clone();
                transaction.save(stored)
            }
            None => transaction.insert(new),
        };
    }
    if dice.happens(0.3) {
        transaction = transaction.settle_later();
    }
    transaction.commit().await.map(drop)
}

/// A bulk write.
async fn of_many(Process { repo, dice, .. }: &Process<Post>) -> Result<()> {
    let some = || (0..1 + dice.below(4)).map(|_| Post::drawn(dice)).collect::<Vec<_>>();
    let blog = Post::partition(BLOGS[usize::from(dice.happens(0.5))]);
    match dice.below(5) {
        0 => repo.insert_many(some()).await.all().map(drop),
        1 => repo.upsert_many(some()).continue_on_failure().await.all().map(drop),
        2 => repo.upsert_many(some()).settle_later().await.all().map(drop),
        3 => {
            let loaded = repo.load(&blog).await?;
            repo.delete_many(loaded).await.all().map(drop)
        }
        _ => repo.delete_partition(&blog).await.map(drop),
    }
}
