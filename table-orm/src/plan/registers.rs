//! What this process has in the registers of its tables: the pointers, and the work that each covers.
//!
//! Nothing is sent from here. The module `register` writes pointers, keeps them fresh and deletes them.
//!
//! Invariants:
//! - Work joins a pointer only within [`VALID_FOR`] after the pointer was last sent, by this machine's clock. Later
//!   work claims it, and writes it again before it begins.
//! - A pointer is deleted only when all work that joined or claimed it has [ended](Cover::end). Its name is not
//!   used again then. If one piece of work was dropped instead, the pointer is left, and later work gets a
//!   pointer with another name.
//! - Work joins a pointer only while a task keeps it fresh.
//! - A pointer with work that [stays](Cover::stay) is never deleted here. Later work may join and claim it.

use crate::model::TableName;
use crate::sync::Timer;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// How long a pointer that was written covers new work, and how long it is kept after the last work.
pub(crate) const VALID_FOR: Duration = Duration::from_secs(60);

/// The registers of the tables of a connection.
#[derive(Debug, Default)]
pub(crate) struct Registers(RwLock<Vec<Arc<Register>>>);

impl Registers {
    /// Registers the work of a table in another one. Returns the register that is there if it is the same.
    pub fn set(&self, home: &TableName, table: &TableName) {
        let mut registers = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if registers.iter().any(|register| register.is_of(home) && register.table == *table) {
            return;
        }
        let current = Mutex::default();
        let register = Register { home: home.clone(), table: table.clone(), current };
        registers.retain(|register| !register.is_of(home));
        registers.push(Arc::new(register));
    }

    /// The register of a table, if it has one.
    pub fn of(&self, home: &TableName) -> Option<Arc<Register>> {
        let registers = self.0.read().unwrap_or_else(PoisonError::into_inner);
        registers.iter().find(|register| register.is_of(home)).cloned()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The register of one table, as this process uses it.
#[derive(Debug)]
pub(crate) struct Register {
    /// The table whose partitions it names.
    pub home: TableName,
    /// The table of the pointers.
    pub table: TableName,
    current: Mutex<BTreeMap<WorkPlace, Arc<Pointer>>>,
}

/// A partition with unfinished work of a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkPlace {
    pub kind: String,
    pub partition_key: String,
}

/// A row of the register that this process writes.
#[derive(Debug)]
pub(crate) struct Pointer {
    pub place: WorkPlace,
    /// Its name. No two pointers have the same one.
    pub name: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// When the last write of it that was answered was sent.
    sent: Option<Duration>,
    /// The work that it covers now.
    covers: usize,
    /// When the last work ended.
    idle_since: Duration,
    /// Whether work was dropped.
    is_left: bool,
    /// Whether others are to finish the work.
    stays: bool,
}

/// What to do with a pointer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Wait(Duration),
    /// Write it again: it covers work of long duration.
    Write,
    /// Delete it: all of its work has ended.
    Delete,
    /// Leave it to whoever reads the register.
    Leave,
}

impl Register {
    /// Whether it names partitions of that table.
    fn is_of(&self, home: &TableName) -> bool {
        self.home.is(home)
    }

    /// Covers work by the current pointer, if it may.
    pub fn join(&self, place: &WorkPlace, timer: Timer) -> Option<Cover> {
        let current = lock(&self.current);
        let pointer = current.get(place)?;
        let mut state = lock(&pointer.state);
        let is_fresh = state.sent.is_some_and(|sent| timer.now() < sent + VALID_FOR);
        if state.is_left || !is_fresh {
            return None;
        }
        state.covers += 1;
        Some(Cover::of(pointer, timer))
    }

    /// Covers work by the current pointer, or a new one with that name. It is still to be written.
    pub fn claim(&self, place: &WorkPlace, name: String, timer: Timer) -> Cover {
        let current = lock(&self.current);
        let pointer = current.get(place).filter(|pointer| !lock(&pointer.state).is_left);
        let new = || Pointer { place: place.clone(), name, state: Mutex::default() };
        let pointer = pointer.cloned().unwrap_or_else(|| Arc::new(new()));
        // Counted before it is written: it must not be deleted meanwhile.
        lock(&pointer.state).covers += 1;
        Cover::of(&pointer, timer)
    }

    /// The pointer of a cover was written; the request was sent at that time. With `keep`, it also covers later
    /// work. Returns whether it has not been kept so far.
    pub fn written(&self, cover: &Cover, sent: Duration, keep: bool) -> bool {
        let mut current = lock(&self.current);
        let pointer = &cover.pointer;
        let is_kept = |other: &Arc<Pointer>| Arc::ptr_eq(other, pointer);
        let is_new = !current.get(&pointer.place).is_some_and(is_kept);
        if keep && is_new {
            current.insert(pointer.place.clone(), Arc::clone(pointer));
        }
        let mut state = lock(&pointer.state);
        state.sent = state.sent.max(Some(sent));
        state.is_left |= !keep;
        keep && is_new
    }

    /// A pointer was written again.
    pub fn refreshed(&self, pointer: &Pointer, sent: Duration) {
        let mut state = lock(&pointer.state);
        state.sent = state.sent.max(Some(sent));
    }

    /// Nobody keeps the pointer any more. Later work gets another one.
    pub fn leave(&self, pointer: &Arc<Pointer>) {
        let mut current = lock(&self.current);
        lock(&pointer.state).is_left = true;
        Self::forget(&mut current, pointer);
    }

    fn forget(current: &mut BTreeMap<WorkPlace, Arc<Pointer>>, pointer: &Arc<Pointer>) {
        if current.get(&pointer.place).is_some_and(|other| Arc::ptr_eq(other, pointer)) {
            current.remove(&pointer.place);
        }
    }

    /// What to do with a pointer now. Forgets one that is to be deleted or left.
    pub fn next(&self, pointer: &Arc<Pointer>, now: Duration) -> Next {
        let mut current = lock(&self.current);
        let state = lock(&pointer.state);
        let until = |since: Duration| (since + VALID_FOR).saturating_sub(now);
        let next = match (state.covers, state.is_left) {
            (0, true) => Next::Leave,
            (0, false) if until(state.idle_since).is_zero() && state.stays => Next::Leave,
            (0, false) if until(state.idle_since).is_zero() => Next::Delete,
            (0, false) => return Next::Wait(until(state.idle_since)),
            _ => {
                let wait = until(state.sent.unwrap_or_default());
                return if wait.is_zero() { Next::Write } else { Next::Wait(wait) };
            }
        };
        Self::forget(&mut current, pointer);
        next
    }
}

/// A piece of work whose partition a pointer names. Dropped before it [ends](Self::end), it leaves the pointer.
#[derive(Debug)]
pub(crate) struct Cover {
    pub pointer: Arc<Pointer>,
    has_ended: AtomicBool,
    stays: bool,
    timer: Timer,
}

impl Cover {
    fn of(pointer: &Arc<Pointer>, timer: Timer) -> Self {
        let (pointer, has_ended) = (Arc::clone(pointer), AtomicBool::new(false));
        Self { pointer, has_ended, stays: false, timer }
    }

    /// What the work leaves is for whoever reads the register, who deletes the pointer then.
    pub fn stay(mut self) -> Self {
        self.stays = true;
        self
    }

    /// Nothing of the work is left: each of its requests has a definite answer, and no row in the partition waits
    /// for anyone.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }
}

impl Drop for Cover {
    fn drop(&mut self) {
        let mut state = lock(&self.pointer.state);
        state.covers -= 1;
        state.idle_since = self.timer.now();
        state.stays |= self.stays;
        state.is_left |= !self.stays && !self.has_ended.load(Ordering::Acquire);
    }
}

/// Each is its own.
impl PartialEq for Cover {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Cover {}

#[cfg(test)]
mod tests {
    use super::*;

    fn register() -> (Register, WorkPlace) {
        let [home, table] = ["orders", "ordersDue"].map(TableName::checked);
        let place = WorkPlace { kind: "Order".to_owned(), partition_key: "acme".to_owned() };
        (Register { home, table, current: Mutex::default() }, place)
    }

    #[test]
    fn a_pointer_that_is_being_written_again_is_not_deleted() {
        let (register, place) = register();
        let timer = Timer::system();
        let first = register.claim(&place, "1".to_owned(), timer);
        let pointer = Arc::clone(&first.pointer);
        assert!(register.written(&first, Duration::ZERO, true));
        first.end();
        drop(first);
        // Its time is over, and later work claims it at the last moment.
        let later = 3 * VALID_FOR;
        let second = register.claim(&place, "2".to_owned(), timer);
        assert_eq!(second.pointer.name, "1");
        assert_eq!(register.next(&pointer, later), Next::Write);
        assert!(!register.written(&second, later, true));
        second.end();
        drop(second);
        assert_eq!(register.next(&pointer, later), Next::Delete);
        // Once that is decided, work gets another one.
        assert_eq!(register.claim(&place, "3".to_owned(), timer).pointer.name, "3");
    }

    #[test]
    fn a_pointer_whose_work_was_dropped_is_left() {
        let (register, place) = register();
        let timer = Timer::system();
        let first = register.claim(&place, "1".to_owned(), timer);
        let pointer = Arc::clone(&first.pointer);
        register.written(&first, Duration::ZERO, true);
        let second = register.join(&place, timer);
        drop(first);
        assert!(register.join(&place, timer).is_none());
        second.iter().for_each(Cover::end);
        drop(second);
        assert_eq!(register.next(&pointer, 3 * VALID_FOR), Next::Leave);
    }

    #[test]
    fn a_pointer_with_work_that_stays_is_used_again_and_not_deleted() {
        let (register, place) = register();
        let timer = Timer::system();
        let first = register.claim(&place, "1".to_owned(), timer).stay();
        let pointer = Arc::clone(&first.pointer);
        register.written(&first, timer.now(), true);
        drop(first);
        let second = register.join(&place, timer);
        assert!(second.is_some());
        second.iter().for_each(Cover::end);
        drop(second);
        assert_eq!(register.claim(&place, "2".to_owned(), timer).stay().pointer.name, "1");
        assert_eq!(register.next(&pointer, timer.now() + 3 * VALID_FOR), Next::Leave);
        assert_eq!(register.claim(&place, "3".to_owned(), timer).stay().pointer.name, "3");
    }
}
