//! Scans by workers on many machines, here on one virtual clock: nothing lost, little twice.

mod bad_input;
mod coverage;
mod faults;
mod leases;
mod load;
mod poison;
mod support;

use support::*;
mod sharing;
