//! The bounds within which YAML of other people's is read: a bomb of aliases ends long before it fills memory.

use serde_saphyr::{DuplicateKeyPolicy, Options};

/// Options for a file of at most so many values, whatever aliases make of it, and so many levels.
pub(super) fn bounded(most_nodes: usize, deepest: usize) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: most_nodes,
            max_events: 4 * most_nodes,
            max_depth: deepest,
            max_documents: 2,
            max_aliases: most_nodes,
            max_recorded_anchor_events: 4 * most_nodes,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 4 * most_nodes },
        // `on`, `yes` and the like are words.
        strict_booleans: true,
        with_snippet: false,
    }
}
