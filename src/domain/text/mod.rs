//! Text on its way in and out: untrusted text is normalised once before it may enter a prompt, our own text is made
//! harmless before it is posted.

mod clean;
mod outgoing;

pub use clean::Clean;
pub use outgoing::{BODY_LIMIT, cut, harmless};
