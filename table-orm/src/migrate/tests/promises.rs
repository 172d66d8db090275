//! What holds for each type that migrates, whatever stops, waits or comes late.

use super::elements::{TaggedAway, TaggedWithin};
use super::expiring::{PassAway, PassWithin};
use super::followed::{FollowedApart, FollowedAway, FollowedWithin};
use super::guarded::Desk;
use super::named::{NamedApart, NamedAway, NamedWithin};
use super::overflowing::{OverflowingAway, OverflowingWithin};
use super::pictured::{PicturedAway, PicturedWithin};
use super::reported::{ReportedAway, ReportedWithin};
use super::shared::Stall;
use super::simulation::simulate;
use super::subjects::{Apart, Away, Spread, Subject, Within};
use super::tampering::LeftOut;
use super::totals::{CountedAway, CountedWithin};
use super::watch::keys;
use crate::dose::dose;
use crate::eventual::tests::chaos::{all_hold, is_needed};

#[test]
fn nothing_is_lost_or_doubled_on_the_way_to_another_table() {
    all_hold(dose(10, 1_000), |seed| simulate::<Away>(seed, None));
}

#[test]
fn nothing_is_lost_or_doubled_on_the_way_to_other_partitions() {
    all_hold(dose(8, 1_000), |seed| simulate::<Apart>(seed, None));
}

#[test]
fn nothing_is_lost_or_doubled_within_a_partition() {
    all_hold(dose(8, 1_000), |seed| simulate::<Within>(seed, None));
}

#[test]
fn nothing_is_lost_or_doubled_on_the_way_to_more_shards() {
    let stays = |number| keys::<Spread>(number).0 == keys::<Spread>(number).1;
    assert_eq!([stays(0), stays(1)], [true, false]);
    all_hold(dose(8, 1_000), |seed| simulate::<Spread>(seed, None));
}

#[test]
fn each_unique_value_has_one_holder_in_either_form() {
    all_hold(dose(8, 1_000), |seed| simulate::<Desk>(seed, None));
}

#[test]
fn no_entity_takes_the_index_row_of_another() {
    all_hold(dose(10, 1_000), |seed| simulate::<Stall>(seed, None));
}

#[test]
fn nothing_is_lost_or_doubled_with_a_row_for_each_element() {
    all_hold(dose(8, 1_000), |seed| simulate::<TaggedWithin>(seed, None));
    all_hold(dose(8, 1_000), |seed| simulate::<TaggedAway>(seed, None));
}

#[test]
fn values_over_several_properties_are_whole_in_either_form() {
    all_hold(dose(3, 300), |seed| simulate::<PicturedWithin>(seed, None));
    all_hold(dose(3, 300), |seed| simulate::<PicturedAway>(seed, None));
}

#[test]
fn values_of_any_size_are_whole_in_either_form() {
    all_hold(dose(3, 1_000), |seed| simulate::<OverflowingWithin>(seed, None));
    all_hold(dose(3, 1_000), |seed| simulate::<OverflowingAway>(seed, None));
}

/// Some seed finds that a value is not whole.
#[test]
fn a_value_is_lost_on_its_way_unless_its_parcel_is_seen() {
    for part in [LeftOut::ValueTouched, LeftOut::ParcelOfValue] {
        is_needed(part, 0..3000, |seed| match simulate::<OverflowingAway>(seed, Some(part)) {
            Err(wrong) if !wrong.contains("refers to") => Ok(0),
            simulated => simulated,
        });
    }
}

#[test]
fn nothing_is_lost_or_brought_back_that_expires() {
    all_hold(dose(8, 1_000), |seed| simulate::<PassWithin>(seed, None));
    all_hold(dose(8, 1_000), |seed| simulate::<PassAway>(seed, None));
}

#[test]
fn totals_are_always_what_the_rows_of_their_partition_add() {
    all_hold(dose(8, 1_000), |seed| simulate::<CountedWithin>(seed, None));
    all_hold(dose(8, 1_000), |seed| simulate::<CountedAway>(seed, None));
}

#[test]
fn each_write_has_one_event_whatever_moves() {
    all_hold(dose(8, 1_000), |seed| simulate::<ReportedWithin>(seed, None));
    all_hold(dose(8, 1_000), |seed| simulate::<ReportedAway>(seed, None));
}

#[test]
fn rows_in_other_partitions_follow_whatever_moves() {
    all_hold(dose(8, 2_000), |seed| simulate::<FollowedWithin>(seed, None));
    all_hold(dose(8, 2_000), |seed| simulate::<FollowedAway>(seed, None));
    all_hold(dose(8, 2_000), |seed| simulate::<FollowedApart>(seed, None));
}

#[test]
fn each_value_unique_over_all_partitions_has_one_holder_whatever_moves() {
    all_hold(dose(8, 1_000), |seed| simulate::<NamedWithin>(seed, None));
    all_hold(dose(8, 1_000), |seed| simulate::<NamedAway>(seed, None));
    all_hold(dose(8, 1_000), |seed| simulate::<NamedApart>(seed, None));
}

/// Some seed finds that a value has two holders, or one without a guard that leads to it. The rare ones begin shortly
/// before the first seed that is known to find it.
#[track_caller]
fn a_value_is_lost_without<E: Subject + std::fmt::Debug>(part: LeftOut, first: u64) {
    let of_values = |wrong: &String| {
        ["have the code", "without its guard"].iter().any(|of_values| wrong.contains(of_values))
    };
    is_needed(part, first..3000, |seed| match simulate::<E>(seed, Some(part)) {
        Err(wrong) if !of_values(&wrong) => Ok(0),
        simulated => simulated,
    });
}

#[test]
fn without_tickets_a_value_is_lost_while_entities_move() {
    a_value_is_lost_without::<NamedAway>(LeftOut::Ticket, 0);
}

#[test]
fn a_value_is_lost_where_a_marker_does_not_name_the_new_key() {
    a_value_is_lost_without::<NamedAway>(LeftOut::MarkerNames, 0);
    a_value_is_lost_without::<NamedWithin>(LeftOut::MarkerNames, 0);
}

#[test]
fn a_value_is_lost_where_its_guard_names_a_key_without_a_marker() {
    a_value_is_lost_without::<NamedAway>(LeftOut::GuardRenamed, 80);
    a_value_is_lost_without::<NamedWithin>(LeftOut::GuardRenamed, 30);
}

#[test]
fn each_part_of_the_protocol_is_needed() {
    use LeftOut::*;
    for part in [SwitchVersion, Consumed, Marker, ParcelLook, SecondLook, ParcelList] {
        is_needed(part, 0..3000, |seed| simulate::<Away>(seed, Some(part)));
    }
    for part in [SwitchVersion, Marker, SecondLook] {
        is_needed(part, 0..3000, |seed| simulate::<Within>(seed, Some(part)));
    }
    // An entity with more rows than a transaction takes travels within its partition.
    for part in [Consumed, ParcelLook, ParcelList] {
        is_needed(part, 0..3000, |seed| simulate::<TaggedWithin>(seed, Some(part)));
    }
    for part in [SwitchVersion, ParcelLook] {
        is_needed(part, 0..3000, |seed| simulate::<PassAway>(seed, Some(part)));
    }
    for (part, first) in
        [(GuardFollows, 0), (GuardTaken, 0), (GuardInserted, 195), (GuardReleased, 0)]
    {
        is_needed(part, first..3000, |seed| simulate::<Desk>(seed, Some(part)));
    }
    for part in [SwitchIntent, LandingIntent, FollowFirst, PendingLook, Ticket] {
        is_needed(part, 0..3000, |seed| simulate::<FollowedAway>(seed, Some(part)));
    }
    for (part, first) in [(Consumed, 0), (IndexInserted, 15)] {
        is_needed(part, first..3000, |seed| simulate::<Stall>(seed, Some(part)));
    }
}
