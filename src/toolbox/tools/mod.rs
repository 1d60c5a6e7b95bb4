//! The agent's tools as plain functions: arguments in, text or a sentence of error out.

pub(super) mod edit;
pub(super) mod find;
pub(super) mod grep;
pub(super) mod paths;
pub(super) mod read;
pub(super) mod shell;
pub(super) mod text;

/// What a tool tells the model when it could not do it: what, where, and what to try.
pub(super) type Told<T> = Result<T, String>;

/// Bytes of a tool's answer that a model sees: some eight thousand tokens, so that one careless call does not
/// fill its memory.
pub(super) const SHOWN: usize = 30_000;

/// Bytes that a tool holds at once, whatever it is pointed at: a file of gigabytes must not fill the
/// sandbox's memory.
pub(super) const HELD: usize = 1 << 20;
