//! What a stress test has found: values, with `Display` for people and `Serialize` for programs.

mod bounds;
mod chart;
mod figures;
mod format;
mod html;
mod stress_report;
mod text;
mod verdict;

pub use bounds::Bounds;
pub use figures::{Ending, FirstRefusal, Phase, Step, StepKind, StepOutcome, Sustained};
pub use stress_report::StressReport;
pub use verdict::{Shards, Target, TargetScope, Verdict};

pub(super) use verdict::DEFAULT_TARGETS;
