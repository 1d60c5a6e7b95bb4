//! What a sandbox may reach: the operator's allow-list, the addresses that nothing may lead to, what was reached and what
//! was refused.
//!
//! All of it is decided here, without a socket: the host's end of the way out only asks.

mod address;
mod destination;
mod reached;
mod refused;
mod rule;

pub use address::{Reach, reach};
pub use destination::{Destination, DestinationError};
pub use reached::{Reached, Traffic};
pub use refused::{Reason, Refusals, Refused};
pub use rule::{AllowList, Manner, Rule, RuleError};

/// The one name that leads to no address: the model gateway, on the host itself. `.internal` is reserved for names of one's
/// own. Source: ICANN, resolution 2024.07.29.06.
pub const GATEWAY: &str = "model.internal";

#[cfg(test)]
mod tests;
