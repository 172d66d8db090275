//! The members that a query selects of the rows of a shape: the texts between their values.

use super::shape::{Gap, Part, SharedShape};
use crate::model::TIMESTAMP;
use std::mem;

/// The selected members of a shape.
#[derive(Debug, Default)]
pub(crate) struct SelectedShape {
    /// Whether its rows are whole objects.
    pub(crate) is_whole: bool,
    /// Whether the Timestamp is selected, which is in no shape of a row in memory.
    pub(crate) timestamp: bool,
    pub(crate) gaps: Vec<SelectedGap>,
    /// What follows the last value: selected types, each behind a comma.
    pub(crate) rest: Vec<u8>,
}

/// A gap of the shape.
#[derive(Debug)]
pub(crate) struct SelectedGap {
    /// What to write before its value, if it is selected: the member's name behind a comma, and before that selected
    /// types.
    pub(crate) text: Vec<u8>,
    pub(crate) gap: Gap,
    pub(crate) is_selected: bool,
}

impl SelectedShape {
    /// Selects the members of a shape whose names `takes` takes.
    pub(crate) fn new(shape: &SharedShape, takes: impl Fn(&str) -> bool) -> Self {
        let (is_whole, timestamp) = (shape.is_whole(), takes(TIMESTAMP));
        let mut selected = Self { is_whole, timestamp, ..Self::default() };
        let Self { gaps, rest, .. } = &mut selected;
        for (name, part) in shape.members() {
            let is_selected = str::from_utf8(name).is_ok_and(&takes);
            if is_selected {
                rest.extend([b",\"", name, b"\":"].concat());
            }
            match part {
                Part::Text(text) if is_selected => rest.extend_from_slice(text),
                Part::Text(_) => {}
                Part::Gap(gap) => {
                    let text = if is_selected { mem::take(rest) } else { Vec::new() };
                    gaps.push(SelectedGap { text, gap, is_selected });
                }
            }
        }
        selected
    }
}
