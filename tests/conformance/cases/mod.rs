//! The behaviours of every store.

mod across;
mod aliases;
mod chunked;
mod elements;
mod entities;
mod eventual;
mod expired;
mod filters;
mod histories;
mod isolation;
mod keys;
mod large;
mod migrations;
mod open;
mod outbox;
mod pages;
mod periods;
mod profile;
mod rolling;
mod rows;
mod sequences;
mod stress;
mod sums;
mod tables;
mod transactions;
mod transfer;
pub mod types;
mod writes;

use crate::Case;

/// Names the functions of a module as cases.
macro_rules! cases {
    ($($module:ident: $($name:ident),+;)+) => {
        pub fn all() -> Vec<Case> {
            vec![$($(Case {
                name: concat!(stringify!($module), "::", stringify!($name)),
                run: |subject| Box::pin($module::$name(subject)),
            }),+),+]
        }
    };
}

cases! {
    tables: are_created_listed_and_deleted, exist_once_whatever_their_case,
        absent_cannot_be_deleted, absent_hold_no_rows;
    rows: are_inserted_once, are_replaced_whole, are_merged_property_by_property,
        are_upserted_where_they_are_and_where_they_are_not, that_are_absent_are_not_updated,
        are_read_as_selected, tell_their_version_with_their_timestamp_alone, change_their_etag_with_every_write,
        get_no_timestamp_from_before_the_write, keep_what_a_stale_etag_would_change,
        take_their_keys_from_the_address;
    keys: of_any_characters_come_back, sort_by_utf16_code_unit, are_found_by_prefix,
        the_service_refuses_are_refused;
    types: come_back_with_their_extremes, of_whole_doubles_stay_double, of_nulls_are_absent;
    aliases: are_read_filtered_and_replaced;
    chunked: are_stored_shortened_and_read;
    large: are_kept_while_an_entity_refers_to_them;
    migrations: move_entities_to_other_partitions_of_another_table,
        move_entities_with_their_rows_in_other_partitions,
        move_entities_with_values_of_any_size,
        move_entities_with_values_unique_over_all_partitions,
        give_entities_other_keys_in_their_partition, share_entities_among_more_shards,
        drop_the_rows_that_a_type_has_lost;
    across: values_have_one_holder_among_32_contenders, values_go_from_entity_to_entity;
    elements: have_rows_that_come_and_go_with_them, fill_a_transaction_and_no_more;
    entities: are_stored_under_every_key_and_read_back, are_found_by_range_filter_and_projection,
        are_mapped_with_texts_of_the_page,
        move_their_rows_when_saved, are_listed_with_their_versions,
        are_not_loaded_from_under_another_key,
        are_not_loaded_through_a_row_that_was_left_behind, are_projected_to_slots_of_a_series,
        are_read_without_those_that_cannot_be;
    expired: are_left_out_make_room_and_are_purged;
    filters: of_every_type_find_their_rows, are_joined, take_text_as_text,
        of_doubles_are_exact_at_any_size, of_numbers_that_are_not_finite_are_refused,
        of_absent_properties_hold_only_negated, find_out_whether_extremes_are_present,
        of_defaults_see_rows_without_them, of_instants_between_ticks_take_the_earlier_one;
    pages: hold_every_row_once_in_order, resume_from_a_token,
        are_walked_back_by_their_tokens, are_never_larger_than_asked;
    sequences: give_each_number_once, number_entities_without_gaps;
    outbox: events_are_handed_on_in_the_order_of_the_writes, events_go_to_a_queue,
        events_are_found_by_the_register;
    sums: stay_exact_beside_other_writers, are_copied_into_one_partition;
    transactions: apply_every_kind_of_operation, of_untyped_rows_hold_whole, that_fail_name_the_operation_and_change_nothing,
        hold_as_many_operations_as_the_store_says, refuse_a_row_given_twice, stay_in_their_partition,
        over_4_mib_are_rejected, of_nothing_are_refused, keep_keys_of_any_characters,
        with_stale_etags_change_nothing, require_a_version_by_a_merge_of_nothing,
        delete_in_one_version_only;
    writes: keep_values_unique, patch_every_copy, patch_one_row_blindly, merge_entities_in,
        take_a_star_for_no_version,
        commit_batches_whole_or_not_at_all, read_mixed_partitions, mend_what_others_broke,
        rewrite_what_their_type_has_outgrown, replace_what_was_stored_with_fewer_rows,
        fill_transactions_up_to_4_mib, swap_unique_values_and_keys,
        depend_on_what_a_transaction_reads, require_what_others_may_delete;
    isolation: keeps_types_apart_whose_keys_nest, leaves_out_rows_that_were_moved, tells_types_by_their_kind,
        leaves_out_rows_that_begin_as_helper_rows;
    transfer: out_and_back_changes_no_bit, of_raw_rows_changes_no_bit;
    periods: have_a_table_once_several_writers_began, are_read_in_order_and_dropped_whole;
    rolling: series_show_each_value_for_its_period_only, series_go_on_in_the_next_row;
    profile: counts_rows_and_their_sizes_alike_in_every_store;
    stress: runs_alike_on_every_store_and_leaves_nothing;
    eventual: tickets_are_consumed_together_with_upserts_and_deletes,
        a_refused_transaction_names_the_ticket_or_the_row_that_is_not_there,
        transactions_of_deletes_and_upserts_name_what_refused_them,
        the_etag_of_a_row_never_returns, eventual_rows_follow_their_entity,
        eventual_rows_are_settled_after_their_writer_ended,
        eventual_rows_and_helper_rows_are_in_no_union,
        what_an_ended_writer_left_is_named_in_the_register,
        a_joined_verify_finds_what_point_queries_find,
        tickets_that_a_late_insert_left_are_found_and_deleted_when_old;
    open: properties_keep_their_types_when_read, properties_keep_their_types_when_written_back;
    histories: of_single_rows_are_linearizable, under_faults_are_linearizable,
        under_faults_lose_no_acknowledged_transaction;
}
