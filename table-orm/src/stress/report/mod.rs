//! What a stress test has found: values, with `Display` for people and `Serialize` for programs.

mod bounds;
mod chart;
mod figures;
mod html;
mod stress_report;
mod text;
mod verdict;

pub use bounds::StressBounds;
pub use figures::{Ending, FirstThrottled, Phase, StepKind, StepOutcome, StressStep, Sustained};
pub use stress_report::StressReport;
pub use verdict::{Shards, StressTarget, TargetScope, UnknownVerdict, Verdict};

pub(super) use verdict::DEFAULT_TARGETS;
