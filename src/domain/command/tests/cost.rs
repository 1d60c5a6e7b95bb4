//! No comment takes long: eight times the length takes about eight times as long, whatever it is made of.

use super::on_issue;
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// Pieces that make careless readers of Markdown take quadratic time or worse.
const NASTY: &[&str] = &[
    "`",
    "`a``b```c",
    "[",
    "[a](",
    "![",
    "](",
    "*",
    "*a_",
    "**a* ",
    "_a",
    "<",
    "<!--",
    "<!",
    "<?",
    "<a ",
    "<details>",
    "> ",
    ">>\n",
    "- ",
    "- a\n",
    "1) ",
    "\\",
    "&",
    "&#",
    "|",
    "|\n|-",
    "a|b\n-|-\n",
    "~",
    "/code ",
    "/code\n",
    "@fixpoint\n",
    "/code x\n\n",
    "--rounds ",
    "/code --rounds ",
    "[^a]: ",
    "[^a]",
    "[a]: b\n",
    "\r",
    "\n",
    "\t",
    " ",
    "\0",
    "é",
    "🦀",
    "# ",
    "```\n",
    "~~~a\n",
    "a\n===\n",
];

/// Time on the processor, so that a busy machine does not look like a slow reader; on the clock where the system does not
/// tell.
fn time(comment: &str) -> Duration {
    let (begun, used) = (Instant::now(), on_cpu());
    black_box(on_issue(black_box(comment)));
    match (used, on_cpu()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => begun.elapsed(),
    }
}

/// What this thread has used so far. Source: proc(5), `schedstat`.
fn on_cpu() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

#[test]
fn the_time_grows_with_the_length_and_no_faster() {
    let mut slow = Vec::new();
    for piece in NASTY {
        for (before, after) in [("/code ", "\n\n/code x"), ("> ", "\nx")] {
            let made = |length: usize| format!("{before}{}{after}", piece.repeat(length / piece.len()));
            let (short, long) = (made(16_384), made(131_072));
            if (0..3).all(|_| grows_too_fast(&short, &long)) {
                slow.push(format!("{before:?} {piece:?}: {:?}, then {:?}", time(&short), time(&long)));
            }
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

/// Linear is 8, quadratic 64. Where even the long one is quick, the clock says more than the reader.
fn grows_too_fast(short: &str, long: &str) -> bool {
    let (short, long) = (time(short), time(long));
    long > Duration::from_millis(100) && long > short * 30
}
