//! A checker for histories of one register that is read and compared-and-set: is there an order of
//! its operations, each at one moment between its call and its return, that explains all answers?
//! (Wing and Gong's search, with the states that were visited remembered.)

use std::collections::HashSet;

/// What an operation did, as its caller knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    /// Read this value; `None` when there is no row.
    Read(Option<i64>),
    /// Set the register from one value to another: done, rejected, or not known.
    Set { from: Option<i64>, to: Option<i64>, done: Option<bool> },
    /// Set the register whatever its value: done, or not known.
    Put { to: Option<i64>, done: Option<()> },
}

impl Did {
    /// Whether the caller does not know its outcome.
    pub const fn is_unknown(self) -> bool {
        matches!(self, Self::Set { done: None, .. } | Self::Put { done: None, .. })
    }
}

/// One operation, with the moments of its call and return.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    pub called: u64,
    /// An operation whose outcome is not known may take effect at any later time.
    pub returned: u64,
    pub did: Did,
}

/// Whether the history of an at first empty register is linearizable.
pub fn is_linearizable(history: &[Operation]) -> bool {
    assert!(history.len() <= 128);
    let mut visited = HashSet::new();
    let all = history.iter().enumerate();
    let must = all
        .filter(|(_, operation)| !operation.did.is_unknown())
        .fold(0_u128, |must, (index, _)| must | 1 << index);
    explains(history, must, 0, None, &mut visited)
}

/// Whether the operations that `placed` leaves out can follow in the state `value`.
fn explains(
    history: &[Operation],
    must: u128,
    placed: u128,
    value: Option<i64>,
    visited: &mut HashSet<(u128, Option<i64>)>,
) -> bool {
    if placed & must == must {
        return true;
    }
    if !visited.insert((placed, value)) {
        return false;
    }
    let open = || (0..history.len()).filter(|index| placed & (1 << index) == 0);
    let first_return = open().map(|index| history[index].returned).min().unwrap_or(u64::MAX);
    open().filter(|&index| history[index].called <= first_return).any(|index| {
        let after = match history[index].did {
            Did::Read(read) => (read == value).then_some(value),
            Did::Set { from, to, done: Some(true) | None } => (from == value).then_some(to),
            Did::Put { to, .. } => Some(to),
            Did::Set { from, done: Some(false), .. } => (from != value).then_some(value),
        };
        after.is_some_and(|after| explains(history, must, placed | 1 << index, after, visited))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(operations: &[(u64, u64, Did)]) -> Vec<Operation> {
        let operation = |&(called, returned, did)| Operation { called, returned, did };
        operations.iter().map(operation).collect()
    }

    const fn set(from: Option<i64>, to: i64, done: Option<bool>) -> Did {
        Did::Set { from, to: Some(to), done }
    }

    #[test]
    fn histories_with_an_order_are_found() {
        let concurrent = [
            (0, 1, set(None, 1, Some(true))),
            (2, 9, set(Some(1), 2, Some(true))),
            (3, 8, set(Some(1), 3, Some(false))),
            (4, 5, Did::Read(Some(1))),
            (6, 7, Did::Read(Some(2))),
        ];
        assert!(is_linearizable(&history(&concurrent)));
        let unknown = [
            (0, 1, set(None, 1, Some(true))),
            (2, u64::MAX, set(Some(1), 2, None)),
            (5, 6, Did::Read(Some(1))),
            (7, 8, Did::Read(Some(2))),
        ];
        assert!(is_linearizable(&history(&unknown)));
        assert!(is_linearizable(&history(&unknown[..2])));
    }

    #[test]
    fn deletes_and_blind_writes_have_their_place() {
        let delete = |from, done| Did::Set { from: Some(from), to: None, done };
        let put = |to, done| Did::Put { to: Some(to), done };
        let possible = [
            (0, 1, put(1, Some(()))),
            (2, 9, put(2, Some(()))),
            (3, 8, delete(1, Some(true))),
            (10, 11, Did::Read(Some(2))),
        ];
        assert!(is_linearizable(&history(&possible)));
        let lost = [
            (0, 1, put(1, Some(()))),
            (2, 3, delete(1, Some(true))),
            (4, 5, put(2, Some(()))),
            (6, 7, Did::Read(None)),
        ];
        assert!(!is_linearizable(&history(&lost)));
        let unknown = [(0, 1, put(1, Some(()))), (2, u64::MAX, put(2, None))];
        for (read, expected) in [(1, true), (2, true), (3, false)] {
            let read = (4, 5, Did::Read(Some(read)));
            assert_eq!(is_linearizable(&history(&[&unknown[..], &[read]].concat())), expected);
        }
    }

    #[test]
    fn histories_without_an_order_are_found() {
        for impossible in [
            [(0, 1, set(None, 1, Some(true))), (2, 3, Did::Read(None))],
            [(0, 1, set(None, 1, Some(true))), (2, 3, set(None, 2, Some(true)))],
            [(0, 1, set(None, 1, Some(false))), (2, 3, Did::Read(None))],
        ] {
            assert!(!is_linearizable(&history(&impossible)));
        }
        let lost_increment = [
            (0, 1, set(None, 5, Some(true))),
            (2, 8, set(Some(5), 6, Some(true))),
            (3, 9, set(Some(5), 7, Some(true))),
        ];
        assert!(!is_linearizable(&history(&lost_increment)));
        let back_in_time = [
            (0, 1, set(None, 1, Some(true))),
            (2, 9, set(Some(1), 2, Some(true))),
            (3, 4, Did::Read(Some(2))),
            (5, 6, Did::Read(Some(1))),
        ];
        assert!(!is_linearizable(&history(&back_in_time)));
    }
}
