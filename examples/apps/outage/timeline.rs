//! The events, in slots of time.

use crate::meter::{Event, What};
use std::io::{self, Write};
use std::time::Duration;

/// The length of a slot.
pub const SLOT: Duration = Duration::from_millis(200);
/// The width of the busiest slot.
const WIDTH: usize = 56;
/// The number of requests that one letter stands for.
const SHARE: usize = 4;

/// The events of one slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Slot {
    /// Requests that were answered.
    pub answered: usize,
    /// Requests that were throttled.
    pub throttled: usize,
    /// Requests that failed otherwise.
    pub failed: usize,
    /// Calls that wait for their next attempt at its end.
    pub backing_off: usize,
}

/// The slots from the start on.
#[derive(Debug)]
pub struct Timeline(pub Vec<Slot>);

impl Timeline {
    /// Sorts events, which come in order, into `slots` slots.
    pub fn of(events: &[Event], slots: u32) -> Self {
        let mut timeline = vec![Slot::default(); slots as usize];
        let (mut calls, mut requests) = (0_usize, 0_usize);
        let mut next = events.iter().peekable();
        for (index, slot) in (1..).zip(&mut timeline) {
            while let Some(event) = next.next_if(|event| event.at < SLOT * index) {
                match event.what {
                    What::Called => calls += 1,
                    What::Returned => calls = calls.saturating_sub(1),
                    What::Sent => requests += 1,
                    What::Answered => slot.answered += 1,
                    What::Throttled => slot.throttled += 1,
                    What::Failed => slot.failed += 1,
                }
                if matches!(event.what, What::Answered | What::Throttled | What::Failed) {
                    requests = requests.saturating_sub(1);
                }
            }
            slot.backing_off = calls.saturating_sub(requests);
        }
        Self(timeline)
    }

    /// Writes one slot.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn line(
        &self,
        slot: u32,
        (from, to): (Duration, Duration),
        out: &mut impl Write,
    ) -> io::Result<()> {
        let start = SLOT * slot;
        let Some(Slot { answered, throttled, failed, backing_off }) =
            self.0.get(slot as usize).copied()
        else {
            return Ok(());
        };
        let letters = |letter: &str, count: usize| letter.repeat(count.div_ceil(SHARE));
        let bar = letters("=", answered) + &letters("t", throttled) + &letters("x", failed);
        let bar: String = bar.chars().take(WIDTH).collect();
        let mark = if start >= from && start < to { '|' } else { ' ' };
        writeln!(
            out,
            "{:5.1} s {mark} {bar:WIDTH$} {answered:4} {throttled:4} {failed:4} {backing_off:6}",
            start.as_secs_f64()
        )?;
        out.flush()
    }

    /// Writes a summary of the run.
    ///
    /// # Errors
    /// Those of the output.
    pub fn summary(&self, out: &mut impl Write) -> io::Result<()> {
        let sum = |part: fn(&Slot) -> usize| self.0.iter().map(part).sum::<usize>();
        let (answered, throttled) = (sum(|slot| slot.answered), sum(|slot| slot.throttled));
        let failed = sum(|slot| slot.failed);
        let requests = answered + throttled + failed;
        writeln!(
            out,
            "requests: {requests}, of which {answered} answered, {throttled} throttled, {failed} \
             failed or lost"
        )
    }
}

/// Writes what the letters mean.
///
/// # Errors
/// Those of the output.
pub fn legend(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "= answered  t throttled  x failed or lost  | outage")?;
    writeln!(out, "{:10}{:WIDTH$}   =    t    x  waiting", "", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_in_its_slot_and_waiting_calls_are_counted() {
        let event = |millis, what| Event { at: Duration::from_millis(millis), what };
        let events = [
            event(10, What::Called),
            event(11, What::Sent),
            event(12, What::Throttled),
            event(20, What::Called),
            event(21, What::Sent),
            event(199, What::Answered),
            event(199, What::Returned),
            event(450, What::Sent),
            event(460, What::Failed),
            event(470, What::Sent),
            event(590, What::Answered),
            event(590, What::Returned),
        ];
        let slot = |answered, throttled, failed, backing_off| Slot {
            answered,
            throttled,
            failed,
            backing_off,
        };
        let Timeline(slots) = Timeline::of(&events, 4);
        let expected = [slot(1, 1, 0, 1), slot(0, 0, 0, 1), slot(1, 0, 1, 0), Slot::default()];
        assert_eq!(slots, expected);
    }
}
