//! A checkout that a workflow made keeps a token in its configuration: gone before anybody else's code can read it.

use super::GitError;
use std::fs;
use std::path::Path;

/// Takes the credentials out of the checkout at `folder` that the checkout action left there, and removes the files of
/// its own that it kept them in; gives how many settings went. Where there is no checkout that is none.
///
/// Source: `actions/checkout`: up to version 5 an `http.….extraheader`, from version 6 an `includeIf` of a file in the
/// runner's temporary folder.
///
/// # Errors
/// [`GitError::Other`] when the configuration cannot be read or written.
pub fn forget_credentials(folder: &Path) -> Result<usize, GitError> {
    let file = folder.join(".git").join("config");
    if !file.is_file() {
        return Ok(0);
    }
    let mut config = git2::Config::open(&file)?;
    let mut found: Vec<(String, String)> = Vec::new();
    let mut entries = config.entries(None)?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let (Ok(name), Ok(value)) = (entry.name(), entry.value()) else { continue };
        if is_header(name) || is_included(name, value) {
            found.push((name.to_owned(), value.to_owned()));
        }
    }
    drop(entries);
    for (name, value) in &found {
        config.remove_multivar(name, ".*")?;
        if is_included(name, value) {
            // Somebody else may have removed it already.
            let _ = fs::remove_file(value);
        }
    }
    Ok(found.len())
}

fn is_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("http.") && name.ends_with(".extraheader")
}

fn is_included(name: &str, value: &str) -> bool {
    let file = Path::new(value).file_name().unwrap_or_default().to_string_lossy();
    name.to_ascii_lowercase().starts_with("includeif.") && file.starts_with("git-credentials-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_checkout_leaves_is_gone_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(forget_credentials(folder.path()).unwrap(), 0);
        fs::create_dir(at(".git")).unwrap();
        let kept = at("git-credentials-1f.config");
        fs::write(&kept, "secret").unwrap();
        let config = format!(
            "[core]\n\tbare = false\n[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic c2VjcmV0\n\
             [includeIf \"gitdir:/w/.git\"]\n\tpath = {}\n[remote \"origin\"]\n\turl = https://github.com/o/r\n",
            kept.display()
        );
        fs::write(at(".git/config"), config).unwrap();
        assert_eq!(forget_credentials(folder.path()).unwrap(), 2);
        let left = fs::read_to_string(at(".git/config")).unwrap();
        assert!(!left.contains("c2VjcmV0") && !left.contains("git-credentials"), "{left}");
        assert!(left.contains("bare = false") && left.contains("https://github.com/o/r"), "{left}");
        assert!(!kept.exists());
    }
}
