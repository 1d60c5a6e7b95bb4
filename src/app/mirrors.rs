//! What this machine's package managers are configured to use, in their own words, as entries for `egress.allow`.
//!
//! Each is asked itself, so that a company's mirror is found where it is set, and nothing is proposed that this machine does
//! not use. No name of a registry stands in here.

use crate::{
    config,
    domain::egress::{Destination, Reach, reach},
};
use std::{collections::BTreeMap, path::Path, process::Stdio, time::Duration};
use tokio::process::Command;
use url::Url;

/// The longest that a package manager may think about its configuration; pip also asks its index.
const PATIENCE: Duration = Duration::from_secs(30);

/// An entry that could be allowed, and who uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// As `egress.allow` takes it.
    pub entry: String,
    /// Package managers that use it.
    pub users: Vec<&'static str>,
}

/// Asks npm, pip, cargo, go and apt; one that is not here uses nothing.
pub async fn mirrors() -> Vec<Mirror> {
    let (npm, pip, cargo, go, apt) = tokio::join!(npm(), pip(), cargo(), go(), apt());
    let all = [("npm", npm), ("pip", pip), ("cargo", cargo), ("go", go), ("apt", apt)];
    let mut found: BTreeMap<Destination, Vec<&'static str>> = BTreeMap::new();
    for (user, urls) in all {
        for to in urls.iter().filter_map(|url| destination(url)) {
            let users = found.entry(to).or_default();
            if !users.contains(&user) {
                users.push(user);
            }
        }
    }
    let mut mirrors = Vec::new();
    for (to, users) in found {
        let private = if is_private(&to).await { " private" } else { "" };
        mirrors.push(Mirror { entry: format!("{to}{private}"), users });
    }
    mirrors
}

/// Where a URL leads; one of files, or with no host, leads nowhere.
fn destination(url: &str) -> Option<Destination> {
    let url = url.trim().trim_start_matches("sparse+").trim_start_matches("registry+");
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    Destination::new(url.host_str()?, url.port_or_known_default()?).ok()
}

async fn is_private(to: &Destination) -> bool {
    let Ok(addresses) = tokio::net::lookup_host((to.host(), to.port())).await else { return false };
    addresses.into_iter().any(|address| reach(address.ip()) == Reach::Private)
}

/// What a program says; nothing where it is not here, fails or does not end.
async fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Its registry, and those of scopes.
async fn npm() -> Vec<String> {
    let said = said("npm", &["config", "list", "--json"]).await.unwrap_or_default();
    let settings: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&said).unwrap_or_default();
    let registries = settings.iter().filter(|(name, _)| *name == "registry" || name.ends_with(":registry"));
    registries.filter_map(|(_, value)| value.as_str().map(str::to_owned)).collect()
}

/// Its indexes, and where those send it for files: found by a rehearsal, in which nothing is installed.
async fn pip() -> Vec<String> {
    let Ok(folder) = tempfile::tempdir() else { return Vec::new() };
    let report = folder.path().join("report.json");
    let to = report.display().to_string();
    let rehearsal =
        ["--dry-run", "--ignore-installed", "--no-deps", "--no-cache-dir", "-vv", "--report", &to, "pip"];
    for program in ["pip", "pip3"] {
        if let Some(said) = said(program, &[&["install"], &rehearsal[..]].concat()).await {
            let pages =
                said.lines().filter_map(|line| line.split_once("analyzing links: ").map(|(_, url)| url));
            return pages.map(str::to_owned).chain(files(&report)).collect();
        }
    }
    Vec::new()
}

/// Where the rehearsal's files come from.
fn files(report: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(report).unwrap_or_default();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let installs = report["install"].as_array().into_iter().flatten();
    installs.filter_map(|one| one["download_info"]["url"].as_str().map(str::to_owned)).collect()
}

/// The registries that it has an index of, and where those say that packages are.
async fn cargo() -> Vec<String> {
    let Some(home) = config::cargo_home() else { return Vec::new() };
    let named = configured_registries(&home);
    let folders = std::fs::read_dir(home.join("registry/index")).into_iter().flatten().flatten();
    let indexes = folders.filter_map(|folder| {
        let text = std::fs::read_to_string(folder.path().join("config.json")).ok()?;
        let config: serde_json::Value = serde_json::from_str(&text).ok()?;
        // A folder is called by the host of the index and a hash.
        let name = folder.file_name().into_string().ok()?;
        let host = name.rsplit_once('-').map(|(host, _)| format!("https://{host}"))?;
        Some([Some(host), config["dl"].as_str().map(str::to_owned)])
    });
    named.into_iter().chain(indexes.flatten().flatten()).collect()
}

/// Every `index` and `registry` of the configuration file: what a source is replaced with, and others that are named.
fn configured_registries(home: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(home.join("config.toml")).unwrap_or_default();
    let config: toml::Table = toml::from_str(&text).unwrap_or_default();
    let tables = ["source", "registries"].into_iter().filter_map(|name| config.get(name)?.as_table());
    let registries = tables.flat_map(|table| table.values());
    registries
        .filter_map(|one| one.get("index").or(one.get("registry"))?.as_str().map(str::to_owned))
        .collect()
}

/// Its proxies, and the database of checksums.
async fn go() -> Vec<String> {
    let said = said("go", &["env", "GOPROXY", "GOSUMDB"]).await.unwrap_or_default();
    let words = said.split([',', '|', ' ', '\n']).map(str::trim).filter(|word| word.contains('.'));
    // The database is called by its host alone.
    words.map(|word| if word.contains("://") { word.to_owned() } else { format!("https://{word}") }).collect()
}

/// Its sources.
async fn apt() -> Vec<String> {
    let said = said("apt-get", &["indextargets", "--format", "$(REPO_URI)"]).await.unwrap_or_default();
    said.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_package_manager_says_becomes_a_destination() {
        for (url, to) in [
            ("https://mirror.example.com/npm/", Some("mirror.example.com:443")),
            ("sparse+https://mirror.example.com:8443/index/", Some("mirror.example.com:8443")),
            ("http://Mirror.example.com/debian", Some("mirror.example.com:80")),
            ("file:///opt/wheels", None),
            ("direct", None),
            ("", None),
        ] {
            assert_eq!(destination(url).map(|to| to.to_string()).as_deref(), to, "{url}");
        }
    }
}
