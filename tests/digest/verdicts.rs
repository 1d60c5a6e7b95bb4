//! What kind of failure real logs tell of.

use crate::corpus::{cases, folder};
use crate::read::digest;
use fixpoint::digest::Kind;

#[test]
fn f41_what_passed_or_was_stopped_is_never_blamed_on_the_change() {
    for source in ["bugswarm-gha", "bugswarm-travis"] {
        let Some(folder) = folder(&format!("ci-logs/{source}")) else { return };
        for (name, expected, log) in cases(&folder) {
            let kind = digest(&log).kind;
            match expected["outcome"].as_str() {
                Some("passed" | "cancelled" | "terminated") => assert_ne!(kind, Kind::Change, "{name}"),
                Some("failed") => assert_eq!(kind, Kind::Change, "{name}"),
                _ => {}
            }
        }
    }
}
