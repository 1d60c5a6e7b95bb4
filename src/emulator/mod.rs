//! A GitHub small enough to hold in memory.
