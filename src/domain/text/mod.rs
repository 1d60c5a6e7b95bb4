//! Text on its way in and out: untrusted text is normalised once before it may enter a prompt, our own text is made
//! harmless before it is posted.

mod chars;
mod clean;
mod crowded;
mod cut;
mod hidden;
mod meant;
mod outgoing;
pub(in crate::domain) mod pattern;
mod short;

pub use chars::terminal;
pub use clean::Clean;
pub use crowded::is_crowded;
pub use cut::{BODY_LIMIT, cut};
pub use meant::meant;
pub use outgoing::{harmless, harmless_plain};
pub use short::{line, shorten};

#[cfg(test)]
mod tests;
