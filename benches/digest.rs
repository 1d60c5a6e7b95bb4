//! `cargo bench --bench digest`: how much of what people marked in real logs the digest shows, and how fast it reads.
//!
//! Needs `FIXPOINT_DATA`. Fails when a source falls below its floor, so that a change of the rules cannot lower it unseen.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot go on fails there")]
#![allow(clippy::print_stdout, reason = "figures are its output")]
#![allow(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
#![allow(unreachable_pub, reason = "nobody but this measurement sees it")]

#[path = "../tests/digest/corpus.rs"]
mod corpus;
#[path = "digest/shown.rs"]
mod shown;
#[path = "digest/speed.rs"]
mod speed;

use shown::Asked;

/// What is asked of each source, and the floors: recall and the share of logs whose one line is marked.
const FLOORS: &[(Asked, f64, f64)] = &[
    (Asked { source: "logchunks", budget: 8000, green: false }, 0.93, 0.60),
    (Asked { source: "logchunks", budget: 4000, green: false }, 0.88, 0.60),
    (Asked { source: "cidiff", budget: 8000, green: false }, 0.91, 0.78),
    (Asked { source: "cidiff", budget: 8000, green: true }, 0.95, 0.84),
    (Asked { source: "treeherder", budget: 8000, green: false }, 0.0, 0.0),
    (Asked { source: "pytorch-log-classifier", budget: 8000, green: false }, 0.0, 0.0),
];

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let Some(logs) = corpus::folder("ci-logs") else { return };
    let mut fallen = Vec::new();
    for (asked, recall, line) in FLOORS {
        let score = shown::score(&logs, asked);
        println!("{asked:?}: {score}");
        if score.recall < *recall || score.line < *line {
            fallen.push(format!("{asked:?}: {score}; the floors are {recall} and {line}"));
        }
    }
    println!("{}", speed::measure(&logs));
    assert!(fallen.is_empty(), "below the floor: {fallen:#?}");
}
