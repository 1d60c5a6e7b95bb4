//! What the commands at a terminal need of the environment besides settings.

use std::path::PathBuf;

/// A person's token for GitHub, where the environment holds one: `GH_TOKEN`, else `GITHUB_TOKEN`, as `gh` reads them.
pub fn github_token() -> Option<secrecy::SecretString> {
    let value = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    value("GH_TOKEN").or_else(|| value("GITHUB_TOKEN")).map(secrecy::SecretString::from)
}

/// Where runs of the terminal are kept, as the XDG base directory specification has it: `$XDG_STATE_HOME`, else
/// `~/.local/state`. `None`: neither is known.
pub fn state_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("fixpoint"))
}

/// Where programs are looked for.
pub fn path() -> Option<String> {
    std::env::var("PATH").ok().filter(|path| !path.is_empty())
}

/// Where cargo keeps its own: `$CARGO_HOME`, else `~/.cargo`.
pub fn cargo_home() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    folder("CARGO_HOME").or_else(|| Some(folder("HOME")?.join(".cargo")))
}

/// Whether a terminal may be written to in colours (<https://no-color.org>).
pub fn wants_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}
