//! What fixpoint knows and decides, without doing any of it: no I/O, no clock, no randomness.
//!
//! Everything here is data and pure functions over it, so that a session can be folded again from its entries and come
//! out the same, and so that every rule can be tested without a server.

pub mod access;
pub mod audit;
pub mod command;
pub mod delivery;
pub mod egress;
pub mod failure;
pub mod fault;
pub mod ids;
pub mod limits;
pub mod money;
pub mod network;
pub mod observe;
pub mod policy;
pub mod repo_config;
pub mod retention;
pub mod say;
pub mod session;
pub mod text;
pub mod time;
pub mod trust;
pub mod verdict;
mod yaml;

pub use audit::{Audit, Audited};
pub use failure::Failure;
pub use fault::{Fault, seeded};
pub use ids::{Actor, CommentId, Epoch, InstallationId, Number, Repo, RepoId, SessionId, Sha, UserId};
pub use limits::Limits;
pub use retention::Retention;
pub use session::{Effect, Entry, Phase, State, Step, step};
pub use time::Timestamp;
