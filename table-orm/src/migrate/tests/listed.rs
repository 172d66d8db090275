//! Types that migrate, with an index row, and the lists that clients ask for.

use super::subjects::both_ways;
use crate as table_orm;
use crate::TableEntity;
use crate::error::Result;
use crate::eventual::tests::chaos::Dice;
use crate::migrate::{Migrates, Migrating};
use std::fmt::Debug;
use std::time::Duration;
use tokio::time::sleep;

/// In UTF-8 they sort otherwise than in UTF-16.
pub(super) const NAMES: [&str; 7] = ["a", "\u{1F3C3}", "b", "\u{E000}", "ab", "\u{FFFD}", "é"];

/// A list that a client asks for.
#[derive(Debug)]
pub(super) struct Asked {
    /// An entity of the partition.
    pub of: u64,
    pub by_state: bool,
    /// The only state; in key order, the state that a filter leaves out.
    pub state: Option<&'static str>,
    /// In pages of that size, each by a token of the one before; else as a stream.
    pub size: Option<usize>,
    /// Of a stream.
    pub take: Option<usize>,
}

/// A type that migrates, with an index row.
pub(super) trait Listed: Migrates + Debug {
    const TABLES: &'static [&'static str];

    fn of(n: u64, state: &str, stamp: &str) -> Self;
    fn n(&self) -> u64;
    fn content(&mut self) -> (&mut String, &mut String);
    fn list(
        client: &Migrating<Self>,
        asked: &Asked,
        dice: &Dice,
    ) -> impl Future<Output = Result<Vec<Self>>> + Send;
}

macro_rules! listed {
    (
        $new:ident, $old:ident, $tables:expr, [$($old_keys:tt)*] [$($old_rows:tt)*],
        [$($keys:tt)*] [$($rows:tt)*], $partition:expr
    ) => {
        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($old_keys)*)]
        $($old_rows)*
        pub(super) struct $old {
            camp: u64,
            n: u64,
            name: String,
            state: String,
            stamp: String,
        }

        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($keys)*, migrate_from = $old)]
        $($rows)*
        pub(super) struct $new {
            camp: u64,
            n: u64,
            name: String,
            state: String,
            stamp: String,
        }

        both_ways!($new, $old { camp, n, name, state, stamp });

        impl Listed for $new {
            const TABLES: &'static [&'static str] = &$tables;

            fn of(n: u64, state: &str, stamp: &str) -> Self {
                let name = NAMES[n as usize].to_owned();
                Self { camp: 1, n, name, state: state.to_owned(), stamp: stamp.to_owned() }
            }

            fn n(&self) -> u64 {
                self.n
            }

            fn content(&mut self) -> (&mut String, &mut String) {
                (&mut self.state, &mut self.stamp)
            }

            async fn list(client: &Migrating<Self>, asked: &Asked, dice: &Dice) -> Result<Vec<Self>> {
                let partition = ($partition)(asked.of);
                macro_rules! all {
                    ($query:expr, $filter:expr) => {{
                        let list = || {
                            let list = client.list($query);
                            match $filter {
                                Some(state) => list.filter(|row| row.state.ne(state)),
                                None => list,
                            }
                        };
                        let mut found = Vec::new();
                        if let Some(size) = asked.size {
                            let mut token = None;
                            loop {
                                let pages = list().pages(size);
                                let mut pages = token.into_iter().fold(pages, |pages, token| pages.resume(token));
                                let Some(page) = pages.next().await? else { break };
                                assert!(page.next.is_none() || page.len() == size, "{asked:?}");
                                found.extend(page.items);
                                token = page.next.map(|token| token.to_string().parse().unwrap());
                                if token.is_none() {
                                    break;
                                }
                                sleep(dice.time(Duration::from_secs(1))).await;
                            }
                        } else {
                            let list = asked.take.into_iter().fold(list(), |list, take| list.take(take));
                            let mut stream = list.stream();
                            while let Some(row) = stream.next().await? {
                                found.push(row);
                            }
                        }
                        Ok(found)
                    }};
                }
                match (asked.by_state, asked.state) {
                    (false, without) => all!(&partition, without),
                    (true, None) => all!(partition.by_state(), None::<&str>),
                    (true, Some(state)) => all!(partition.by_state().state(state), None::<&str>),
                }
            }
        }
    };
}

listed!(
    Sorted, SortedV1, ["tents", "tents2"],
    [name = "tents", partition = "{camp}"] [
        #[row(by_name, key = "T:{name}__{n:02}")]
        #[row(by_state, key = "S:{state}__{name}__{n:02}")]
    ],
    [name = "tents2", partition = "{camp}__{side}"] [
        #[component(side = shard(n, 2))]
        #[row(by_name, key = "TENT:{name}__{n:02}")]
        #[row(by_state, key = "STATE:{state}__{name}__{n:02}")]
    ],
    |n| Sorted::partition(1_u64, n)
);

listed!(
    Unsorted, UnsortedV1, ["huts"],
    [name = "huts", partition = "{camp}"] [
        #[row(by_name, key = "O:{n:02}__{name}")]
        #[row(by_state, key = "S:{state}__{name}__{n:02}")]
    ],
    [name = "huts", partition = "{camp}"] [
        #[row(by_name, key = "N:{name}__{n:03}")]
        #[row(by_state, key = "STATE:{state}__{name}__{n:02}")]
    ],
    |_| Unsorted::partition(1_u64)
);

// Some keep their key; of the others, some share an old partition with those that do.
listed!(
    Shards, ShardsV1, ["vans"],
    [name = "vans", partition = "{camp}__{share}"] [
        #[component(share = shard(n, 2))]
        #[row(by_name, key = "V:{name}__{n:02}")]
        #[row(by_state, key = "S:{state}__{name}__{n:02}")]
    ],
    [name = "vans", partition = "{camp}__{share}"] [
        #[component(share = shard(n, 3))]
        #[row(by_name, key = "V:{name}__{n:02}")]
        #[row(by_state, key = "S:{state}__{name}__{n:02}")]
    ],
    |n| Shards::partition(1_u64, n)
);
