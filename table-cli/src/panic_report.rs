//! What a panic prints.
//!
//! redb panics over some damaged files. The store turns that into an error, which says what to do.

use std::cell::RefCell;
use std::io::{Write as _, stderr};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};

thread_local! {
    /// The report of the last panic in [`quietly`]; `None` outside of it.
    static SUPPRESSED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Lets [`quietly`] suppress reports. Called once, when the program starts.
pub(crate) fn install() {
    let report = take_hook();
    set_hook(Box::new(move |panic| {
        SUPPRESSED.with_borrow_mut(|suppressed| match suppressed {
            Some(text) => *text = panic.to_string(),
            None => report(panic),
        });
    }));
}

/// Opens a store. A panic that the store catches meanwhile prints nothing.
pub(crate) fn quietly<T>(open: impl FnOnce() -> T) -> T {
    reporting(open, |text| {
        // Nobody may be reading.
        let _ = writeln!(stderr(), "{text}");
    })
}

/// Opens a store, and reports a panic that the store does not catch.
fn reporting<T>(open: impl FnOnce() -> T, report: impl FnOnce(String)) -> T {
    SUPPRESSED.set(Some(String::new()));
    let opened = catch_unwind(AssertUnwindSafe(open));
    let suppressed = SUPPRESSED.take();
    opened.unwrap_or_else(|panic| {
        report(suppressed.unwrap_or_default());
        resume_unwind(panic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_reported_unless_the_store_catches_it() {
        install();
        let mut reported = Vec::new();
        let caught = reporting(|| catch_unwind(|| panic!("pages")), |text| reported.push(text));
        assert!(caught.is_err() && reported.is_empty(), "{reported:?}");
        let open = || reporting(|| panic!("no pages"), |text| reported.push(text));
        let caught: Result<(), _> = catch_unwind(AssertUnwindSafe(open));
        assert!(caught.is_err());
        assert!(matches!(&*reported, [text] if text.contains("no pages")), "{reported:?}");
    }
}
