#![doc = include_str!("../guide/index.md")]

// A chapter is shown whatever features are on; its examples are tested where they have what they need.

/// Store your first entity, and decide how it is stored.
pub mod start {
    #[doc = include_str!("../guide/start/getting_started.md")]
    pub mod getting_started {}

    #[doc = include_str!("../guide/start/entities.md")]
    pub mod entities {}

    #[doc = include_str!("../guide/start/keys.md")]
    pub mod keys {}

    #[doc = include_str!("../guide/start/partitions.md")]
    pub mod partitions {}

    #[doc = include_str!("../guide/start/index_rows.md")]
    pub mod index_rows {}

    #[doc = include_str!("../guide/start/designing.md")]
    pub mod designing {}
}

/// Read and write entities.
pub mod work {
    #[doc = include_str!("../guide/work/insert.md")]
    pub mod insert {}

    #[doc = include_str!("../guide/work/query.md")]
    pub mod query {}

    #[cfg_attr(not(feature = "sealed"), allow(rustdoc::broken_intra_doc_links))]
    #[doc = include_str!("../guide/work/pages.md")]
    pub mod pages {}

    #[doc = include_str!("../guide/work/change.md")]
    pub mod change {}

    #[doc = include_str!("../guide/work/transactions.md")]
    pub mod transactions {}

    #[doc = include_str!("../guide/work/counting.md")]
    pub mod counting {}

    #[doc = include_str!("../guide/work/across_partitions.md")]
    pub mod across_partitions {}

    #[doc = include_str!("../guide/work/unique_across.md")]
    pub mod unique_across {}

    #[doc = include_str!("../guide/work/outbox.md")]
    pub mod outbox {}

    #[doc = include_str!("../guide/work/unions.md")]
    pub mod unions {}

    #[cfg_attr(not(feature = "distributed"), allow(rustdoc::broken_intra_doc_links))]
    #[doc = include_str!("../guide/work/errors.md")]
    pub mod errors {}

    #[cfg_attr(
        any(not(doctest), all(feature = "embedded", feature = "testing")),
        doc = include_str!("../guide/work/testing.md")
    )]
    pub mod testing {}
}

/// Run an app against an account, for years, beside other programs.
pub mod run {
    #[cfg_attr(
        any(not(doctest), all(feature = "azure", feature = "tracing")),
        doc = include_str!("../guide/run/connecting.md")
    )]
    #[doc = ""]
    #[cfg_attr(
        feature = "azure",
        doc = "[tables-from]: crate::Tables::from_connection_string",
        doc = "[client]: crate::azure::ConnectOptions::client",
        doc = "[token]: crate::azure::TokenCredential"
    )]
    #[cfg_attr(
        not(feature = "azure"),
        doc = "[tables-from]: crate::Tables",
        doc = "[client]: crate::store",
        doc = "[token]: crate::store"
    )]
    pub mod connecting {}

    #[cfg_attr(
        any(not(doctest), feature = "testing"),
        doc = include_str!("../guide/run/retries.md")
    )]
    pub mod retries {}

    #[cfg_attr(
        any(not(doctest), feature = "embedded"),
        doc = include_str!("../guide/run/limits.md")
    )]
    pub mod limits {}

    #[cfg_attr(not(feature = "stress"), allow(rustdoc::broken_intra_doc_links))]
    #[cfg_attr(
        any(not(doctest), all(feature = "embedded", feature = "stress")),
        doc = include_str!("../guide/run/stress.md")
    )]
    pub mod stress {}

    #[cfg_attr(
        any(not(doctest), feature = "embedded"),
        doc = include_str!("../guide/run/accounts.md")
    )]
    pub mod accounts {}

    #[doc = include_str!("../guide/run/large_values.md")]
    pub mod large_values {}

    #[cfg_attr(
        any(not(doctest), feature = "embedded"),
        doc = include_str!("../guide/run/expiry.md")
    )]
    pub mod expiry {}

    #[doc = include_str!("../guide/run/caching.md")]
    pub mod caching {}

    #[doc = include_str!("../guide/run/own_layer.md")]
    pub mod own_layer {}

    #[doc = include_str!("../guide/run/scans.md")]
    pub mod scans {}

    #[cfg_attr(not(feature = "distributed"), allow(rustdoc::broken_intra_doc_links))]
    #[cfg_attr(
        any(not(doctest), feature = "distributed"),
        doc = include_str!("../guide/run/distributed_scans.md")
    )]
    pub mod distributed_scans {}

    #[doc = include_str!("../guide/run/settling.md")]
    pub mod settling {}

    #[doc = include_str!("../guide/run/out_of_step.md")]
    pub mod out_of_step {}

    #[doc = include_str!("../guide/run/profile.md")]
    pub mod profile {}

    #[doc = include_str!("../guide/run/migrating.md")]
    pub mod migrating {}

    #[doc = include_str!("../guide/run/cannot_migrate.md")]
    pub mod cannot_migrate {}

    #[doc = include_str!("../guide/run/versions.md")]
    pub mod versions {}

    #[doc = include_str!("../guide/run/schema_lock.md")]
    pub mod schema_lock {}

    #[doc = include_str!("../guide/run/periods.md")]
    pub mod periods {}

    #[doc = include_str!("../guide/run/rolling_series.md")]
    pub mod rolling_series {}

    #[doc = include_str!("../guide/run/adopting.md")]
    pub mod adopting {}

    #[cfg_attr(
        any(not(doctest), feature = "azure"),
        doc = include_str!("../guide/run/direct_access.md")
    )]
    #[doc = ""]
    #[cfg_attr(
        feature = "azure",
        doc = "[table-sas]: crate::azure::TableSas",
        doc = "[allow-http]: crate::azure::TableSas::allow_http",
        doc = "[from-addresses]: crate::azure::TableSas::from_addresses"
    )]
    #[cfg_attr(
        not(feature = "azure"),
        doc = "[table-sas]: crate::store",
        doc = "[allow-http]: crate::store",
        doc = "[from-addresses]: crate::store"
    )]
    pub mod direct_access {}

    #[cfg_attr(
        any(not(doctest), all(feature = "azure", feature = "tracing")),
        doc = include_str!("../guide/run/tracing.md")
    )]
    #[doc = ""]
    #[cfg_attr(
        any(feature = "metrics", feature = "tracing"),
        doc = "[observe]: crate::layer::observe"
    )]
    #[cfg_attr(not(any(feature = "metrics", feature = "tracing")), doc = "[observe]: crate::layer")]
    pub mod tracing {}

    #[cfg_attr(not(feature = "distributed"), allow(rustdoc::broken_intra_doc_links))]
    #[doc = include_str!("../guide/run/stopping.md")]
    pub mod stopping {}

    #[doc = include_str!("../guide/run/emulator.md")]
    #[doc = ""]
    #[cfg_attr(any(test, feature = "testing"), doc = "[faults]: crate::layer::Faults")]
    #[cfg_attr(not(any(test, feature = "testing")), doc = "[faults]: crate::layer")]
    pub mod emulator {}

    #[doc = include_str!("../guide/run/tools.md")]
    pub mod tools {}
}

/// Look up an attribute, a type or a message.
pub mod reference {
    #[doc = include_str!("../guide/reference/how_do_i.md")]
    pub mod how_do_i {}

    #[doc = include_str!("../guide/reference/words.md")]
    pub mod words {}

    #[doc = include_str!("../guide/reference/attributes.md")]
    pub mod attributes {}

    #[doc = include_str!("../guide/reference/key_types.md")]
    pub mod key_types {}

    #[doc = include_str!("../guide/reference/property_types.md")]
    pub mod property_types {}

    #[doc = include_str!("../guide/reference/own_types.md")]
    pub mod own_types {}

    #[doc = include_str!("../guide/reference/template_errors.md")]
    pub mod template_errors {}

    #[doc = include_str!("../guide/reference/entity_errors.md")]
    pub mod entity_errors {}

    #[doc = include_str!("../guide/reference/rules.md")]
    pub mod rules {}

    #[doc = include_str!("../guide/reference/query_errors.md")]
    pub mod query_errors {}

    #[doc = include_str!("../guide/reference/call_errors.md")]
    pub mod call_errors {}
}
