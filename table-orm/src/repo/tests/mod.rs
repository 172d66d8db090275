//! How the calls of a repository read.

mod read_ahead;
