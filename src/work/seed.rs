//! A commit into a fresh sandbox: packed on the host, laid out by the toolbox.

use crate::{
    domain::Sha,
    git::Mirror,
    sandbox::{Command, Sandbox},
    toolbox::wire,
};

/// Brings a commit's files into a sandbox's empty workspace.
///
/// # Errors
/// A sentence: what the mirror lacks, or what the sandbox did instead.
pub async fn seed(sandbox: &dyn Sandbox, mirror: &Mirror, commit: &Sha) -> Result<(), String> {
    let pack = mirror.pack(commit, None).await.map_err(|error| error.to_string())?;
    let command = Command::toolbox(wire::seed_arguments(commit, None));
    let mut process = sandbox.exec(command).await.map_err(|error| error.to_string())?;
    wire::seed(&mut process.stdin, &mut process.stdout, &pack).await.map_err(|error| error.to_string())
}
