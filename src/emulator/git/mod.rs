//! Real git behind the emulator: bare repositories on disk, read and written in process, served over smart HTTP.

pub(crate) mod http;
pub(crate) mod push;
mod report;
pub(crate) mod store;
