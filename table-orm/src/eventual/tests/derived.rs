//! Processes that write a derived type through its repository over a network that loses answers, delays writes and
//! outlives its clients, among sweepers that settle, verify, repair and fill in.
//!
//! The observer checks the invariants after each write that took effect. At the end one sweeper alone makes
//! everything clean.

use super::chaos::{
    Dice, LATEST, WrongClock, all_hold, at_once, grace, is_needed, network, on_virtual_time,
};
use super::observer::{Observed, Observer};
use super::posts::{BLOGS, Post, PostBest, PostByDay, PostByMention, PostByTopic};
use super::process::{LIVES, Process, Written, mend_all, write_all};
use super::tampering::{LeftOut, Tampering};
use crate::dose::dose;
use crate::embedded::EmbeddedStore;
use crate::layer::{FaultStore, Faults, Layer as _, Retry};
use crate::model::TableName;
use crate::store::Store;
use crate::{Result, ScanPermit};
use futures_util::future::join;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const PROCESSES: u64 = 2;
const SWEEPERS: u64 = 2;
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Runs one simulation. Returns the writes that took effect, or the violation of an invariant.
fn simulate(seed: u64, left_out: Option<LeftOut>) -> std::result::Result<usize, String> {
    on_virtual_time(run(seed, left_out))
}

async fn run(seed: u64, left_out: Option<LeftOut>) -> std::result::Result<usize, String> {
    let memory = EmbeddedStore::in_memory().unwrap();
    for table in Post::TABLES.iter().chain(&["postsDue"]) {
        memory.create_table(&TableName::new(table).unwrap()).await.unwrap();
    }
    let observer = Observer::<Post>::new(Arc::new(memory));
    let network = network(seed, 0.04, 0.04, observer.clone());
    let reached = |dice: &Dice| reached(&network, dice, left_out);
    let processes = (0..PROCESSES).map(|number| write_all::<Post>(seed, number, reached));
    let sweepers = (PROCESSES..PROCESSES + SWEEPERS).map(|number| sweep_all(seed, number, reached));
    join(at_once(processes), at_once(sweepers)).await;
    // What is still on its way arrives.
    sleep(LATEST).await;
    network.disable();
    // Through retries, which know their mark in a row.
    let network = Retry::interactive().write_id("WriteId").around(Arc::new(network)).unwrap();
    let last = Process::<Post>::start(Dice::of(seed, 99), network).await;
    let report = last.repo.settle(permit()).grace(Duration::ZERO).await;
    observer.result()?;
    observer.snapshot().await.check_settled(&report)?;
    is_clean(&last).await.map_err(|error| error.to_string())??;
    observer.result()
}

/// The network as one process reaches it. The process stops now and then, before a request or after it.
fn reached(network: &FaultStore, dice: &Dice, left_out: Option<LeftOut>) -> Arc<dyn Store> {
    let pauses = Faults::seeded(dice.seed()).slow(0.05).slowest(LONGEST_PAUSE);
    let network = pauses.store(Arc::new(network.clone())).unwrap();
    let network = Tampering::of::<Post>(Arc::new(network), left_out, dice.seed());
    WrongClock::around(Arc::new(network), dice.seed())
}

fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

/// Verifies all rows from both sides, and reads the posts through each of them.
async fn is_clean(Process { repo, .. }: &Process<Post>) -> Result<std::result::Result<(), String>> {
    let mut findings = repo.verify_table(permit()).await?.findings;
    findings.extend(repo.verify_table(permit()).join(permit()).await?.findings);
    findings.extend(repo.verify_eventual_table::<PostByDay>(permit()).await?.findings);
    findings.extend(repo.verify_eventual_table::<PostByTopic>(permit()).await?.findings);
    findings.extend(repo.verify_eventual_table::<PostBest>(permit()).await?.findings);
    findings.extend(repo.verify_eventual_table::<PostByMention>(permit()).await?.findings);
    if !findings.is_empty() {
        return Ok(Err(format!("{findings:?}")));
    }
    let mut posts = Vec::new();
    for blog in BLOGS {
        posts.extend(repo.list(Post::partition(blog)).collect().await?);
    }
    let titles = |shows: &dyn Fn(&Post) -> bool| {
        let shown = posts.iter().filter(|post| shows(post));
        shown.map(|post| post.title.clone()).collect::<BTreeSet<_>>()
    };
    for day in 0..2 {
        let found = repo.list(Post::by_day(day)).collect().await?;
        let found: BTreeSet<_> = found.into_iter().map(|post| post.title).collect();
        if found != titles(&|post| post.day == day) {
            return Ok(Err(format!("on day {day} there are {found:?} of {posts:?}")));
        }
    }
    let rust = repo.list(Post::by_topic("rust")).checked().collect().await?;
    let best = repo.list(Post::best()).checked().collect().await?;
    let eve = repo.list(Post::by_mention("eve")).checked().collect().await?;
    let of = |posts: Vec<Post>| posts.into_iter().map(|post| post.title).collect::<BTreeSet<_>>();
    let expected = [
        titles(&|post| post.topic.is_some()),
        titles(&Post::is_good),
        titles(&|post| post.mentions.iter().any(|name| name == "eve")),
    ];
    let found = [of(rust), of(best), of(eve)];
    if found != expected {
        return Ok(Err(format!("there are {found:?} of {posts:?}")));
    }
    Ok(Ok(()))
}

/// Sweepers, one after the other.
async fn sweep_all(seed: u64, number: u64, network: impl Fn(&Dice) -> Arc<dyn Store>) {
    let dice = (0..2 * LIVES).map(|life| Dice::of(seed, 10 * number + life));
    mend_all(dice, Post::LONGEST_LIFE, network, sweep).await;
}

async fn sweep(Process { repo, register, dice, .. }: &Process<Post>) -> Result<()> {
    let blog = Post::partition(BLOGS[dice.below(2) as usize]);
    let grace = grace(dice.seed());
    match dice.below(6) {
        0 => repo.settle(&blog).grace(grace).await.ended.map_or(Ok(()), Err),
        1 => repo.settle(permit()).grace(grace).await.ended.map_or(Ok(()), Err),
        2 => repo.settle(register).grace(Duration::ZERO).await.ended.map_or(Ok(()), Err),
        3 => repo.backfill(&blog).await.all().map(drop),
        4 => {
            let found = repo.verify(&blog).await?;
            repo.repair(found.findings).await.all().map(drop)
        }
        _ => {
            let found = repo.verify_eventual(Post::by_day(dice.below(2) as u32)).await?;
            repo.repair(found.findings).await.all().map(drop)
        }
    }
}

#[test]
fn eventual_rows_of_a_derived_type_follow_whatever_is_lost_or_late_or_ends() {
    all_hold(dose(40, 4_000), |seed| simulate(seed, None));
}

macro_rules! each_part {
    ($($name:ident: $part:ident, $seeds:expr;)*) => {$(
        #[test]
        fn $name() {
            let part = LeftOut::$part;
            is_needed(part, $seeds, |seed| simulate(seed, Some(part)));
        }
    )*};
}

// The rare ones begin shortly before the first seed that is known to find them.
each_part! {
    without_an_intent_a_write_leaves_a_row_of_a_derived_type_wrong: Intent, 0..50;
    without_a_ticket_an_older_state_of_a_derived_type_comes_back: Ticket, 0..50;
    a_derived_type_whose_writer_does_not_read_again_goes_back: ReadAgain, 120..500;
    a_derived_type_that_is_read_before_the_ticket_goes_back: ReadAfterTicket, 205..700;
    a_row_of_a_derived_type_that_is_not_there_keeps_others_from_being_written: RestOfRows, 0..50;
}
