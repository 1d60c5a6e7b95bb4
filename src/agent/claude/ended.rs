//! What people are told of a program that cannot be run, or that ended before it was done.

use super::command::PROGRAM;
use crate::{
    agent::{End, Stop},
    domain::text::{line, shorten, terminal},
    sandbox::SandboxError,
};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of what it complains of that are kept: the end.
const COMPLAINTS: usize = 2_000;
/// Characters of it that people are shown.
const SHOWN: usize = 200;

/// The end of what a stream brings.
pub(super) async fn end_of(mut stream: impl AsyncRead + Unpin) -> String {
    let (mut kept, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(n @ 1..) = stream.read(&mut piece).await {
        kept.extend_from_slice(&piece[..n]);
        kept.drain(..kept.len().saturating_sub(COMPLAINTS));
    }
    String::from_utf8_lossy(&kept).into_owned()
}

pub(super) fn unusable(error: &SandboxError) -> End {
    match error {
        SandboxError::NoProgram(_) => End::Failed(format!(
            "`{PROGRAM}` is not in the sandbox's image; whoever runs fixpoint puts it there, docs/engines.md says how"
        )),
        error => End::Stopped(Stop::Broken(error.to_string())),
    }
}

/// How it died, where it did.
pub(super) fn died(status: i64, complaint: &str) -> String {
    let why = match status {
        137 => " (killed: is `sandbox.memory` enough?)",
        _ => "",
    };
    format!("ended with {status} before it was done{why}: {}", shown(complaint, ""))
}

/// Its own words as code, so that nothing in them mentions, closes or links.
pub(super) fn shown(text: &str, or: &str) -> String {
    let text = if text.trim().is_empty() { or } else { text };
    let clean = line(&terminal(text)).replace('`', "'");
    if clean.is_empty() { "it said nothing".to_owned() } else { format!("`{}`", shorten(&clean, SHOWN)) }
}
