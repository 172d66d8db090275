//! The protocol without one of its parts: a store below one client leaves that part out. The simulation must
//! find a violation of each.

use super::chaos::is_needed;
use super::observer::Observer;
use super::simulation::{BUSY, TICKETS_FIRST, simulate};
use super::tampering::{LeftOut, Tampering};
use super::world::{Change, KIND, State, Thing, client, create, read};
use crate::embedded::EmbeddedStore;
use crate::eventual::settle;
use crate::layer::{Fault, Faults};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

macro_rules! each_part {
    ($($name:ident: $part:ident, $setting:expr, $seeds:expr;)*) => {$(
        #[test]
        fn $name() {
            let part = LeftOut::$part;
            is_needed(part, $seeds, |seed| simulate(seed, $setting, Some(part)));
        }
    )*};
}

// The rare ones begin shortly before the first seed that is known to find them.
each_part! {
    without_an_intent_a_death_leaves_a_row_wrong: Intent, BUSY, 0..50;
    an_intent_whose_name_is_used_again_is_lost: FreshName, BUSY, 0..200;
    an_intent_that_is_cleared_early_leaves_a_row_wrong: ClearedLast, BUSY, 0..50;
    without_a_ticket_an_older_state_comes_back: Ticket, BUSY, 0..200;
    a_reading_before_the_ticket_brings_an_older_state_back: ReadAfterTicket, BUSY, 780..2000;
    a_writer_that_does_not_read_again_brings_an_older_state_back: ReadAgain, BUSY, 250..2000;
    tickets_behind_the_transaction_that_counts_as_the_reading_bring_an_older_state_back:
        TicketsFirst, TICKETS_FIRST, 850..3000;
    a_row_that_looks_right_and_is_not_written_leaves_an_older_ticket: RightRows, BUSY, 190..3000;
    a_row_that_is_not_there_keeps_the_others_from_being_written: RestOfRows, BUSY, 0..50;
}

/// What is wrong after this: a transaction is on its way twice, and its second copy takes effect after the
/// entity is deleted again; so does the clear of a sweeper that settled the first one.
async fn cleared_late(left_out: Option<LeftOut>) -> Option<String> {
    let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
    create(&*memory).await;
    let observer = Observer::<Thing>::new(memory);
    let late = Faults::seeded(1).on("delete", 1, Fault::Late).latest(Duration::from_secs(60));
    let network = late.store(observer.clone()).unwrap();
    let sweeper = client(Arc::new(Tampering::of::<Thing>(Arc::new(network), left_out, 1)), 1);
    let writer = client(observer.clone(), 2);

    let state = State::new("copies p1 FULL:a:0", "1");
    let insert = Change::of(&writer, &[("E:0", None, Some(state))]).unwrap();
    let pending = insert.send(&writer).await.unwrap().unwrap();
    settle(&sweeper, KIND, &pending).await.unwrap_err();
    settle(&writer, KIND, &pending).await.unwrap();
    let old = read(&writer, "E:0").await.unwrap();
    let delete = Change::of(&writer, &[("E:0", old, None)]).unwrap();
    let pending = delete.send(&writer).await.unwrap().unwrap();
    settle(&writer, KIND, &pending).await.unwrap();
    insert.send(&writer).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    observer.violation()
}

#[tokio::test(start_paused = true)]
async fn an_intent_that_is_cleared_in_any_version_is_lost() {
    assert_eq!(cleared_late(None).await, None);
    let violation = cleared_late(Some(LeftOut::ClearedVersion)).await;
    assert!(violation.is_some_and(|what| what.contains("no intent tells of it")));
}
