//! What a panic prints.
//!
//! redb panics over some damaged files. The store turns that into an error, which says what to do.

use std::cell::Cell;
use std::panic::{set_hook, take_hook};

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Lets [`quietly`] suppress reports. Called once, when the program starts.
pub(crate) fn install() {
    let report = take_hook();
    set_hook(Box::new(move |panic| {
        if !IS_QUIET.get() {
            report(panic);
        }
    }));
}

/// Opens a store. A panic that the store catches meanwhile prints nothing.
pub(crate) fn quietly<T>(open: impl FnOnce() -> T) -> T {
    IS_QUIET.set(true);
    let opened = open();
    IS_QUIET.set(false);
    opened
}
