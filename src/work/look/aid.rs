//! What helps to read a log and does not stand in it: the repository's own problem matchers, and the secrets that must not
//! come out again.

use crate::{
    digest::Matcher,
    domain::State,
    work::{Halt, Parts},
};
use secrecy::ExposeSecret;

/// Matcher files that are read of a repository, matchers that are used of them, and bytes of one file: those in use have
/// some kilobytes.
const FILES: usize = 8;
const MATCHERS: usize = 32;
const FILE: usize = 64 << 10;
/// Where they stand, and how many paths there are looked through.
const FOLDER: &str = ".github";
const PATHS: usize = 10_000;

/// What every digest of a repository's logs is given.
#[derive(Default)]
pub(super) struct Aid {
    pub(super) matchers: Vec<Matcher>,
    pub(super) secrets: Vec<String>,
}

impl Aid {
    /// For a session: as the base's commit has it, never the change's.
    pub(super) async fn of(parts: &Parts, state: &State) -> Result<Self, Halt> {
        let ours = parts.settings.secrets.iter().map(ExposeSecret::expose_secret);
        // A log is read line by line; a key has many.
        let secrets = ours.flat_map(str::lines).map(|line| line.trim().to_owned()).collect();
        Ok(Self { matchers: matchers(parts, state).await?, secrets })
    }
}

async fn matchers(parts: &Parts, state: &State) -> Result<Vec<Matcher>, Halt> {
    let Some(base) = &state.facts.base.sha else { return Ok(Vec::new()) };
    let mirror = parts.mirror(state).await?;
    let paths = mirror.paths(base, FOLDER, PATHS).await?;
    let may_be = |path: &&String| path.ends_with(".json");
    let mut all = Vec::new();
    for path in paths.iter().filter(may_be).take(FILES) {
        let Some(file) = mirror.file(base, path, FILE).await? else { continue };
        let text = String::from_utf8_lossy(&file);
        if !text.contains("\"problemMatcher\"") {
            continue;
        }
        match Matcher::parse(&text) {
            Ok(matchers) => all.extend(matchers),
            Err(error) => tracing::debug!(path, %error, "a matcher file of the repository is left out"),
        }
    }
    all.truncate(MATCHERS);
    Ok(all)
}
