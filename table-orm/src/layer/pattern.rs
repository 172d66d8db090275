//! The access pattern that a call serves, by the name that the app gives it.
//!
//! The name is set in the task that makes the call, and crosses no spawn.

use std::future::IntoFuture;

tokio::task_local! {
    static PATTERN: &'static str;
}

/// Makes a call as that access pattern: the spans of its requests have the name as `table_orm.pattern`, and so do
/// the metrics. Use the names of your [`book`](crate::book), so that what was planned and what was measured stand
/// side by side.
///
/// Work that goes on after the call returned is not named.
///
/// ```
/// use table_orm::layer::as_pattern;
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, PartialEq, TableEntity)]
/// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
/// # struct Track { album: String, number: u8, title: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tracks = Tables::in_memory()?.repo::<Track>();
/// # tracks.create_table().await?;
/// let key = Track::partition("Blue").row().number(1);
/// assert_eq!(as_pattern("one track", tracks.get(key)).await?, None);
/// # Ok(())
/// # }
/// ```
pub async fn as_pattern<C: IntoFuture>(name: &'static str, call: C) -> C::Output {
    PATTERN.scope(name, call.into_future()).await
}

/// The name of the pattern that this task serves.
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub(super) fn pattern() -> Option<&'static str> {
    PATTERN.try_with(|name| *name).ok()
}
