//! Properties that were renamed: rows under former names, under present ones, and under both.

mod calls;
mod random;
mod runner;
